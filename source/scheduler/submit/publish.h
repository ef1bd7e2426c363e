// From tasks to a lane of the calling worker. This is inline, because each submission takes this
// path and tasks may be short.
#pragma once

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

inline constexpr uint32_t kMaxSingles = 16;  // up to here one entry per task: no copy to the slab

/// More tasks than that: copies of them, a slice to an entry.
void EnqueueSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                   const Task *tasks, Counter *counter, Label label) noexcept;

/// Before the first `count` tasks of a set other than 0 come to the worker's lanes. Without memory:
/// fatal.
void PrepareSet(Worker *worker, uint32_t set, uint32_t count) noexcept;

/// Something was put into Worker::newestLane: tells of it, unless it is plain (Normal and Small).
void ShowNewestLane(Worker *worker) noexcept;

/// Makes tasks visible, of which counter and scheduler know already, in the calling worker's lane.
/// Wakes nobody. Of several the first is staged last: this worker takes it first, and thieves begin
/// at the batch's end.
WEFT_FORCEINLINE void EnqueueHere(Worker *worker, uint32_t count, const Task *tasks,
                                  Counter *counter, Label label) noexcept {
    worker->newestLane = label.lane;
    worker->mayHold |= uint64_t{1} << worker->newestLane;
    if (WEFT_UNLIKELY(label.lane >= kPlainLanes)) PrepareSet(worker, label.TheLevel().Set(), count);
    WorkStealingDeque<TaskEntry> &lane = worker->lanes[worker->newestLane];
    const auto single = [=, name = label.name, stack = label.Stack()](uint32_t i) {
        return TaskEntry::Single(tasks[i], counter, name, stack);
    };
    if (count == 1) {
        if (WEFT_UNLIKELY(!lane.Push(single(0)))) OutOfMemory(*worker->scheduler, count);
    } else if (WEFT_LIKELY(count <= kMaxSingles)) {
        if (WEFT_UNLIKELY(!lane.Reserve(count))) OutOfMemory(*worker->scheduler, count);
        const auto stage = lane.Staging();
        for (uint32_t i = 0; i < count; ++i) stage(count - 1 - i, single(i));
        lane.Publish(count);
    } else {
        EnqueueSlices(worker, lane, count, tasks, counter, label);
    }
    if (WEFT_UNLIKELY(worker->newestLane != LaneOf(Priority::Normal, StackClass::Small)))
        ShowNewestLane(worker);
}

/// Submits tasks that the counter counts already, and that are not pinned.
WEFT_FORCEINLINE void Publish(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
                              Label label) noexcept {
    // relaxed: published together with the tasks.
    worker->submitted.store(worker->submitted.load(kRelaxed) + count, kRelaxed);
    race::Submitted(count, tasks);
    EnqueueHere(worker, count, tasks, counter, label);
    if (WEFT_UNLIKELY(worker->scheduler->groupCount > 1)) {
        AskForRescue(worker, label.TheLevel());
        WakeForLevel(*worker->scheduler, worker, count, label.TheLevel());
    } else {
        WakeForTasks(*worker->scheduler, worker, count);
    }
    if (WEFT_UNLIKELY(worker->scheduler->trace != nullptr))
        TraceSubmit(worker, count, counter, label.name);
}

/// EnqueueHere (publish.h), called.
void Enqueue(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
             Label label) noexcept;

/// The entry goes to the newest end of the worker's own lane. Wakes nobody. Without memory: fatal.
void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept;

}  // namespace weft::internal
