// Submits tasks. The options and the tasks have been checked.
#pragma once

#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

/// Raises the counter, and makes the tasks visible. Returns false, after a report, if the counter
/// refuses that; then nothing was submitted. `worker`: the caller's, or null for an external
/// thread.
bool Submit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
            Counter *counter, const TaskOptions &options) noexcept;

/// The first half of Submit: raises the counter, if it is not null, and counts the tasks as
/// submitted. Call CountInGroup before.
bool CountTasks(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *counter,
                const TaskOptions &options) noexcept;

/// Makes tasks visible. The caller has raised their counter, and counted them as submitted.
void Enqueue(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
             const TasksOf &of, Level level, uint32_t onWorker, uint32_t number = 0) noexcept;

/// Bind: call it before pinned tasks are submitted, or waits begin that must end on this worker.
/// Unbind: some of them are over. An attached thread detaches only when none is left. Bind returns
/// false if the thread is not attached, or if it is detaching and is not the caller. For a worker
/// that is no attached thread it does nothing, and returns true.
bool Bind(Scheduler &scheduler, const Worker *caller, Worker &target, uint32_t count) noexcept;
void Unbind(Scheduler &scheduler, Worker *caller, Worker &target, uint32_t count) noexcept;

/// Submits one task that is neither pinned nor traced.
WEFT_FORCEINLINE void SubmitOne(Worker &worker, const Task &task, Counter *counter,
                                const TaskOptions &options) noexcept {
    if (counter != nullptr && !Raise(*worker.scheduler, &worker, *counter, 1)) return;
    race::Submitted(1, &task);
    AddTo(worker.submitted, 1, kRelaxed);
    PushEntry(worker, LevelOf(*worker.scheduler, &worker, options),
              Entry::Of(task, TasksWith(&worker, counter, options)));
}

}  // namespace weft::internal
