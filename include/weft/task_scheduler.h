// The scheduler: runs tasks on a fixed pool of fibers and a fixed set of worker threads.
//
//     #include <weft/task_scheduler.h>
//
//     void Hello(weft::TaskScheduler *, void *arg) {
//         std::printf("hello from task %d\n", *static_cast<int *>(arg));
//     }
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         int numbers[3] = {1, 2, 3};
//         weft::Task tasks[3] = {{Hello, &numbers[0]}, {Hello, &numbers[1]}, {Hello, &numbers[2]}};
//         weft::Counter counter;
//         scheduler->AddTasks(3, tasks, &counter);
//         scheduler->WaitForCounter(&counter);
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/options.h"
#include "weft/task.h"
#include "weft/version.h"

#if defined(_WIN32)
#undef Yield  // an empty macro of <windows.h>, which must be included before this header
#endif

namespace weft {

class TaskScheduler;

namespace internal {
struct EntryGate;

/// A scheduling point between two pieces of a task's work: lets other work go first if it is due.
/// Returns true if it did. The task may then be on another worker. Does nothing on a thread that
/// runs no task, and where waits are not allowed.
WEFT_API bool PassPoint(TaskScheduler &scheduler) noexcept;

/// Call it in place of a wait that has nothing to wait for: reports WaitInScope in a scope of
/// NoSuspend. `call`: the name of the public call. Does nothing on a thread that runs no task.
WEFT_API void NoteWait(TaskScheduler &scheduler, const char *call) noexcept;
}  // namespace internal

/// Runs tasks on fibers.
///
/// The *workers* of a scheduler are the threads that Run or Start creates, and the caller of Run. A
/// thread is *attached* between AttachThread and DetachThread. All other threads are *external
/// threads*. A *run* lasts from the call of Run or Start until its end.
///
/// All calls except Run, Start and the queries require that the scheduler runs. The queries are
/// Current, CurrentWorker, CurrentFiber, CurrentTask, WorkerCount, MaxConcurrency and PollCounter.
/// No call throws. An error is
/// reported through SchedulerOptions::onReport. The call then has no effect: a submission
/// increments no counter, and a wait returns at once (except after NoWorkers).
///
/// In a child process that was forked during a run there are no workers. Each call by the thread
/// that forked is an error there (Forked), also in a task and on an attached thread; the queries
/// still work. A task that returns there ends the child process.
class WEFT_API TaskScheduler {
public:
    /// Copies the options. Cannot fail: Run and Start check the options.
    explicit TaskScheduler(const SchedulerOptions &options = {}) noexcept;
    /// Calls Stop if Start was called and Stop was not. Must not be called by a task or an attached
    /// thread, or while Run runs.
    ~TaskScheduler();
    TaskScheduler(const TaskScheduler &) = delete;
    TaskScheduler &operator=(const TaskScheduler &) = delete;

    /// Runs `main` as a task, with the calling thread as worker 0.
    ///
    /// Creates the other threads and the fibers. Returns on the calling thread when `main` has
    /// returned, no task is pending, no external thread waits in a call, and every attached thread
    /// has detached. TaskOptions::worker may be kAnyWorker, or 0: then the main task stays on the
    /// calling thread.
    ///
    /// Returns a Status other than Ok if `main` did not run. Run may be called again after it has
    /// returned. A task of another scheduler may call it.
    Status Run(TaskFunction main, void *arg = nullptr,
               const TaskOptions &options = {Priority::Normal, kAnyWorker, "main"}) noexcept;

    /// Creates threads and fibers and returns, for a host that keeps its main loop.
    ///
    /// Unless SchedulerOptions::hostThreads is set, weft makes the threads of all workers. The
    /// caller is an external thread, and may attach. With `workers` = 0 there are no workers, and
    /// only one thread may be attached. It runs the tasks while it waits, always in the same order.
    /// Returns a Status other than Ok if the scheduler did not start.
    Status Start() noexcept;

    /// Runs worker `index` on the calling thread until the run ends, then returns Ok. For
    /// SchedulerOptions::hostThreads.
    ///
    /// Each worker needs one call of RunWorker, on a thread of its own: after Start, one for each
    /// of 0 to WorkerCount() - 1; while Run runs, from 1 on, because the caller of Run is worker 0.
    /// A worker without a thread runs no tasks, and tasks that are pinned to it wait.
    ///
    /// Returns NotRunning without a report if the scheduler does not run, because it may end at any
    /// time. Returns BadOption if hostThreads is false or there is no such worker. Returns
    /// AlreadyRunning if another thread runs the worker, or the caller is a worker of this
    /// scheduler. Both are reported (BadOption). Thread-safe.
    Status RunWorker(uint32_t index) noexcept;

    /// Ends the run that Start began.
    ///
    /// Returns when no task is pending, no other thread waits in a call, and every attached thread
    /// has detached. With SchedulerOptions::hostThreads every thread has then left RunWorker; and
    /// if some worker has no thread, the caller of Stop runs it until the end. After
    /// stopGraceMilliseconds the report EndDelayed names what Stop still waits for. StopFor
    /// (weft/time.h) withdraws tasks that have not begun because they wait for a time or a counter.
    /// Must not be called by a task or an attached thread (WrongThread), or in onReport (InHook).
    /// Call it once for each Start (NotRunning).
    void Stop() noexcept;

    /// Attaches the calling thread: from now on it runs tasks while it waits or yields.
    ///
    /// The thread gets the next free index from WorkerCount() on, which may be used as
    /// TaskOptions::worker. Returns AlreadyRunning if the thread is a worker of this scheduler or
    /// is attached to it already; NotRunning, TooManyThreads or OutOfMemory; or BadOption if there
    /// are no workers and another thread is attached.
    ///
    /// A task of another scheduler may attach its thread to this one. It must not wait in its own
    /// scheduler before it has detached. A thread that is attached to several schedulers must
    /// detach from the last one first. Thread-safe while the scheduler runs.
    Status AttachThread() noexcept;

    /// Detaches the calling thread, after it has run all tasks that are pinned to it or lie in its
    /// queues.
    ///
    /// Tasks that run on the thread meanwhile may pin more tasks to it; these also run. Other
    /// threads can pin no more tasks to it once the call has begun (BadOption). Only an attached
    /// thread may call it, outside of tasks (WrongThread).
    void DetachThread() noexcept;

    /// Submits one task. `counter`, if given, is incremented now and decremented when the task has
    /// finished. Errors are those of AddTasks. Thread-safe.
    void AddTask(Task task, Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks, and copies them. `counter`, if given, is increased by `count` now and
    /// decremented as each task has finished.
    ///
    /// If `count` is 0, nothing happens. The worker that submits usually begins the tasks in their
    /// order. Workers that steal tasks from it begin at the end of the batch.
    ///
    /// Submits nothing after a report: NullTask, BadOption, NotRunning, RunEnding, InHook,
    /// CounterOverflow, WrongScheduler. If there is no memory for the tasks, reports OutOfMemory
    /// and aborts. Thread-safe.
    void AddTasks(uint32_t count, const Task *tasks, Counter *counter = nullptr,
                  const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks that are parts of the calling task.
    ///
    /// The counter that counts the calling task is increased by `count` and counts the new tasks,
    /// too. So it reaches zero when the task, its child tasks and their child tasks have finished.
    /// For a wait for a value above zero, each child task counts as one. If no counter counts the
    /// calling task, no counter counts the new tasks. Only a task may call it; other threads get
    /// NotAWorker, hooks and onReport get InHook.
    void AddChildTasks(uint32_t count, const Task *tasks, const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks and waits until all of them and their child tasks have finished.
    /// Thread-safe. An external thread blocks in the operating system.
    void AddTasksAndWait(uint32_t count, const Task *tasks,
                         const TaskOptions &options = {}) noexcept;

    /// Blocks the calling fiber until `counter <= value`. The value only has to be reached once,
    /// even for a moment. If several tasks wait for 0, raise the counter again only after all of
    /// them have returned.
    ///
    /// While the fiber waits, its worker runs other tasks: first tasks of this counter, then
    /// others. `resume` says whether the task may continue on any worker or only on this one.
    ///
    /// Every wait is a scheduling point, even if the counter is low enough already. Before the task
    /// continues, the worker handles due deadlines and runs work of higher priority. It also runs
    /// work of the same priority that is pinned to it or that other threads have just submitted.
    ///
    /// After a wait for 0 the caller sees everything that the counted tasks wrote, and the counter
    /// may be destroyed or used again. A wait for a higher value can be late, because a worker may
    /// finish several tasks before it lowers their counter. Once such a wait has begun, each worker
    /// lowers the counter after its current task and after each later one. If the current task
    /// blocks its thread in the operating system, this is delayed. Call PrepareToBlock before such
    /// a blocking call.
    ///
    /// Returns at once after a report: NullCounter, NotRunning, RunEnding, InHook, WrongScheduler.
    /// Thread-safe. An external thread blocks in the operating system.
    void WaitForCounter(Counter *counter, uint32_t value = 0,
                        ResumeOn resume = ResumeOn::AnyWorker) noexcept;

    /// Like the other WaitForCounter, but until the wait ends the calling thread runs only what
    /// `meanwhile` allows. If that is not AnyTask, the task continues on the same thread.
    ///
    /// Use it on a thread that must not begin a long task. Use OwnTasks or Nothing also in code
    /// that holds a lock while it waits.
    ///
    /// With OwnTasks the thread runs only the tasks of the counter, the tasks of counters that
    /// these tasks wait for, and so on. This also holds for tasks that are pinned to the thread.
    /// All workers may wait with OwnTasks at the same time. Then each of them searches all queued
    /// tasks for those that its wait needs. If no other worker runs such a task, this thread begins
    /// it within 2 ms. With OwnTasks the wait handles only due deadlines as a scheduling point;
    /// with Nothing it is no scheduling point.
    ///
    /// Reports Stalled if no worker can run what the wait needs. Thread-safe. An external thread
    /// ignores `meanwhile` and blocks in the operating system.
    void WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value = 0) noexcept;

    /// Waits until each of `count` counters has been zero. Calls WaitForCounter for one after the
    /// other.
    void WaitForAll(uint32_t count, Counter *const *counters) noexcept;

    /// Waits until one of `count` counters is zero, and returns the index of the first one that
    /// was.
    ///
    /// `count` is 1 to 4,096. All counters must outlive the call. Returns `count` after a report.
    /// Thread-safe. An external thread blocks in the operating system.
    uint32_t WaitForAny(uint32_t count, Counter *const *counters) noexcept;

    /// Returns true if `counter <= value` now. Then the caller sees everything that the counted
    /// tasks wrote.
    ///
    /// Unlike Counter::Value, it first counts off the tasks that have finished on the calling
    /// worker. So it may be called in a loop until it returns true. Returns true for a null
    /// pointer, after a report (NullCounter). Thread-safe, also while the scheduler does not run.
    bool PollCounter(Counter *counter, uint32_t value = 0) noexcept;

    /// Increases a counter by `n`, for events that are not tasks. The counter can be at most
    /// 2^32 - 1.
    ///
    /// Returns false, after a report, if the counter is unchanged: NullCounter, NotRunning,
    /// CounterOverflow, WrongScheduler. Thread-safe while the scheduler runs.
    bool IncrementCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Decreases a counter by `n`. Workers continue the waiting tasks, never the caller. A
    /// decrement below zero is reported (CounterUnderflow) and has no effect. Thread-safe while the
    /// scheduler runs.
    void DecrementCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Waits until, at some moment during the call, no task is pending, except tasks that are in
    /// WaitIdle themselves. Thread-safe. An external thread blocks in the operating system.
    void WaitIdle() noexcept;

    /// Runs tasks that are pinned to the calling thread and can begin or continue now, at most
    /// `max`, and returns how many it ran. A task that continues counts as one. For the message
    /// pump of a thread that owns a window. Only tasks and attached threads may call it
    /// (NotAWorker).
    uint32_t RunPinnedTasks(uint32_t max = ~0u) noexcept;

    /// Keeps only the first `count` workers active, to save power or when the program is in the
    /// background.
    ///
    /// `count` is 1 to WorkerCount() (BadOption). The other workers sleep, and run only what is
    /// pinned to them. The first worker of each group stays active. The call has effect until the
    /// next call or the end of the run. Attached threads do not count. Thread-safe while the
    /// scheduler runs.
    void SetActiveWorkers(uint32_t count) noexcept;

    /// Changes WorkerGroup::runsLow of SchedulerOptions::groups[group], until the run ends.
    ///
    /// If it is false for all groups, Low tasks that are in no group run where other tasks that are
    /// in no group run. To move them, set the new group first. A Low task that has begun in another
    /// group continues there until it waits or ends. If there is no such group, reports BadOption
    /// and has no effect. Thread-safe while the scheduler runs.
    void SetRunsLow(uint32_t group, bool runsLow) noexcept;

    /// Prepares the calling task to block its thread in the operating system.
    ///
    /// Other workers can then take the tasks that this worker has claimed and not begun, and the
    /// tasks that have finished on it are counted off. Costs next to nothing if there are no such
    /// tasks. Has no effect on a thread that runs no task of this scheduler.
    void PrepareToBlock() noexcept;

    /// Changes the priority of the calling task. From now on its waits have this priority, and so
    /// has the task when it continues.
    ///
    /// The tasks that it submits have the priority of their TaskOptions. Only tasks and attached
    /// threads may call it (NotAWorker). An attached thread keeps the priority until it changes it
    /// again.
    void SetPriority(Priority priority) noexcept;

    /// Lets other work run first.
    ///
    /// The calling fiber moves behind all ready fibers. If no ready fiber has a higher priority
    /// than the caller, one task that has not begun runs first, whatever its priority is. Then the
    /// ready fibers run in the order of their priorities. Only tasks and attached threads may call
    /// it (NotAWorker).
    void Yield() noexcept;

    /// Returns the scheduler of the calling task, or the one to which the calling thread is
    /// attached; or null.
    static TaskScheduler *Current() noexcept;

    /// Returns the index of the calling worker or attached thread, or kAnyWorker.
    ///
    /// Workers have the indices 0 to WorkerCount() - 1, attached threads those that follow. For a
    /// task that is not pinned, the index may change in each wait.
    uint32_t CurrentWorker() const noexcept;

    /// Returns the index of the calling fiber, which is that of a task or of an attached thread; or
    /// kAnyWorker. It does not change while a task lives.
    uint32_t CurrentFiber() const noexcept;

    /// Returns the number of the calling task, as its events have it (TraceEvent::taskId). No two
    /// tasks of a run have the same number.
    ///
    /// Tasks have numbers only if the scheduler has a trace hook or a recorder, because numbers
    /// cost time. Otherwise returns 0. Also returns 0 in the main task of Run, outside of tasks,
    /// and on a thread that runs no task of this scheduler. A coroutine is another task after each
    /// wait.
    uint64_t CurrentTask() const noexcept;

    /// Returns the number of workers that Run or Start uses, without attached threads. If
    /// SchedulerOptions::workers is kAnyWorker and the scheduler does not run, asks the system.
    uint32_t WorkerCount() const noexcept;

    /// Returns the largest number of threads that can run tasks at the same time: the workers, and
    /// as many threads as may be attached (SchedulerOptions::maxAttached).
    ///
    /// CurrentWorker is always lower, so this is the size of an array with an element for each
    /// thread that runs tasks. While the scheduler does not run, returns what a run that began now
    /// would have. Without workers it is 1, because only one thread may be attached. Thread-safe.
    uint32_t MaxConcurrency() const noexcept;

private:
    friend struct internal::EntryGate;
    // the size never changes, so that a program can use another version of the library
    alignas(64) unsigned char m_storage[1024];
};

}  // namespace weft
