// The options of a scheduler. Each option has a default that works.
//
//     weft::SchedulerOptions options;
//     options.workers = 4;
//     options.fibers = 512;
//     weft::TaskScheduler scheduler(options);
#pragma once

#include "weft/hooks.h"
#include "weft/report.h"
#include "weft/task.h"

#include <cstddef>
#include <cstdint>

namespace weft {

class Recorder;
class StackMeter;

/// The result of a call, or the reason why Run, Start or AttachThread failed.
enum class Status : uint8_t {
    Ok,         ///< The call succeeded.
    BadOption,  ///< An option is out of range. The report names it.
    /// Stacks or queues could not be allocated; the report names the options that asked for them.
    /// In AttachThread without a report; there also: the system has no more thread-specific keys.
    OutOfMemory,
    /// The system refused more memory mappings (guard pages). Use fewer fibers, or raise
    /// vm.max_map_count.
    OutOfMappings,
    ThreadFailed,    ///< A worker thread could not be created. The report names the options.
    AlreadyRunning,  ///< The scheduler runs already, or the thread is already one of its workers.
    NotRunning,      ///< The scheduler does not run.
    TooManyThreads   ///< SchedulerOptions::maxAttached threads are attached already.
};

/// What a worker does when it finds no work.
enum class IdlePolicy : uint8_t {
    /// It searches for up to 100 microseconds, then sleeps until it is woken. It does not search
    /// while it is on the CPU of the thread that woke it.
    Balanced,
    Spin,  ///< It searches all the time: lowest latency, but each worker occupies a whole core.
    Sleep  ///< It sleeps at once.
};

/// Workers that belong together: cores of one kind, a NUMA node, or threads of a lower priority in
/// the system.
///
/// TaskOptions::group says which group may run a task. If it is kAnyGroup, the task has the group
/// of the task that submits it. A task that gets no group in this way is in no group: any group
/// that is not namedOnly may run it, and so may attached threads. If a group has `runsLow`, only
/// such groups, and attached threads, run Low tasks that are in no group.
struct WorkerGroup {
    /// The name of the group's threads, instead of SchedulerOptions::threadName. Must outlive the
    /// scheduler.
    const char *name = nullptr;
    /// Number of workers, at least 1. Their indices follow those of the group before.
    uint32_t workers = 0;
    /// Added to SchedulerOptions::threadNice for the group's threads. -20 to 19.
    int32_t nice = 0;
    /// The CPUs that the group's threads may use. The system may grant only some of them. Bit 0 of
    /// word 0 is CPU 0. Null = as SchedulerOptions::affinity says.
    const uint64_t *cpus = nullptr;
    /// Number of 64-bit words in `cpus`, 1 to 1024.
    uint32_t cpuWords = 0;
    /// True: of the tasks that are in no group, the group runs at most Low ones (`runsLow`). Must
    /// be false for the first group.
    bool namedOnly = false;
    /// True: the group runs Low tasks that are in no group. If this is true for some groups, the
    /// others run no such tasks. TaskScheduler::SetRunsLow changes it during a run.
    bool runsLow = false;
};

/// All options of a scheduler. Run and Start check them.
struct SchedulerOptions {
    /// The size of this struct, set by the compiler. Newer libraries can read older structs by it.
    uint32_t structBytes = sizeof(SchedulerOptions);
    /// Number of threads that run tasks, with the caller of Run: 1 to 1024, for Start also 0.
    /// kAnyWorker = the value of the environment variable WEFT_WORKERS; if it is not set, one for
    /// each usable CPU, or fewer if a container limits the CPU time (include/weft/README.md).
    uint32_t workers = kAnyWorker;
    /// Number of threads that may be attached at the same time (AttachThread), 1 to 1024.
    uint32_t maxAttached = 8;
    /// Groups of workers. The sum of their workers must be `workers`. Null = one group. Run and
    /// Start copy them.
    const WorkerGroup *groups = nullptr;
    /// Number of `groups`, up to 8.
    uint32_t groupCount = 0;
    /// Number of tasks that can run or wait at the same time, up to 1,000,000. 0 = 160, or 18 for
    /// each worker if that is more.
    uint32_t fibers = 0;
    /// Stack size of a task, at least 16 KiB. weft maps twice as much, so that a waiting task can
    /// run another one on top of its own frames. Pages that are never touched take no memory (on
    /// Windows they count as committed).
    size_t stackBytes = 512 << 10;
    /// Stack size of a worker thread, at least 64 KiB. Tasks never run on this stack.
    size_t threadStackBytes = 512 << 10;
    /// What a worker does when it finds no work.
    IdlePolicy idle = IdlePolicy::Balanced;
    /// The CPUs that the threads of weft may use.
    Affinity affinity;
    /// The threads of weft get this name, followed by their index. The system shows at most 15
    /// bytes. Null = no name. Must outlive the scheduler.
    const char *threadName = "weft";
    /// Added to the nice value of the threads of weft: -20 (runs first) to 19 (runs last). 0 = that
    /// of the caller.
    int32_t threadNice = 0;
    /// The time slice of the threads of weft, in microseconds: the CPU time that they take at once
    /// while other threads want the CPU. A woken worker goes before a thread with a longer slice.
    /// 100 to 100,000; 0 = that of the caller. Needs Linux 6.12 or newer, otherwise it is ignored.
    uint32_t threadSliceMicroseconds = 500;
    /// Functions that provide memory.
    MemoryHooks memory;
    /// Functions that are called on each worker thread.
    ThreadHooks threads;
    /// A function that is called with each event of tasks, fibers and workers.
    TraceHooks trace;
    /// Records these events (weft/trace/recorder.h). Null = none. Must outlive the run.
    Recorder *recorder = nullptr;
    /// True: weft installs a handler for SIGSEGV and SIGBUS that names the task whose stack has
    /// overflowed, and then calls the handler that was installed before.
    bool reportStackOverflow = false;
    /// Receives all reports, on any thread. A worker must not wait in it. Null = weft prints one
    /// line to stderr.
    void (*onReport)(const Report &report, void *user) = nullptr;
    /// Passed to onReport.
    void *user = nullptr;
    /// How long external threads may still submit and wait after Stop was called, or after the main
    /// task of Run has returned. Then their calls are refused (RunEnding), and EndDelayed names
    /// what the end waits for. Up to 60,000.
    uint32_t stopGraceMilliseconds = 1000;
    /// A stall (OutOfFibers, Stalled) is reported when it has lasted for this time. 1 to 60,000.
    uint32_t stallMilliseconds = 500;
    /// weft reports NoProgress, once a run, if no task ends for this time while tasks are pending
    /// and a worker or attached thread is awake. The usual cause is a task that runs for too long
    /// or blocks its thread. A separate thread checks every quarter of this time. 1 to 600,000;
    /// 0 = no check.
    uint32_t watchdogMilliseconds = 0;
    /// True: weft remembers which tasks hold a Mutex or SharedMutex. Stalled and DescribeWaiters
    /// (weft/inspect.h) then name these tasks, and find their deadlocks. So does `weft why` in a
    /// debugger, and recordings have events of locks. While such a scheduler runs, each call that
    /// locks or unlocks one in the process does more work.
    bool lockHolders = false;
    /// True: after each wait for a counter, a lock or a time, a task continues on another worker,
    /// if one takes it within ten milliseconds. For tests: finds code that uses the address of a
    /// thread_local variable, or holds a std::mutex, across a wait. Ignores pinned tasks, attached
    /// threads, and waits with ResumeOn::SameWorker or Meanwhile.
    bool migrateAfterWait = false;
    /// For tests (weft/testing/explore_orders.h): the random seed of all choices of the scheduler.
    /// The same number gives the same order of all tasks, another number gives another order. Needs
    /// `workers` = 0. Makes time virtual. 0 = off: the usual order.
    uint64_t order = 0;
    /// Measures how much stack tasks use (weft/trace/stack_meter.h). Null = off. Must outlive the
    /// run.
    StackMeter *stackMeter = nullptr;
    /// True: weft makes no threads for the workers. The host's threads run them with RunWorker.
    /// weft does not change the name, the nice value, the time slice or the CPUs of such a thread;
    /// the options for these are ignored. `watchdogMilliseconds` and BlockingCalls still make
    /// threads.
    bool hostThreads = false;
    /// Run and Start allocate so much that no later call allocates while at most this many tasks
    /// are pending. A task is pending from the call that submits it until it has finished. Each
    /// call of a thread that is no worker counts as one more, and so does each counter but the
    /// first for which a task waits. samples/host_threads/README.md says what still allocates. Up
    /// to 65,536. With 1,024 it takes about 72 KiB more for each worker and each of maxAttached
    /// threads, and 3 MiB for the pools of all. 0 = queues and pools begin small, and grow.
    uint32_t pendingTasks = 0;
};

namespace internal {

/// Sets the bits of the CPUs that the process may use: bit 0 of word 0 is CPU 0. Returns their
/// number, or 0 if they are unknown. Linux only.
WEFT_API uint32_t ReadUsableCpus(uint64_t *mask, uint32_t words) noexcept;

}  // namespace internal

}  // namespace weft
