// Submits tasks of a worker: puts them into its own lanes. Some functions are inline because each
// submission takes this path, and tasks may be short.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

// Up to this number each task has an entry of its own, and is not copied to the slab.
inline constexpr uint32_t kMaxSingles = 16;

/// EnqueueHere for more tasks than that: copies them to the slab, and makes an entry for each
/// slice.
void EnqueueSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                   const Task *tasks, TaskCounter counter, Label label) noexcept;

/// Call it before the first `count` tasks of a set other than 0 go to the worker's lanes. Aborts,
/// after a report, if there is no memory.
void PrepareSet(Worker *worker, uint32_t set, uint32_t count) noexcept;

/// Call it after something was put into Worker::newestLane, unless that is the lane of Normal,
/// Small tasks of set 0. Shows the notices for it.
void ShowNewestLane(Worker *worker) noexcept;

/// Stages and publishes an entry for each task.
WEFT_FORCEINLINE void EnqueueSingles(Worker *worker, WorkStealingDeque<TaskEntry> &lane,
                                     uint32_t count, const Task *tasks, TaskCounter counter,
                                     Label label) noexcept {
    if (WEFT_UNLIKELY(!lane.Reserve(count))) OutOfMemory(*worker->scheduler, count);
    const auto stage = lane.Staging();
    for (uint32_t i = 0; i < count; ++i) {
        stage(count - 1 - i, TaskEntry::Single(tasks[i], counter, label.name, label.Stack())
                                 .WithId(label.taskId != 0 ? label.taskId + i : 0));
    }
    lane.Publish(count);
}

/// Makes tasks visible in the calling worker's lane. The counter and the scheduler count them
/// already. Wakes no worker. The first of several tasks is staged last: this worker takes it first,
/// and thieves begin at the end of the batch.
WEFT_FORCEINLINE void EnqueueHere(Worker *worker, uint32_t count, const Task *tasks,
                                  TaskCounter counter, Label label) noexcept {
    worker->newestLane = label.lane;
    worker->mayHold |= uint64_t{1} << worker->newestLane;
    if (WEFT_UNLIKELY(label.lane >= kPlainLanes)) PrepareSet(worker, label.TheLevel().Set(), count);
    WorkStealingDeque<TaskEntry> &lane = worker->lanes[worker->newestLane];
    if (count == 1) {
        const TaskEntry entry =
            TaskEntry::Single(*tasks, counter, label.name, label.Stack()).WithId(label.taskId);
        if (WEFT_UNLIKELY(!lane.Push(entry))) OutOfMemory(*worker->scheduler, count);
    } else if (WEFT_LIKELY(count <= kMaxSingles)) {
        EnqueueSingles(worker, lane, count, tasks, counter, label);
    } else {
        EnqueueSlices(worker, lane, count, tasks, counter, label);
    }
    if (WEFT_UNLIKELY(worker->newestLane != LaneOf(Priority::Normal, StackClass::Small)))
        ShowNewestLane(worker);
}

/// Submits tasks that the counter counts already, and that are not pinned. Wakes workers.
WEFT_FORCEINLINE void Publish(Worker *worker, uint32_t count, const Task *tasks,
                              TaskCounter counter, Label label) noexcept {
    // relaxed: published together with the tasks.
    worker->submitted.store(worker->submitted.load(kRelaxed) + count, kRelaxed);
    race::Submitted(count, tasks);
    if (IsTraced(*worker->scheduler))
        label.taskId = TraceSubmit(*worker->scheduler, worker, count, tasks, counter.Get(), label);
    EnqueueHere(worker, count, tasks, counter, label);
    if (WEFT_UNLIKELY(worker->scheduler->groupCount > 1)) {
        AskForRescue(worker, label.TheLevel());
        WakeForLevel(*worker->scheduler, worker, count, label.TheLevel(), counter.Get());
    } else {
        WakeForTasks(*worker->scheduler, worker, count, 0, counter.Get());
    }
}

/// EnqueueHere, not inlined.
void Enqueue(Worker *worker, uint32_t count, const Task *tasks, TaskCounter counter,
             Label label) noexcept;

/// Puts the entry at the newest end of the worker's own lane. Wakes no worker. Aborts, after a
/// report, if there is no memory.
void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept;

/// Raises `counter` by `count`, and makes copies of the tasks visible with one publication in the
/// calling worker's lane; tasks that are pinned go to their worker's inbox. The arguments have been
/// checked. Returns false, after a report, if the counter refused that; then nothing was submitted.
bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept;

/// Submit for one task that is not pinned and belongs to no group.
void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept;

}  // namespace weft::internal
