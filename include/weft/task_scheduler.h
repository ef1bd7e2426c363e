// A fixed pool of fibers on a fixed set of worker threads.
//
//     #include <weft/task_scheduler.h>
//
//     void Hello(weft::TaskScheduler *, void *arg) { std::printf("hello from task %d\n", *static_cast<int *>(arg)); }
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
#include "weft/options.h"
#include "weft/task.h"

#include <atomic>

namespace weft {

namespace internal {
struct Scheduler;
}

/// Runs tasks on fibers. No call throws. Wrong use is reported through SchedulerOptions::onReport, and then has no effect.
class TaskScheduler {
public:
    /// Copies the options and cannot fail; they are checked by Run.
    explicit TaskScheduler(const SchedulerOptions &options = {}) noexcept;
    ~TaskScheduler();
    TaskScheduler(const TaskScheduler &) = delete;
    TaskScheduler &operator=(const TaskScheduler &) = delete;

    /// Acquires threads and fibers, runs `main` as a task with the caller as worker 0, and returns on the calling
    /// thread when `main` has returned and nothing is pending. May be called again afterwards, and from a task of
    /// another scheduler.
    Status Run(TaskFunction main, void *arg = nullptr,
               const TaskOptions &options = {Priority::Normal, StackClass::Large, "main"}) noexcept;

    /// Submits one task; `counter`, if given, rises by one now and falls by one when the task has finished. Tasks only.
    void AddTask(Task task, Counter *counter = nullptr, const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks, which are copied; `counter`, if given, rises by `count`. Tasks only.
    void AddTasks(uint32_t count, const Task *tasks, Counter *counter = nullptr,
                  const TaskOptions &options = {}) noexcept;

    /// Submits `count` tasks and returns when all have finished. Tasks only.
    void AddTasksAndWait(uint32_t count, const Task *tasks, const TaskOptions &options = {}) noexcept;

    /// Returns once the counter is at or below `value`, even if it rises again right after. The fiber waits, the worker
    /// goes on with other tasks. After a wait for 0 all that the counted tasks wrote is visible, and the counter may be
    /// destroyed or used again. Tasks only.
    void WaitForCounter(Counter *counter, uint32_t value = 0, Resume resume = Resume::AnyWorker) noexcept;

    /// Raises a counter by hand, for events that are not tasks. `n` from 0 to 2^32 - 1 in all. Any thread, while Run runs.
    void AddToCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Lowers a counter by hand. Whoever it makes ready is resumed by a worker, never by the caller. Any thread, while
    /// Run runs. A decrement below zero is reported and has no effect.
    void DecrementCounter(Counter *counter, uint32_t n = 1) noexcept;

    /// Lets other ready work go first: the fiber goes to the back of the ready lane. Tasks only.
    void Yield() noexcept;

    /// The scheduler whose task is calling, or null.
    static TaskScheduler *Current() noexcept;

    /// Index of the calling worker, 0 to WorkerCount() - 1, or kAnyWorker. May change across any wait.
    uint32_t CurrentWorker() const noexcept;

    /// Index of the calling task's fiber, or kAnyWorker. Constant for the life of a task.
    uint32_t CurrentFiber() const noexcept;

    /// How many workers Run uses. The default option is answered as one per usable CPU.
    uint32_t WorkerCount() const noexcept;

private:
    friend struct internal::Scheduler;
    SchedulerOptions m_options;
    std::atomic<bool> m_running{false};
    std::atomic<internal::Scheduler *> m_scheduler{nullptr};  // set while Run runs
    WEFT_COUNTER_WORD m_inside{0};                            // threads inside a call that are no workers
};

}  // namespace weft
