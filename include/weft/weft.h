// The C interface of weft, for C99, and for languages that call C functions.
//
//     #include <weft/weft.h>
//
//     static void Double(weft_scheduler *scheduler, void *arg) {
//         (void)scheduler;
//         *(int *)arg *= 2;
//     }
//
//     static void Main(weft_scheduler *scheduler, void *arg) {
//         int *values = arg;
//         const weft_task tasks[2] = {{Double, &values[0]}, {Double, &values[1]}};
//         weft_counter counter = WEFT_COUNTER_INIT;
//         weft_add_tasks(scheduler, 2, tasks, &counter, NULL);  // the counter is 2 now
//         weft_wait_for_counter(scheduler, &counter, 0);        // the worker runs tasks meanwhile
//     }
//
//     int main(void) {
//         int values[2] = {20, 21};
//         weft_scheduler *scheduler = weft_create(NULL);
//         if (scheduler == NULL) return 1;
//         const weft_status status = weft_run(scheduler, Main, values, NULL);
//         weft_destroy(scheduler);
//         return status == WEFT_STATUS_OK ? 0 : 1;  // values is {40, 42}
//     }
//
// Words: a *worker* is a thread that runs tasks: one that weft creates, or the caller of weft_run.
// A thread is *attached* between weft_attach_thread and weft_detach_thread. All other threads are
// *external threads*. A *run* lasts from weft_run or weft_start until its end. A *fiber* is the
// stack of a task; a task that waits keeps it. *Thread-safe* means that any thread may call.
//
// All calls with a scheduler need a run, unless they say otherwise. `scheduler` must not be null,
// except in weft_destroy. Pointers that may be null say so. No C++ exception leaves a call.
//
// An error is *reported*: weft calls weft_options::onReport, or prints a line to stderr. The call
// then has no effect: a submission increments no counter, and a wait returns at once. Below,
// BAD_OPTION stands for WEFT_REPORT_BAD_OPTION, and so on. The text of a report names the functions
// of the C++ interface: AddTasks stands for weft_add_tasks, and SchedulerOptions::workers for
// weft_options::workers.
//
// In C++ a weft_scheduler is a weft::TaskScheduler. So C++ code may create a scheduler and pass its
// address to C code, and C code may pass its scheduler to C++ code.
//
// In a child process that was forked during a run there are no workers. Each call by the thread
// that forked is an error there (FORKED), except those that need no run.
#pragma once

#include "weft/export.h"
#include "weft/version.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__cplusplus)
#define WEFT_NOTHROW
#elif __cplusplus >= 201103L || defined(_MSC_VER)
#define WEFT_NOTHROW noexcept
#else
#define WEFT_NOTHROW throw()
#endif

#if defined(__cplusplus)
namespace weft {
class TaskScheduler;
}
typedef weft::TaskScheduler weft_scheduler;
extern "C" {
#else
/// A scheduler: its workers, fibers and queues. weft_create makes one.
typedef struct weft_scheduler weft_scheduler;
#endif

// ---- version

/// The version of these headers as one number: 5000 for 0.5.0, 1002003 for 1.2.3.
#define WEFT_VERSION_NUMBER \
    (WEFT_VERSION_MAJOR * 1000000 + WEFT_VERSION_MINOR * 1000 + WEFT_VERSION_PATCH)

/// Returns the version of the library, in the form of WEFT_VERSION_NUMBER. Before 1.0 only versions
/// with the same minor number are compatible. Thread-safe. Needs no run.
WEFT_API uint32_t weft_version(void) WEFT_NOTHROW;

// ---- numbers

// The types of named numbers have a fixed size, so that other languages can declare them.

/// The result of a call.
typedef uint8_t weft_status;
enum {
    WEFT_STATUS_OK = 0,          ///< The call succeeded.
    WEFT_STATUS_BAD_OPTION = 1,  ///< An option is out of range. The report names it.
    /// Stacks or queues could not be allocated; or, in weft_attach_thread, the system has no more
    /// thread-specific keys.
    WEFT_STATUS_OUT_OF_MEMORY = 2,
    /// The system refused more memory mappings (guard pages). Use fewer fibers, or raise
    /// vm.max_map_count.
    WEFT_STATUS_OUT_OF_MAPPINGS = 3,
    WEFT_STATUS_THREAD_FAILED = 4,  ///< A worker thread could not be created.
    /// The scheduler runs already, or the thread is already one of its workers.
    WEFT_STATUS_ALREADY_RUNNING = 5,
    WEFT_STATUS_NOT_RUNNING = 6,      ///< The scheduler does not run, or the call was refused.
    WEFT_STATUS_TOO_MANY_THREADS = 7  ///< weft_options::maxAttached threads are attached already.
};

/// The priority of a task.
///
/// While a worker could begin a high task, it begins no other one. Tasks that a task waits for have
/// the priority of the waiting task, if that is higher. No priority starves: each one that has work
/// gets at least an eighth of the workers' time. About every millisecond a worker runs its oldest
/// task of the highest priority next. That takes at most a sixth of its time, or more if these
/// tasks take longer than 0.8 ms.
typedef uint8_t weft_priority;
enum { WEFT_PRIORITY_HIGH = 0, WEFT_PRIORITY_NORMAL = 1, WEFT_PRIORITY_LOW = 2 };

/// The workers that may continue a task after a wait.
typedef uint8_t weft_resume_on;
enum { WEFT_RESUME_ON_ANY_WORKER = 0, WEFT_RESUME_ON_SAME_WORKER = 1 };

/// What a thread does while one of its tasks waits.
///
/// The modes NORMAL_OR_HIGHER and HIGH_ONLY limit which tasks the thread begins, and which it
/// continues after a wait. A task that has begun and is pinned to the thread continues whatever its
/// priority is. If the mode allows the priority of the waiting task, this task may itself run tasks
/// of its counter, also lower ones. These then have its priority.
typedef uint8_t weft_meanwhile;
enum {
    WEFT_MEANWHILE_ANY_TASK = 0,          ///< The thread runs any task.
    WEFT_MEANWHILE_NORMAL_OR_HIGHER = 1,  ///< The thread runs no low task.
    WEFT_MEANWHILE_HIGH_ONLY = 2,         ///< The thread runs no low and no normal task.
    /// The thread runs only tasks of the awaited counter, tasks of counters that these tasks wait
    /// for, and so on.
    WEFT_MEANWHILE_OWN_TASKS = 3,
    /// The thread sleeps. Other workers may take the tasks in its queues. Tasks that are pinned to
    /// it begin or continue after the wait.
    WEFT_MEANWHILE_NOTHING = 4
};

/// What a worker does when it finds no work.
typedef uint8_t weft_idle_policy;
enum {
    /// It searches for up to 100 microseconds, then sleeps until it is woken. It does not search
    /// while it is on the CPU of the thread that woke it.
    WEFT_IDLE_BALANCED = 0,
    WEFT_IDLE_SPIN = 1,  ///< It searches all the time: lowest latency, but it occupies a core.
    WEFT_IDLE_SLEEP = 2  ///< It sleeps at once.
};

/// How the threads of weft are bound to CPUs. include/weft/README.md says which CPUs are usable.
typedef uint8_t weft_affinity;
enum {
    /// Not bound: each thread may use all usable CPUs, even if its creator is bound. weft spreads
    /// the threads over the CPUs when they start. After that, the system decides.
    WEFT_AFFINITY_NONE = 0,
    /// Worker i is bound to usable CPU i, modulo the number of usable CPUs.
    WEFT_AFFINITY_COMPACT = 1,
    /// Worker i is bound to those CPUs of its mask that the system grants.
    WEFT_AFFINITY_EXPLICIT = 2
};

/// The error that a report is about.
typedef uint16_t weft_report_code;
enum {
    WEFT_REPORT_NULL_TASK = 0,     ///< A null task or function.
    WEFT_REPORT_NULL_COUNTER = 1,  ///< A null counter where one is needed.
    WEFT_REPORT_BAD_OPTION = 2,    ///< An option or argument out of its range.
    WEFT_REPORT_NOT_RUNNING = 3,   ///< A call while the scheduler does not run.
    /// An external thread submits or waits while the run is ending. Reported once a run.
    WEFT_REPORT_RUN_ENDING = 4,
    /// The run is to end, but external threads are still in a call, or threads are attached.
    /// Reported once a run.
    WEFT_REPORT_END_DELAYED = 5,
    WEFT_REPORT_NOT_A_WORKER = 6,  ///< A call that only a task or an attached thread may make.
    WEFT_REPORT_WRONG_THREAD = 7,  ///< A call that this thread must not make.
    /// A call that waits, in a hook or in onReport; a submission in a hook that must not submit; or
    /// a call that a memory hook must not make (weft_memory_hooks).
    WEFT_REPORT_IN_HOOK = 8,
    WEFT_REPORT_LEFT_ATTACHED = 9,  ///< An attached thread ended without detaching.
    /// A call in a forked child process, in which the workers do not exist.
    WEFT_REPORT_FORKED = 10,
    WEFT_REPORT_STACK_OVERFLOW = 11,    ///< A task has run over the end of its stack.
    WEFT_REPORT_DESTROYED_IN_USE = 12,  ///< Only for objects of the C++ interface.
    /// An external thread waits, but there is no worker and no attached thread. The wait goes on.
    WEFT_REPORT_NO_WORKERS = 13,
    WEFT_REPORT_COUNTER_UNDERFLOW = 14,  ///< A decrement below zero.
    WEFT_REPORT_COUNTER_OVERFLOW = 15,   ///< An increment past 2^32 - 1.
    WEFT_REPORT_WRONG_SCHEDULER = 16,    ///< A counter that another scheduler uses.
    WEFT_REPORT_TASK_THREW = 17,         ///< A C++ exception left a task.
    /// A task changed the floating-point control words (only if weft is a debug build).
    WEFT_REPORT_FLOATING_POINT_STATE = 18,
    /// A task is to begin, but each fiber holds a task that waits.
    WEFT_REPORT_OUT_OF_FIBERS = 19,
    /// All workers sleep, and tasks wait for something that no worker runs.
    WEFT_REPORT_STALLED = 21,
    WEFT_REPORT_OUT_OF_MEMORY = 22,     ///< There is no memory for a scheduler, a queue or a wait.
    WEFT_REPORT_MEMORY_IN_USE = 23,     ///< Only for objects of the C++ interface.
    WEFT_REPORT_MEMORY_LEAKED = 24,     ///< Only for objects of the C++ interface.
    WEFT_REPORT_BROKEN_INVARIANT = 25,  ///< An error in weft, or its memory was overwritten.
    /// No task has ended for watchdogMilliseconds, although tasks are pending and a worker or
    /// attached thread is awake. Reported once a run.
    WEFT_REPORT_NO_PROGRESS = 26,
    WEFT_REPORT_WAIT_IN_SCOPE = 27,  ///< Only for objects of the C++ interface.
    /// There is only one worker by default, because the process has one usable CPU, although the
    /// system would grant it more. Reported once a run.
    WEFT_REPORT_ONE_CPU = 28
};

/// Returns the name of a status, for example "BadOption", or "unknown". Thread-safe. Needs no run.
WEFT_API const char *weft_status_name(weft_status status) WEFT_NOTHROW;

/// Returns the name of a report code, for example "NullTask", or "unknown". The page
/// include/weft/README.md says for each name how to correct the error. Thread-safe. Needs no run.
WEFT_API const char *weft_report_name(weft_report_code code) WEFT_NOTHROW;

/// As the index of a worker in options: any worker. As a number of workers: the default number. As
/// a result: no worker.
#define WEFT_ANY_WORKER UINT32_MAX

/// In options: the group of the task that submits, or no group.
#define WEFT_ANY_GROUP UINT8_MAX

/// A point in time that never comes.
#define WEFT_NEVER UINT64_MAX

// ---- tasks and counters

/// The function of a task. `scheduler` is the scheduler that runs it, `arg` is weft_task::arg.
///
/// It runs on a stack of the size that weft_task_options::stack says. After each wait it may
/// continue on another thread. So it must not use thread-local data, or hold a lock of a thread,
/// across a wait.
typedef void (*weft_task_function)(weft_scheduler *scheduler, void *arg);

/// One unit of work. A submission copies it. The object at `arg` must live until the task has
/// finished.
typedef struct weft_task {
    weft_task_function function;
    void *arg;
} weft_task;

/// Counts tasks that have not finished, so that others can wait for them.
///
/// A counter has eight bytes and may lie anywhere: on a stack, in an array, in another object. It
/// must outlive every wait for it. Once a wait for 0 has returned, its memory may be used again at
/// once. While it is not zero, it belongs to one scheduler. Do not read, write or copy its content.
/// A counter whose bytes are all 0 has the value 0.
typedef struct weft_counter {
    uint64_t word;
} weft_counter;

/// The initial value of a counter of 0: `weft_counter counter = WEFT_COUNTER_INIT;`
#define WEFT_COUNTER_INIT \
    { 0 }

/// Makes a counter with the value `value` at `counter`. Nobody may use the counter during the call,
/// or wait for it. Needs no run.
WEFT_API void weft_counter_init(weft_counter *counter, uint32_t value) WEFT_NOTHROW;

/// Returns the number of tasks that have not finished, or a little more.
///
/// The value may include tasks that finished within about the last 100 microseconds, and that their
/// worker ran directly before its current task. If short tasks suddenly become long, it may once
/// include up to 128 such tasks for longer. Zero is exact: then the caller sees everything that the
/// counted tasks wrote. Thread-safe. Needs no run.
WEFT_API uint32_t weft_counter_value(const weft_counter *counter) WEFT_NOTHROW;

/// Options of one submission. Initialise them with weft_task_options_init. Where a function takes
/// such options, null stands for the defaults.
typedef struct weft_task_options {
    /// The size of this struct in the program; see weft_options::structBytes.
    uint32_t structBytes;
    /// Pins the task to one worker or attached thread: only this one begins it, and continues it
    /// after a wait. Default: WEFT_ANY_WORKER.
    uint32_t worker;
    /// The name of the task in reports, or null. The string must live until the run has ended, as a
    /// string literal does. Default: null.
    const char *name;
    weft_priority priority;  ///< Default: WEFT_PRIORITY_NORMAL.
    /// The index in weft_options::groups of the group that may run the task. WEFT_ANY_GROUP = the
    /// group of the task that submits it; if no task submits it, see weft_worker_group. Must be
    /// WEFT_ANY_GROUP if `worker` is given. Default: WEFT_ANY_GROUP.
    uint8_t group;
} weft_task_options;

/// Sets all fields to their defaults. `bytes`: sizeof(weft_task_options). Thread-safe. Needs no
/// run.
WEFT_API void weft_task_options_init(weft_task_options *options, size_t bytes) WEFT_NOTHROW;

// ---- reports, hooks, options

/// One report. The strings live until onReport returns. Newer versions may add fields at the end.
typedef struct weft_report {
    weft_report_code code;
    bool fatal;        ///< True: the process aborts after this report.
    const char *what;  ///< What is wrong, with the figures.
    const char *hint;  ///< How to correct it.
    const char *task;  ///< The name of the task that called, or that the report is about; or null.
} weft_report;

/// Receives reports, on any thread. A worker must not wait in it, and it must not throw.
typedef void (*weft_report_function)(const weft_report *report, void *user);

/// Functions that provide memory. Each may be null. Set `allocate` and `release` together, and
/// `reserveStacks` and `releaseStacks` together.
///
/// weft calls them in the middle of its work, perhaps with an internal lock held. They may block
/// their thread for a short time. Of weft they may call only weft_current, weft_current_worker,
/// weft_current_fiber, weft_worker_count, weft_poll_counter, weft_counter_value, weft_now,
/// weft_prepare_to_block (no effect), weft_begin_external_work, weft_end_external_work, and
/// weft_sleep_until, which blocks the thread. Any other call is reported (IN_HOOK) and has no
/// effect. They must not throw.
typedef struct weft_memory_hooks {
    void *user;  ///< Passed to each of the functions.
    /// Returns `bytes` bytes, aligned to `alignment` (a power of two), or null. Any thread may call
    /// it, but not in the steady state.
    void *(*allocate)(size_t bytes, size_t alignment, void *user);
    /// Frees memory of `allocate`. `bytes` and `alignment` are those of the allocation.
    void (*release)(void *memory, size_t bytes, size_t alignment, void *user);
    /// Returns whole pages of the system, aligned to a page, or null. Each run calls it once for
    /// all stacks, and once for the reserve stacks of attached threads.
    void *(*reserveStacks)(size_t bytes, void *user);
    /// Frees the pages of one call of `reserveStacks`.
    void (*releaseStacks)(void *memory, size_t bytes, void *user);
} weft_memory_hooks;

/// Functions that weft calls on each worker thread that it creates. Each may be null. They must not
/// submit tasks, must not wait, and must not throw. `worker` is the index of the worker. A task
/// begins with the floating-point control words that `onStart` has left on its worker.
typedef struct weft_thread_hooks {
    void *user;                                    ///< Passed to both functions.
    void (*onStart)(uint32_t worker, void *user);  ///< The thread has begun.
    void (*onStop)(uint32_t worker, void *user);   ///< The thread is about to end.
} weft_thread_hooks;

/// Workers that belong together: cores of one kind, a NUMA node, or threads of a lower priority in
/// the system.
///
/// weft_task_options::group says which group may run a task. If it is WEFT_ANY_GROUP, the task has
/// the group of the task that submits it. A task that gets no group in this way is in no group: any
/// group that is not namedOnly may run it, and so may attached threads. If a group has `runsLow`,
/// only such groups, and attached threads, run low tasks that are in no group.
typedef struct weft_worker_group {
    /// The name of the group's threads, instead of weft_options::threadName; or null. Must outlive
    /// the scheduler.
    const char *name;
    /// Number of workers, at least 1. Their indices follow those of the group before.
    uint32_t workers;
    /// Added to weft_options::threadNice for the group's threads. -20 to 19.
    int32_t nice;
    /// The CPUs that the group's threads may use. The system may grant only some of them. Bit 0 of
    /// word 0 is CPU 0. Null = as weft_options::affinity says.
    const uint64_t *cpus;
    uint32_t cpuWords;  ///< Number of 64-bit words in `cpus`, 1 to 1024.
    /// True: of the tasks that are in no group, the group runs at most low ones (`runsLow`). Must
    /// be false for the first group.
    bool namedOnly;
    /// True: the group runs low tasks that are in no group. If this is true for some groups, the
    /// others run no such tasks. weft_set_runs_low changes it during a run.
    bool runsLow;
} weft_worker_group;

/// All options of a scheduler. Initialise them with weft_options_init, then change fields. What the
/// pointers in it point to must live until the scheduler is destroyed.
typedef struct weft_options {
    /// The size of this struct in the program; weft_options_init sets it. In a newer library the
    /// struct may be larger: then the fields that the program does not have keep their defaults. A
    /// size that is larger than that of the library is an error (BAD_OPTION), and so is 0.
    uint32_t structBytes;
    /// Number of threads that run tasks, with the caller of weft_run: 1 to 1024, for weft_start
    /// also 0. Default: WEFT_ANY_WORKER, which is the value of the environment variable
    /// WEFT_WORKERS; if it is not set, one for each usable CPU, or fewer if a container limits the
    /// CPU time.
    uint32_t workers;
    /// Receives all reports. Null = weft prints one line to stderr. Default: null.
    weft_report_function onReport;
    void *user;  ///< Passed to onReport. Default: null.
    /// Number of threads that may be attached at the same time, 1 to 1024. Default: 8.
    uint32_t maxAttached;
    uint32_t groupCount;  ///< Number of `groups`, up to 8. Default: 0.
    /// Groups of workers. The sum of their workers must be `workers`. Null = one group. Default:
    /// null.
    const weft_worker_group *groups;
    /// Number of tasks that can run or wait at the same time, up to 1,000,000. Default: 0, which
    /// means 160, or 18 for each worker if that is more.
    uint32_t fibers;
    /// Stack size of a task, at least 16 KiB. weft maps twice as much, so that a waiting task can
    /// run another one on top of its own frames. Default: 512 KiB.
    size_t stackBytes;
    /// Stack size of a worker thread, at least 64 KiB. Tasks never run on it. Default: 512 KiB.
    size_t threadStackBytes;
    weft_idle_policy idle;   ///< Default: WEFT_IDLE_BALANCED.
    weft_affinity affinity;  ///< Default: WEFT_AFFINITY_NONE.
    /// True: weft installs a handler for SIGSEGV and SIGBUS that names the task whose stack has
    /// overflowed, and then calls the handler that was installed before. Default: false.
    bool reportStackOverflow;
    /// True: weft remembers which tasks hold a lock of the C++ interface, for the report STALLED.
    /// Default: false.
    bool lockHolders;
    /// True: after each wait a task continues on another worker, if one takes it within ten
    /// milliseconds. For tests. Default: false.
    bool migrateAfterWait;
    /// For WEFT_AFFINITY_EXPLICIT: number of 64-bit words in each mask, 1 to 1024. Default: 0.
    uint32_t maskWords;
    /// For WEFT_AFFINITY_EXPLICIT: one mask for each worker, one after the other. Bit 0 of word 0
    /// is CPU 0. Default: null.
    const uint64_t *masks;
    /// The threads of weft get this name, followed by their index. The system shows at most 15
    /// bytes. Null = no name. Default: "weft".
    const char *threadName;
    /// Added to the nice value of the threads of weft: -20 (runs first) to 19 (runs last). Default:
    /// 0, that of the caller.
    int32_t threadNice;
    /// The time slice of the threads of weft, in microseconds, 100 to 100,000; 0 = that of the
    /// caller. Needs Linux 6.12 or newer, otherwise it is ignored. Default: 500.
    uint32_t threadSliceMicroseconds;
    weft_memory_hooks memory;   ///< Default: the memory of the system.
    weft_thread_hooks threads;  ///< Default: none.
    /// How long external threads may still submit and wait after weft_stop was called, or after the
    /// main task of weft_run has returned. Then their calls are refused (RUN_ENDING). Up to 60,000.
    /// Default: 1,000.
    uint32_t stopGraceMilliseconds;
    /// A stall (OUT_OF_FIBERS, STALLED) is reported when it has lasted for this time. 1 to
    /// 60,000. Default: 500.
    uint32_t stallMilliseconds;
    /// weft reports NO_PROGRESS, once a run, if no task ends for this time while tasks are pending
    /// and a worker or attached thread is awake. Up to 600,000. Default: 0, no check.
    uint32_t watchdogMilliseconds;
    /// For tests: the random seed of all choices of the scheduler. The same number gives the same
    /// order of all tasks. Needs `workers` = 0, and makes time virtual. Default: 0, the usual
    /// order.
    uint64_t order;
    /// True: weft makes no threads for the workers. The program's threads run them with
    /// weft_run_worker. weft does not change their names, nice values, time slices or CPUs.
    /// `watchdogMilliseconds` still makes a thread. Default: false.
    bool hostThreads;
    /// weft_run and weft_start allocate so much that no later call allocates while at most this
    /// many tasks are pending. Up to 65,536. A task is pending from the call that submits it until
    /// it has finished. Each call of a thread that is no worker counts as one more, and so does
    /// each counter but the first for which a task waits. Default: 0, queues and pools begin small,
    /// and grow.
    uint32_t pendingTasks;
} weft_options;

/// Sets all fields to their defaults. `bytes`: sizeof(weft_options). Thread-safe. Needs no run.
WEFT_API void weft_options_init(weft_options *options, size_t bytes) WEFT_NOTHROW;

// ---- life of schedulers

/// Makes a scheduler, which does not run yet. `options`: null stands for the defaults. The options
/// are copied; weft_run and weft_start check their ranges.
///
/// Returns null after a report: BAD_OPTION (structBytes is wrong, or only one of memory.allocate
/// and memory.release is given), OUT_OF_MEMORY. Takes about 1 KiB from weft_options::memory.
/// Thread-safe.
WEFT_API weft_scheduler *weft_create(const weft_options *options) WEFT_NOTHROW;

/// Destroys a scheduler that weft_create has made. Calls weft_stop first if weft_start was called
/// and weft_stop was not. A null pointer has no effect. Must not be called by a task or an attached
/// thread, in a hook, or while weft_run runs.
WEFT_API void weft_destroy(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Runs `function(scheduler, arg)` as the main task, with the calling thread as worker 0.
///
/// Creates the other threads and the fibers. Returns on the calling thread when the main task has
/// returned, no task is pending, no external thread waits in a call, and every attached thread has
/// detached. `options`: null stands for the name "main";
/// weft_task_options::worker may be WEFT_ANY_WORKER, or 0: then the main task stays on the calling
/// thread.
///
/// Returns a status other than WEFT_STATUS_OK if the main task did not run. May be called again
/// after it has returned. A task of another scheduler may call it.
WEFT_API weft_status weft_run(weft_scheduler *scheduler, weft_task_function function, void *arg,
                              const weft_task_options *options) WEFT_NOTHROW;

/// Creates threads and fibers and returns, for a program that keeps its main loop.
///
/// Unless weft_options::hostThreads is set, weft makes the threads of all workers. The caller is an
/// external thread, and may attach. With weft_options::workers = 0 there are no workers, and only
/// one thread may be attached. It runs the tasks while it waits, always in the same order. Returns
/// a status other than WEFT_STATUS_OK if the scheduler did not start.
WEFT_API weft_status weft_start(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Runs worker `index` on the calling thread until the run ends, then returns WEFT_STATUS_OK. For
/// weft_options::hostThreads.
///
/// Each worker needs one call, on a thread of its own: after weft_start, one for each of 0 to
/// weft_worker_count - 1; while weft_run runs, from 1 on, because its caller is worker 0. A worker
/// without a thread runs no tasks, and tasks that are pinned to it wait.
///
/// Returns a weft_status: NOT_RUNNING without a report, if the scheduler does not run; BAD_OPTION
/// if hostThreads is false or there is no such worker; ALREADY_RUNNING if another thread runs the
/// worker, or the caller is a worker of this scheduler. Both are reported (BAD_OPTION).
/// Thread-safe.
WEFT_API weft_status weft_run_worker(weft_scheduler *scheduler, uint32_t index) WEFT_NOTHROW;

/// Ends the run that weft_start began.
///
/// Returns when no task is pending, no other thread waits in a call, and every attached thread has
/// detached. With weft_options::hostThreads every thread has then left weft_run_worker; and if some
/// worker has no thread, the caller of weft_stop runs it until the end. After stopGraceMilliseconds
/// the report END_DELAYED names what the end waits for. Must not be called by a task or an attached
/// thread (WRONG_THREAD), or in onReport (IN_HOOK). Call it once for each weft_start (NOT_RUNNING).
WEFT_API void weft_stop(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Like weft_stop, but after `nanoseconds` withdraws the tasks that have not begun because they
/// wait for a time or a counter.
///
/// Tasks of weft_add_task_at and weft_add_task_after that have not begun by then never run, and
/// their counters are lowered. From then on such submissions are refused (RUN_ENDING). The report
/// END_DELAYED names what was withdrawn, and what the end still waits for: tasks that have begun
/// and threads. Returns true if all tasks ran, and false if some were withdrawn, or after a report.
WEFT_API bool weft_stop_for(weft_scheduler *scheduler, uint64_t nanoseconds) WEFT_NOTHROW;

/// Attaches the calling thread: from now on it runs tasks while it waits or yields.
///
/// The thread gets the next free index from weft_worker_count on, which may be used as
/// weft_task_options::worker. Returns a weft_status: OK; ALREADY_RUNNING if the thread is a worker
/// of this scheduler or is attached to it already; NOT_RUNNING, TOO_MANY_THREADS or OUT_OF_MEMORY;
/// or BAD_OPTION if there are no workers and another thread is attached. Thread-safe.
WEFT_API weft_status weft_attach_thread(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Detaches the calling thread, after it has run all tasks that are pinned to it or lie in its
/// queues. Only an attached thread may call it, outside of tasks (WRONG_THREAD).
WEFT_API void weft_detach_thread(weft_scheduler *scheduler) WEFT_NOTHROW;

// ---- submission

/// Submits one task: `function(scheduler, arg)`. `counter`, if it is not null, is incremented now
/// and decremented when the task has finished. `options` may be null. Errors are those of
/// weft_add_tasks. Thread-safe.
WEFT_API void weft_add_task(weft_scheduler *scheduler, weft_task_function function, void *arg,
                            weft_counter *counter, const weft_task_options *options) WEFT_NOTHROW;

/// Submits `count` tasks, and copies them. `counter`, if it is not null, is increased by `count`
/// now and decremented as each task has finished. `options` may be null.
///
/// If `count` is 0, nothing happens. The worker that submits begins the tasks in their order.
/// Workers that steal tasks from it begin at the end of the batch.
///
/// Submits nothing after a report: NULL_TASK, BAD_OPTION, NOT_RUNNING, RUN_ENDING, IN_HOOK,
/// COUNTER_OVERFLOW, WRONG_SCHEDULER. If there is no memory for the tasks, reports OUT_OF_MEMORY
/// and aborts. Thread-safe.
WEFT_API void weft_add_tasks(weft_scheduler *scheduler, uint32_t count, const weft_task *tasks,
                             weft_counter *counter, const weft_task_options *options) WEFT_NOTHROW;

/// Submits `count` tasks that are parts of the calling task. `options` may be null.
///
/// The counter that counts the calling task is increased by `count` and counts the new tasks, too.
/// So it reaches zero when the task, its child tasks and their child tasks have finished. If no
/// counter counts the calling task, no counter counts the new tasks. Only a task may call it
/// (NOT_A_WORKER). Other errors are those of weft_add_tasks.
WEFT_API void weft_add_child_tasks(weft_scheduler *scheduler, uint32_t count,
                                   const weft_task *tasks,
                                   const weft_task_options *options) WEFT_NOTHROW;

/// Submits `count` tasks and waits until all of them and their child tasks have finished. `options`
/// may be null. Errors are those of weft_add_tasks. Thread-safe. An external thread blocks in the
/// operating system.
WEFT_API void weft_add_tasks_and_wait(weft_scheduler *scheduler, uint32_t count,
                                      const weft_task *tasks,
                                      const weft_task_options *options) WEFT_NOTHROW;

/// Submits `function(scheduler, arg)` once `after` drops to `value` or less. The task sees
/// everything that the counted tasks wrote.
///
/// The task counts as pending at once: the run waits for it, and `counter`, if it is not null, is
/// incremented now and decremented when the task has finished. `after` must live until it has
/// dropped to `value`. If `counter == after`, `value` must be at least 1. `options` may be null.
///
/// Returns false, after a report, if nothing was submitted: NULL_COUNTER, OUT_OF_MEMORY (in a
/// hook), and the errors of weft_add_tasks. Thread-safe. Does not block, unless there is no memory
/// for a wait record: then it reports OUT_OF_MEMORY and waits for `after` itself.
WEFT_API bool weft_add_task_after(weft_scheduler *scheduler, weft_counter *after, uint32_t value,
                                  weft_task_function function, void *arg, weft_counter *counter,
                                  const weft_task_options *options) WEFT_NOTHROW;

/// Submits `function(scheduler, arg)` at `time` (weft_now), or now if `time` has passed.
///
/// The task counts as pending at once: the run waits for it, and `counter`, if it is not null, is
/// incremented now and decremented when the task has finished. So WEFT_NEVER is an error
/// (BAD_OPTION). `options` may be null. Returns false, after a report, if nothing was submitted;
/// the errors are those of weft_add_tasks. Thread-safe.
WEFT_API bool weft_add_task_at(weft_scheduler *scheduler, uint64_t time,
                               weft_task_function function, void *arg, weft_counter *counter,
                               const weft_task_options *options) WEFT_NOTHROW;

// ---- waits

/// Blocks the calling fiber until `counter <= value`. The value only has to be reached once, even
/// for a moment. If several tasks wait for 0, raise the counter again only after all of them have
/// returned.
///
/// While the fiber waits, its worker runs other tasks: first tasks of this counter, then others.
/// The task may continue on any worker. Every wait is a scheduling point, even if the counter is
/// low enough already: work of higher priority runs first.
///
/// After a wait for 0 the caller sees everything that the counted tasks wrote. A wait for a higher
/// value can be late, because a worker may finish several tasks before it lowers their counter.
///
/// Returns at once after a report: NULL_COUNTER, NOT_RUNNING, RUN_ENDING, IN_HOOK, WRONG_SCHEDULER.
/// Thread-safe. An external thread blocks in the operating system.
WEFT_API void weft_wait_for_counter(weft_scheduler *scheduler, weft_counter *counter,
                                    uint32_t value) WEFT_NOTHROW;

/// Like weft_wait_for_counter. `resume` says whether the task may continue on any worker or only on
/// this one. An external thread ignores it. Reports BAD_OPTION if `resume` is out of range.
WEFT_API void weft_wait_for_counter_on(weft_scheduler *scheduler, weft_counter *counter,
                                       uint32_t value, weft_resume_on resume) WEFT_NOTHROW;

/// Like weft_wait_for_counter, but until the wait ends the calling thread runs only what
/// `meanwhile` allows. If that is not WEFT_MEANWHILE_ANY_TASK, the task continues on the same
/// thread.
///
/// Use it on a thread that must not begin a long task. Use OWN_TASKS or NOTHING also in code that
/// holds a lock while it waits. Reports STALLED if no worker can run what the wait needs, and
/// BAD_OPTION if `meanwhile` is out of range. An external thread ignores `meanwhile`.
WEFT_API void weft_wait_for_counter_meanwhile(weft_scheduler *scheduler, weft_counter *counter,
                                              uint32_t value,
                                              weft_meanwhile meanwhile) WEFT_NOTHROW;

/// Like weft_wait_for_counter_meanwhile, but returns false if `deadline` (weft_now) passes first.
///
/// The counter is checked once more at the deadline. So with a deadline in the past, the call only
/// checks the counter. The counter must live until this call has returned, even after it has
/// reached zero. If the thread runs another task at the deadline, the call returns only after that
/// task has ended or waits. Also returns false after a report.
WEFT_API bool weft_wait_for_counter_until(weft_scheduler *scheduler, weft_counter *counter,
                                          uint32_t value, uint64_t deadline,
                                          weft_meanwhile meanwhile) WEFT_NOTHROW;

/// Waits until each of `count` counters has been zero, one after the other. Errors are those of
/// weft_wait_for_counter.
WEFT_API void weft_wait_for_all(weft_scheduler *scheduler, uint32_t count,
                                weft_counter *const *counters) WEFT_NOTHROW;

/// Waits until one of `count` counters is zero, and returns the index of the first one that was.
/// `count` is 1 to 4,096. All counters must outlive the call. Returns `count` after a report.
/// Thread-safe. An external thread blocks in the operating system.
WEFT_API uint32_t weft_wait_for_any(weft_scheduler *scheduler, uint32_t count,
                                    weft_counter *const *counters) WEFT_NOTHROW;

/// Like weft_wait_for_any, but returns `count` if `deadline` (weft_now) passes first.
WEFT_API uint32_t weft_wait_for_any_until(weft_scheduler *scheduler, uint32_t count,
                                          weft_counter *const *counters,
                                          uint64_t deadline) WEFT_NOTHROW;

/// Waits until, at some moment during the call, no task is pending, except tasks that are in
/// weft_wait_idle themselves. Thread-safe. An external thread blocks in the operating system.
WEFT_API void weft_wait_idle(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Returns true if `counter <= value` now. Then the caller sees everything that the counted tasks
/// wrote.
///
/// Unlike weft_counter_value, it first counts off the tasks that have finished on the calling
/// worker. So it may be called in a loop until it returns true. Returns true for a null pointer,
/// after a report (NULL_COUNTER). Thread-safe. Needs no run.
WEFT_API bool weft_poll_counter(weft_scheduler *scheduler, weft_counter *counter,
                                uint32_t value) WEFT_NOTHROW;

/// Increases a counter by `n`, for events that are not tasks. It can be at most 2^32 - 1.
///
/// Returns false, after a report, if the counter is unchanged: NULL_COUNTER, NOT_RUNNING,
/// COUNTER_OVERFLOW, WRONG_SCHEDULER. Thread-safe.
WEFT_API bool weft_increment_counter(weft_scheduler *scheduler, weft_counter *counter,
                                     uint32_t n) WEFT_NOTHROW;

/// Decreases a counter by `n`. Workers continue the waiting tasks, never the caller. A decrement
/// below zero is reported (COUNTER_UNDERFLOW) and has no effect. Thread-safe.
WEFT_API void weft_decrement_counter(weft_scheduler *scheduler, weft_counter *counter,
                                     uint32_t n) WEFT_NOTHROW;

/// Declares work that weft does not see, and that will decrement a counter: of a device, a network,
/// another thread. Until its end, weft does not report STALLED and OUT_OF_FIBERS. `name`: for
/// tools; it may be null, and must live until the end of the work. Each call needs one
/// weft_end_external_work with the same name, after the counter has been decremented. Thread-safe.
/// Needs no run.
WEFT_API void weft_begin_external_work(weft_scheduler *scheduler, const char *name) WEFT_NOTHROW;
/// Ends what weft_begin_external_work began. Thread-safe. Needs no run.
WEFT_API void weft_end_external_work(weft_scheduler *scheduler, const char *name) WEFT_NOTHROW;

// ---- time

/// Returns the current time, in nanoseconds of the system's steady clock; or the virtual time with
/// weft_options::order. A deadline in 5 ms is `weft_now() + 5000000`. Thread-safe. Needs no run.
///
/// There is no timer thread. Workers check the deadlines between two tasks, and a sleeping worker
/// wakes up for the earliest deadline. A deadline is handled late by at most the longest single
/// task plus 100 microseconds.
WEFT_API uint64_t weft_now(void) WEFT_NOTHROW;

/// Blocks the calling fiber until `deadline` (weft_now). Its worker runs other tasks meanwhile.
/// Thread-safe. An external thread sleeps in the operating system, also without a run.
WEFT_API void weft_sleep_until(weft_scheduler *scheduler, uint64_t deadline) WEFT_NOTHROW;

// ---- the running task

/// Lets other work run first.
///
/// The calling fiber moves behind all ready fibers. If no ready fiber has a higher priority than
/// the caller, one task that has not begun runs first, whatever its priority is. Only tasks and
/// attached threads may call it (NOT_A_WORKER).
WEFT_API void weft_yield(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Changes the priority of the calling task. From now on its waits have this priority, and so has
/// the task when it continues.
///
/// The tasks that it submits have the priority of their weft_task_options. Reports BAD_OPTION if
/// `priority` is out of range. Only tasks and attached threads may call it (NOT_A_WORKER).
WEFT_API void weft_set_priority(weft_scheduler *scheduler, weft_priority priority) WEFT_NOTHROW;

/// Runs tasks that are pinned to the calling thread and can begin or continue now, at most `max`,
/// and returns how many it ran. For the message pump of a thread that owns a window. Only tasks and
/// attached threads may call it (NOT_A_WORKER).
WEFT_API uint32_t weft_run_pinned_tasks(weft_scheduler *scheduler, uint32_t max) WEFT_NOTHROW;

/// Prepares the calling task to block its thread in the operating system.
///
/// Other workers can then take the tasks that this worker has claimed and not begun, and the tasks
/// that have finished on it are counted off. Costs next to nothing if there are no such tasks. Has
/// no effect on a thread that runs no task of this scheduler.
WEFT_API void weft_prepare_to_block(weft_scheduler *scheduler) WEFT_NOTHROW;

/// Returns the scheduler of the calling task, or the one to which the calling thread is attached;
/// or null. Thread-safe. Needs no run.
WEFT_API weft_scheduler *weft_current(void) WEFT_NOTHROW;

/// Returns the index of the calling worker or attached thread, or WEFT_ANY_WORKER.
///
/// Workers have the indices 0 to weft_worker_count() - 1, attached threads those that follow. For a
/// task that is not pinned, the index may change in each wait. Thread-safe. Needs no run.
WEFT_API uint32_t weft_current_worker(const weft_scheduler *scheduler) WEFT_NOTHROW;

/// Returns the index of the calling fiber, which is that of a task or of an attached thread; or
/// WEFT_ANY_WORKER. It does not change while a task lives. Thread-safe. Needs no run.
WEFT_API uint32_t weft_current_fiber(const weft_scheduler *scheduler) WEFT_NOTHROW;

/// Returns the number of workers that a run uses, without attached threads. If
/// weft_options::workers is WEFT_ANY_WORKER, the call asks the system. Thread-safe. Needs no run.
WEFT_API uint32_t weft_worker_count(const weft_scheduler *scheduler) WEFT_NOTHROW;

// ---- the whole scheduler

/// Keeps only the first `count` workers active, to save power or when the program is in the
/// background.
///
/// `count` is 1 to weft_worker_count() (BAD_OPTION). The other workers sleep, and run only what is
/// pinned to them. The first worker of each group stays active. The call has effect until the next
/// call or the end of the run. Attached threads do not count. Thread-safe.
WEFT_API void weft_set_active_workers(weft_scheduler *scheduler, uint32_t count) WEFT_NOTHROW;

/// Changes weft_worker_group::runsLow of groups[group], until the run ends. If it is false for all
/// groups, low tasks that are in no group run where other tasks that are in no group run. To move
/// them, set the new group first. If there is no such group, reports BAD_OPTION and has no effect.
/// Thread-safe.
WEFT_API void weft_set_runs_low(weft_scheduler *scheduler, uint32_t group,
                                bool runsLow) WEFT_NOTHROW;

/// Says in the trace that the frame with this number ends here, and that the next one begins.
/// Thread-safe. Has no effect if nothing is traced, or without a run.
WEFT_API void weft_mark_frame(weft_scheduler *scheduler, uint32_t frame) WEFT_NOTHROW;

/// Gives the counter a name in the trace, from now on. `name` must live until the run has ended, as
/// a string literal does. Thread-safe. Has no effect if nothing is traced, or without a run.
WEFT_API void weft_name_counter(weft_scheduler *scheduler, const weft_counter *counter,
                                const char *name) WEFT_NOTHROW;

/// What the workers and attached threads have done since the run began, and the state of the
/// scheduler. While tasks run, the figures may come from slightly different moments.
typedef struct weft_statistics {
    uint64_t submitted;    ///< Tasks that were submitted by tasks and attached threads.
    uint64_t finished;     ///< Tasks that have finished.
    uint64_t inlineRuns;   ///< How often a waiting task ran a task on its own stack.
    uint64_t suspensions;  ///< How often a wait or weft_yield suspended a fiber.
    uint64_t steals;       ///< How often a worker took tasks or a ready fiber from another worker.
    uint64_t sleeps;       ///< How often a worker fell asleep.
    uint64_t wakes;        ///< How often a worker woke another worker.
    uint64_t submittedOutside;  ///< Tasks of external threads. `submitted` does not count them.
    uint64_t pendingTasks;      ///< Tasks that have been submitted and have not finished.
    uint32_t workers;           ///< As weft_worker_count.
    uint32_t attachedThreads;   ///< Threads that are attached now.
    /// Fibers in the pool: weft_options::fibers, and one for each worker and each thread that may
    /// be attached.
    uint32_t fibers;
    uint32_t fibersInUse;    ///< With a task that runs or waits, or a worker that searches.
    uint32_t fibersTouched;  ///< Fibers that have been used in this run.
} weft_statistics;

/// Writes the statistics of the scheduler to `statistics`. `bytes`: sizeof(weft_statistics). Fields
/// that the library does not know become 0. Without a run, reports NOT_RUNNING and writes zeros.
/// Thread-safe.
WEFT_API void weft_get_statistics(weft_scheduler *scheduler, weft_statistics *statistics,
                                  size_t bytes) WEFT_NOTHROW;

#if defined(__cplusplus)
}  // extern "C"
#endif
