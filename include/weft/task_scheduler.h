// A fixed pool of fibers on a fixed set of worker threads.
//
//     #include <weft/task_scheduler.h>
//
//     void Hello(weft::TaskScheduler *, void *arg) { std::printf("hello from task %d\n",
//     *static_cast<int *>(arg)); }
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
#undef Yield  // a macro of <windows.h> that means nothing; include that before this
#endif

namespace weft {

namespace internal {
struct EntryGate;
}

/// Runs tasks on fibers. No call throws. Wrong use is reported through SchedulerOptions::onReport,
/// and then has no effect: what was submitted raises no counter, and a wait is over at once (but
/// one that nobody runs yet, NoWorkers). All but Run, Start, Current and the queries, while the
/// scheduler runs.
///
/// In a child process that was forked while it ran there are no workers. Each call by the thread
/// that forked is wrong use there (Forked), but for the queries, also in a task and on an attached
/// thread; and a task that returns there ends the child process.
class WEFT_API TaskScheduler {
public:
    /// Copies the options and cannot fail; they are checked by Run and Start.
    explicit TaskScheduler(const SchedulerOptions &options = {}) noexcept;
    /// Calls Stop, if Start was called and Stop was not. Not from a task or an attached thread, nor
    /// while Run runs.
    ~TaskScheduler();
    TaskScheduler(const TaskScheduler &) = delete;
    TaskScheduler &operator=(const TaskScheduler &) = delete;

    /// Acquires threads and fibers, runs `main` as a task with the caller as worker 0, and returns
    /// on the calling thread when `main` has returned and nothing is pending. May be called again
    /// afterwards, and from a task of another scheduler. TaskOptions::worker: 0 keeps the main task
    /// on the calling thread.
    Status Run(TaskFunction main, void *arg = nullptr,
               const TaskOptions &options = {Priority::Normal, StackClass::Large, kAnyWorker,
                                             "main"}) noexcept;

    /// For a host that keeps its main loop: acquires threads and fibers and returns. All workers
    /// are threads of weft; the caller submits and waits as any thread may, or attaches. With
    /// SchedulerOptions::workers = 0 there is no thread at all: the one thread that may attach runs
    /// the tasks while it waits, in an order that is always the same.
    Status Start() noexcept;

    /// Ends what Start began: returns when nothing is pending, no other thread waits in a call, and
    /// every attached thread has detached. Not from a task or an attached thread.
    void Stop() noexcept;

    /// Makes the calling thread a worker, with the next free index from WorkerCount(): it runs
    /// tasks while it waits or yields, and may be named in TaskOptions::worker. Any thread that is
    /// no worker of this scheduler, while it runs. A task of another scheduler may attach its
    /// thread to this one, and must not wait there before it has detached; of several schedulers
    /// the last one is to be detached from first.
    Status AttachThread() noexcept;

    /// Ends that, after running the tasks that are pinned to this thread or lie in its queues. What
    /// runs on the thread meanwhile may pin further tasks to it, which run too; from other threads
    /// such tasks are refused (BadOption) once it has begun. The attached thread only, outside of
    /// tasks.
    void DetachThread() noexcept;

    /// Submits one task; `counter`, if given, rises by one now and falls by one when the task has
    /// finished. Any thread.
    void AddTask(Task task, Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks (0: nothing happens), which are copied; `counter`, if given, rises by
    /// `count`. Any thread.
    ///
    /// The submitter's worker begins them in their order. Workers that steal from it begin at the
    /// end of the batch. A batch that has waited for longer than
    /// SchedulerOptions::agingMilliseconds is begun at its end by every worker.
    void AddTasks(uint32_t count, const Task *tasks, Counter *counter = nullptr,
                  const TaskOptions &options = {}) noexcept;

    /// Submits tasks that are parts of the calling task. The counter that counts this task rises by
    /// `count` and counts them, too. So it reaches zero when the task, these tasks and their own
    /// child tasks have finished. A wait for a value above zero counts each of them. If no counter
    /// counts the calling task, none counts the new tasks. Tasks only: a thread that runs no task
    /// is refused (NotAWorker), and so are hooks and onReport (InHook).
    void AddChildTasks(uint32_t count, const Task *tasks, const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks and returns when all of them and their child tasks have finished. Any
    /// thread; one that is no worker blocks.
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
    /// goes on, the worker handles due deadlines and runs work of higher priority. It also runs
    /// work of the same priority that is pinned to it or that other threads have just submitted.
    ///
    /// After a wait for 0 all that the counted tasks wrote is visible, and the counter may be
    /// destroyed or used again. A wait for a higher value can be late, because a worker may finish
    /// several tasks before it lowers their counter. Once such a wait has begun, each worker lowers
    /// the counter after its current task and after each later one. If the current task blocks its
    /// thread in the operating system, this is delayed. Call AboutToBlock in the task before such a
    /// blocking call. Thread-safe. A thread that is no worker blocks in the operating system.
    void WaitForCounter(Counter *counter, uint32_t value = 0,
                        ResumeOn resume = ResumeOn::AnyWorker) noexcept;

    /// Like the function above, but until the wait ends the calling thread runs only what
    /// `meanwhile` allows. If that is not AnyTask, the task continues on the same thread.
    ///
    /// Use it on a thread that must not begin a long task. With OwnTasks or Nothing, also use it in
    /// code that holds a lock while it waits. With OwnTasks the thread runs only the tasks of the
    /// counter, the tasks of counters that these tasks wait for, and so on. This also holds for
    /// tasks that are pinned to the thread. All workers may wait with OwnTasks at the same time.
    /// Then each of them searches all queued tasks for those that its wait needs. What no other
    /// worker runs this thread begins within 2 ms. With Nothing the wait is no scheduling point;
    /// with OwnTasks only due deadlines are handled there. Reports Stalled if no worker can run
    /// what the wait needs. Thread-safe. A thread that is no worker ignores `meanwhile` and blocks
    /// in the operating system.
    void WaitForCounter(Counter *counter, Meanwhile meanwhile, uint32_t value = 0) noexcept;

    /// Returns once each of `count` counters has been at zero. As WaitForCounter, one after the
    /// other.
    void WaitForAll(uint32_t count, Counter *const *counters) noexcept;

    /// Returns once one of `count` counters (1 to 4,096) is at zero, and which: the first that was.
    /// All of them must outlive the call. Returns `count` after a report. Any thread.
    uint32_t WaitForAny(uint32_t count, Counter *const *counters) noexcept;

    /// Whether the counter is at or below `value` now; if so, all that was counted is visible.
    /// Unlike Counter::Value it first lets the caller's own finished tasks count, so that it may be
    /// asked again and again. Of null, which is reported, it is true. Any thread, whether the
    /// scheduler runs or not.
    bool PollCounter(Counter *counter, uint32_t value = 0) noexcept;

    /// Raises a counter by hand, for events that are not tasks. `n` from 0 to 2^32 - 1 in all.
    /// False after a report: then the counter is as it was. Any thread, while the scheduler runs.
    bool IncrementCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Lowers a counter by hand. Whoever it makes ready is resumed by a worker, never by the
    /// caller. Any thread, while the scheduler runs. A decrement below zero is reported and has no
    /// effect.
    void DecrementCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Returns when, at some moment of the call, no task was pending but those that are in this
    /// call themselves. Any thread; one that is no worker blocks.
    void WaitIdle() noexcept;

    /// Runs what is pinned to the calling worker and can go on now, at most `max` tasks and resumed
    /// tasks, and returns how many. For the message pump of a thread that owns a window. Tasks and
    /// attached threads.
    uint32_t RunPinnedTasks(uint32_t max = ~0u) noexcept;

    /// Leaves only the first `count` workers (1 to WorkerCount()) at work, for heat or the
    /// background; the others sleep but for what is pinned to them. The first worker of each group
    /// stays at work. Lasts until the next call or the end of the run. Attached threads do not
    /// count. Any thread, while the scheduler runs.
    void SetActiveWorkers(uint32_t count) noexcept;

    /// Changes SchedulerOptions::lowGroups: from now on these groups run Low tasks that are in no
    /// groups.
    ///
    /// 0: they run where other tasks that are in no groups run. A Low task that has begun in
    /// another group continues there until it waits or ends. If a bit stands for no group, reports
    /// BadOption and has no effect. Thread-safe while the scheduler runs.
    void SetLowGroups(uint8_t groups) noexcept;

    /// Says that the calling task is about to block its thread in the operating system. Tasks that
    /// its worker has claimed and not begun become others', and what has finished counts. Costs
    /// nothing where there is no such thing. Has no effect on a thread that runs no task of this
    /// scheduler.
    void AboutToBlock() noexcept;

    /// Changes the calling task's own priority: from now on its waits have it, and so has the task
    /// when it goes on. What it submits has the priority that its options say. Tasks and attached
    /// threads; the latter keep it until they change it again.
    void SetPriority(Priority priority) noexcept;

    /// Lets other work run first. The calling fiber moves behind all ready fibers. If no ready
    /// fiber has a higher priority than the caller, one task that has not begun runs first,
    /// whatever its priority. Then the ready fibers run in the order of their priorities. Tasks and
    /// attached threads.
    void Yield() noexcept;

    /// The scheduler whose task is calling, or to which the calling thread is attached; or null.
    static TaskScheduler *Current() noexcept;

    /// Index of the calling worker, or kAnyWorker: 0 to WorkerCount() - 1, then attached threads.
    /// May change across any wait of a task that is not pinned.
    uint32_t CurrentWorker() const noexcept;

    /// Index of the calling task's fiber, or of the attached thread's own; or kAnyWorker. Constant
    /// for the life of a task.
    uint32_t CurrentFiber() const noexcept;

    /// How many workers Run or Start uses, attached threads not counted. The default option is
    /// answered as one per usable CPU.
    uint32_t WorkerCount() const noexcept;

private:
    friend struct internal::EntryGate;
    // its size never changes, so that libraries can be exchanged
    alignas(64) unsigned char m_storage[1024];
};

}  // namespace weft
