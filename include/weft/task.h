// A task is a C function and a pointer to its argument.
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
class TaskGroup;

/// The function of a task. `scheduler` is the scheduler that runs it, `arg` is Task::arg.
using TaskFunction = void (*)(TaskScheduler *scheduler, void *arg);

/// One unit of work. A submission copies it. The object at `arg` must live until the task has
/// finished.
struct Task {
    TaskFunction function;
    void *arg;
};

/// The priority of a task.
///
/// While a worker could begin a High task, it begins no other one, wherever the High task was
/// submitted. Tasks that a task waits for have the priority of the waiting task, if that is higher.
/// No priority starves: each one that has work gets at least an eighth of the workers' time. About
/// every millisecond a worker runs its oldest task of the highest priority next. That takes at most
/// a sixth of its time, or more if these tasks take longer than 0.8 ms.
enum class Priority : uint8_t { High, Normal, Low };

/// The workers that may continue a task after a wait.
enum class ResumeOn : uint8_t { AnyWorker, SameWorker };

/// What a thread does while one of its tasks waits.
///
/// NormalOrHigher and HighOnly limit which tasks the thread begins, and which it continues after a
/// wait. A task that has begun and is pinned to the thread continues whatever its priority is. If
/// the mode allows the priority of the waiting task, this task may itself run tasks of its counter,
/// also lower ones. These then have its priority.
enum class Meanwhile : uint8_t {
    AnyTask,         ///< The thread runs any task.
    NormalOrHigher,  ///< The thread runs no Low task.
    HighOnly,        ///< The thread runs no Low and no Normal task.
    /// The thread runs only tasks of the awaited counter, tasks of counters that these tasks wait
    /// for, and so on.
    OwnTasks,
    /// The thread sleeps. Other workers may take the tasks in its queues. Tasks that are pinned to
    /// it begin or continue after the wait.
    Nothing
};

/// In options: any worker. As a result: no worker.
inline constexpr uint32_t kAnyWorker = ~0u;
/// In options: the group of the task that submits, or no group.
inline constexpr uint8_t kAnyGroup = 0xff;

/// Options of one submission.
struct TaskOptions {
    Priority priority = Priority::Normal;
    /// Pins the task to one worker or attached thread: only this one begins it, and continues it
    /// after a wait.
    uint32_t worker = kAnyWorker;
    /// The name of the task in reports. The string must live until the run has ended, as a string
    /// literal does.
    const char *name = nullptr;
    /// The index in SchedulerOptions::groups of the group that may run the task. kAnyGroup = the
    /// group of the task that submits it; if no task submits it, see WorkerGroup. Objects that
    /// submit tasks later say what it means for them. Must be kAnyGroup if `worker` is given.
    uint8_t group = kAnyGroup;
    /// The task belongs to this group (weft/data/task_group.h), which counts it, and skips it if
    /// the group is cancelled before the task begins. Then the submission has no counter. Not for
    /// AddTasksAndWait and not for the main task (BadOption). Child tasks of a group's task belong
    /// to the group without it.
    TaskGroup *taskGroup = nullptr;
};

/// Returns a task that calls `callable(TaskScheduler *)`. The task refers to `callable` and does
/// not copy it, so `callable` must live until the task has finished.
template <class F>
Task MakeTask(F &callable) {
    return Task{[](TaskScheduler *scheduler, void *arg) { (*static_cast<F *>(arg))(scheduler); },
                const_cast<void *>(static_cast<const void *>(&callable))};
}

}  // namespace weft
