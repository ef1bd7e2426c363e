// A task is a C function and a pointer.
//
//     void Double(weft::TaskScheduler *, void *arg) { *static_cast<int *>(arg) *= 2; }
//
//     int values[2] = {20, 21};
//     weft::Task tasks[2] = {{Double, &values[0]}, {Double, &values[1]}};
//     scheduler->AddTasksAndWait(2, tasks);              // values is {40, 42}
#pragma once

#include <cstdint>

namespace weft {

class TaskScheduler;

/// What a task runs: the scheduler that runs it, and the argument it was submitted with.
using TaskFunction = void (*)(TaskScheduler *scheduler, void *arg);

/// One unit of work. Submitting copies it; what `arg` points to must live until the task has
/// finished.
struct Task {
    TaskFunction function;
    void *arg;
};

/// What goes first: no worker begins a lower task while it could begin a High one, wherever that
/// was submitted. Tasks that a task waits for have its priority if that is the higher one. No
/// priority starves: what has waited for longer than SchedulerOptions::agingMilliseconds gets a
/// sixth of the time.
enum class Priority : uint8_t { High, Normal, Low };

/// Which kind of fiber stack a task needs: SchedulerOptions::smallStackBytes or ::largeStackBytes.
enum class StackClass : uint8_t { Small, Large };

/// Which worker may continue a fiber after a wait.
enum class ResumeOn : uint8_t { AnyWorker, SameWorker };

/// What a thread does while one of its tasks waits.
///
/// NormalOrHigher and HighOnly limit which tasks the thread begins, and which it continues after a
/// wait. A task that has begun and is pinned to the thread continues whatever its priority. If the
/// mode allows the waiter's own priority, the waiter may run tasks of its counter itself, also
/// lower ones. These have its priority then.
enum class Meanwhile : uint8_t {
    AnyTask,         ///< it runs whatever is next
    NormalOrHigher,  ///< it runs no Low task
    HighOnly,        ///< it runs no Low and no Normal task
    /// It runs only tasks of the awaited counter, tasks of counters that these tasks wait for, and
    /// so on
    OwnTasks,
    /// It sleeps. Others may take the tasks in its queues. Tasks that are pinned to it begin or
    /// continue after the wait
    Nothing
};

/// "Any worker" in options; "not a worker" as an answer.
inline constexpr uint32_t kAnyWorker = ~0u;

/// How one submission is to be run.
struct TaskOptions {
    Priority priority = Priority::Normal;
    StackClass stack = StackClass::Small;
    /// The only worker that may run it, from its start to its end, waits included
    uint32_t worker = kAnyWorker;
    /// Shown in reports; must live until the run is over (a string literal does)
    const char *name = nullptr;
    /// Groups that may run the task: bit i for SchedulerOptions::groups[i]. 0 = the groups of the
    uint8_t groups = 0;
    ///< task that submits it; if no task submits it, see WorkerGroup. Must be 0 if `worker` is
    ///< given
};

/// The task that calls `callable(TaskScheduler *)`. It refers and never copies: the callable must
/// outlive the wait.
template <class F>
Task MakeTask(F &callable) {
    return Task{[](TaskScheduler *scheduler, void *arg) { (*static_cast<F *>(arg))(scheduler); },
                const_cast<void *>(static_cast<const void *>(&callable))};
}

}  // namespace weft
