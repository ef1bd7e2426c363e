#include "scheduler/submit.h"

#include "platform/compiler.h"
#include "scheduler/claim.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/trace.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

namespace {

constexpr uint32_t kMaxSingles = 16;  // up to here one entry per task: no copy to the slab

}  // namespace

[[noreturn]] void OutOfMemory(const Scheduler &scheduler, uint32_t count) noexcept {
    ReportFatal(scheduler.options, ReportCode::OutOfMemory, "Give the process more memory, or submit less at once.",
                "no memory to queue %u tasks", count);
}

namespace {

// So small that every worker can get four, and no larger than the slab gives in one piece.
uint32_t SliceSize(const Scheduler &scheduler, uint32_t count) noexcept {
    return std::clamp<uint32_t>(count / (4 * std::max(scheduler.workerCount, 1u)), 1, TaskSlab::kMaxRun);
}

void StageSingles(WorkStealingDeque<TaskEntry> &lane, uint32_t count, const Task *tasks, Counter *counter,
                  const TaskOptions &options) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        lane.Stage(i, TaskEntry::Single(tasks[i], counter, options.name, options.stack));
    }
}

void StageSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count, const Task *tasks,
                 uint32_t sliceSize, Counter *counter, const TaskOptions &options) noexcept {
    // Unique among all batches of the scheduler, and never 0.
    const uint64_t batch = (++worker->batches * worker->scheduler->slotCount + worker->index) & TaskEntry::kMaxBatch;
    uint32_t entries = 0;
    for (uint32_t begin = 0; begin < count; begin += sliceSize) {
        const uint32_t size = std::min(sliceSize, count - begin);
        Task *copy = worker->slab.Take(size);
        if (WEFT_UNLIKELY(copy == nullptr)) OutOfMemory(*worker->scheduler, count);
        std::memcpy(copy, tasks + begin, size * sizeof(Task));
        lane.Stage(entries++, TaskEntry::Slice(copy, size, batch, counter, options.name, options.stack));
    }
}

}  // namespace

bool RaiseCounter(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    switch (scheduler.counters.Add(CounterAccess::Word(counter), n)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportCounterOfOther(scheduler, "Submission", counter);
            return false;
        default:
            ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                          "counter %p would pass 2^32 - 1", static_cast<void *>(&counter));
            return false;
    }
}

void Enqueue(Worker *worker, uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    WorkStealingDeque<TaskEntry> &lane = worker->lanes[static_cast<uint32_t>(options.priority)];
    const uint32_t sliceSize = count <= kMaxSingles ? 1 : SliceSize(scheduler, count);
    const uint32_t entries = sliceSize == 1 ? count : (count + sliceSize - 1) / sliceSize;
    if (WEFT_UNLIKELY(!lane.Reserve(entries))) OutOfMemory(scheduler, count);
    if (sliceSize == 1) {
        StageSingles(lane, count, tasks, counter, options);
    } else {
        StageSlices(worker, lane, count, tasks, sliceSize, counter, options);
    }
    lane.Publish(entries);
}

void TraceSubmit(Worker *worker, uint32_t count, const Counter *counter, const TaskOptions &options) noexcept {
    Trace(worker, &TraceHooks::submit, [&](TraceEvent &event) {
        event.count = count;
        event.task = options.name;
        event.counter = counter;
    });
}

namespace {

// Submit for one task that any worker may run: no slices to think of, which is most of what Submit costs then.
bool SubmitOne(Worker *worker, const Task &task, Counter *counter, const TaskOptions &options) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (counter != nullptr && WEFT_UNLIKELY(!RaiseCounter(scheduler, *counter, 1))) return false;
    worker->submitted.store(worker->submitted.load(kRelaxed) + 1, kRelaxed);  // as in Submit
    WorkStealingDeque<TaskEntry> &lane = worker->lanes[static_cast<uint32_t>(options.priority)];
    if (WEFT_UNLIKELY(!lane.Reserve(1))) OutOfMemory(scheduler, 1);
    lane.Stage(0, TaskEntry::Single(task, counter, options.name, options.stack));
    lane.Publish(1);
    WakeForTasks(scheduler, worker, 1);
    if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, 1, counter, options);
    return true;
}

}  // namespace

bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter, const TaskOptions &options) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    FlushPending(worker);
    if (WEFT_UNLIKELY(options.worker != kAnyWorker)) return Post(scheduler, worker, count, tasks, counter, options);
    if (count == 1) return SubmitOne(worker, tasks[0], counter, options);
    if (counter != nullptr && !RaiseCounter(scheduler, *counter, count)) return false;
    // relaxed: published below, together with the tasks.
    worker->submitted.store(worker->submitted.load(kRelaxed) + count, kRelaxed);
    Enqueue(worker, count, tasks, counter, options);
    WakeForTasks(scheduler, worker, count);
    if (WEFT_UNLIKELY(scheduler.trace != nullptr)) TraceSubmit(worker, count, counter, options);
    return true;
}

}  // namespace weft::internal
