// Submits tasks of a worker: divides large batches into slices, and puts entries into its lanes.
#include "scheduler/submit/submit.h"

#include "scheduler/state/group_of_tasks.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

namespace {

// Returns the number of tasks in a slice. Every worker should be able to get four slices. But
// claiming a slice must not cost more than its tasks, and there must not be so many slices that all
// workers contend for this deque. They can get tasks from each other instead. The size bounds what
// one steal takes. It does not bound what a worker keeps from others: a worker that takes a slice
// puts everything back that the rule of find/claim.h does not allow it to claim.
uint32_t SliceSize(const Scheduler &scheduler, uint32_t count) noexcept {
    constexpr uint32_t kWorthIt = 32;
    if (WEFT_UNLIKELY(scheduler.order.isOn)) return 1;  // each task may be the next one
    const uint32_t workers = std::max(scheduler.workerCount, 1u);
    const uint32_t size =
        std::max(count / (4 * workers), std::min(count / std::min(workers, 8u), kWorthIt));
    return std::clamp<uint32_t>(size, 1, TaskSlab::kMaxRun);
}

// Copies the tasks to the worker's slab, and stages an entry for each slice.
void StageSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                 const Task *tasks, uint32_t sliceSize, TaskCounter counter, Label label) noexcept {
    // Unique among all batches of the scheduler, and never 0.
    const uint64_t batch =
        (++worker->batches * worker->scheduler->slotCount + worker->index) & TaskEntry::kMaxBatch;
    uint32_t entries = (count + sliceSize - 1) / sliceSize;
    for (uint32_t begin = 0; begin < count; begin += sliceSize) {
        const uint32_t size = std::min(sliceSize, count - begin);
        Task *copy = worker->slab.Take(size);
        if (WEFT_UNLIKELY(copy == nullptr)) OutOfMemory(*worker->scheduler, count);
        const race::Unwatched unwatched;
        std::memcpy(copy, tasks + begin, size * sizeof(Task));
        lane.Stage(--entries,
                   TaskEntry::Slice(copy, size, batch, counter, label.name, label.Stack())
                       .WithId(label.taskId != 0 ? label.taskId + begin : 0));
    }
}

}  // namespace

void PrepareSet(Worker *worker, uint32_t set, uint32_t count) noexcept {
    if (!AcquireSet(*worker, set)) OutOfMemory(*worker->scheduler, count);
    LookAtRuns(worker);
}

void ShowNewestLane(Worker *worker) noexcept {
    ShowLane(worker, worker->newestLane);
    if (ClassOf(worker->newestLane) == StackClass::Large) CountLarge(*worker->scheduler);
}

void EnqueueSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                   const Task *tasks, TaskCounter counter, Label label) noexcept {
    const uint32_t sliceSize = SliceSize(*worker->scheduler, count);
    // With pendingTasks, such a batch must not make the slab grow. A few tasks may keep all blocks
    // in use, but the lane has room for an entry for each task.
    if (WEFT_UNLIKELY(count <= worker->scheduler->options.pendingTasks) &&
        !worker->slab.HasRoom(count, sliceSize))
        return EnqueueSingles(worker, lane, count, tasks, counter, label);
    const uint32_t slices = (count + sliceSize - 1) / sliceSize;
    if (WEFT_UNLIKELY(!lane.Reserve(slices))) OutOfMemory(*worker->scheduler, count);
    StageSlices(worker, lane, count, tasks, sliceSize, counter, label);
    lane.Publish(slices);
}

void Enqueue(Worker *worker, uint32_t count, const Task *tasks, TaskCounter counter,
             Label label) noexcept {
    EnqueueHere(worker, count, tasks, counter, label);
}

void PushEntry(Worker *worker, uint32_t lane, const TaskEntry &entry) noexcept {
    const uint32_t set = LevelOf(lane).Set();
    if (WEFT_UNLIKELY((set != 0 && !AcquireSet(*worker, set)) ||
                      !worker->lanes[lane].Push(entry))) {
        ReportFatal(worker->scheduler->options, ReportCode::OutOfMemory,
                    "Give the process more memory, or submit less at once.",
                    "a worker's deque could not grow");
    }
    worker->mayHold |= uint64_t{1} << lane;
    ShowLane(worker, lane);
}

bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(options.worker != kAnyWorker)) {
        FlushPending(worker);
        return Post(*worker->scheduler, worker, count, tasks, counter, options);
    }
    if (!CountInGroup(worker->scheduler->options, options, counter)) return false;
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, count))) return false;
    Publish(worker, count, tasks, CounterOf(counter, options), LabelOf(worker, options));
    return true;
}

void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, 1))) return;
    Publish(worker, 1, &task, counter, LabelOf(worker, options));
}

}  // namespace weft::internal
