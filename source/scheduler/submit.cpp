#include "scheduler/submit.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/claim.h"
#include "scheduler/post.h"
#include "scheduler/publish.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/rescue.h"
#include "scheduler/trace.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

[[noreturn]] void OutOfMemory(const Scheduler &scheduler, uint32_t count) noexcept {
    ReportFatal(scheduler.options, ReportCode::OutOfMemory,
                "Give the process more memory, or submit less at once.",
                "no memory to queue %u tasks", count);
}

namespace {

// So small that every worker can get four; but not so short that claiming them costs more than what
// is in them, nor so many that all workers queue up at this deque for theirs: they get the rest
// from each other. It bounds what one steal takes, not what a worker hides: whoever takes a slice
// puts back all but what the rule of claim.h allows.
uint32_t SliceSize(const Scheduler &scheduler, uint32_t count) noexcept {
    constexpr uint32_t kWorthIt = 32;
    const uint32_t workers = std::max(scheduler.workerCount, 1u);
    const uint32_t size =
        std::max(count / (4 * workers), std::min(count / std::min(workers, 8u), kWorthIt));
    return std::clamp<uint32_t>(size, 1, TaskSlab::kMaxRun);
}

void StageSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                 const Task *tasks, uint32_t sliceSize, Counter *counter, Label label) noexcept {
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
                   TaskEntry::Slice(copy, size, batch, counter, label.name, label.Stack()));
    }
}

}  // namespace

void ShowSpecialLane(Worker *worker, uint32_t lane) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (PriorityOf(lane) != Priority::Normal) ShowLevel(scheduler, LevelOf(lane));
    if (ClassOf(lane) == StackClass::Large) scheduler.notices.Show(Notices::kLargeWork);
}

void ShowLevel(Scheduler &scheduler, Level level) noexcept {
    // seq_cst: after the task was published, see groups.h. Attached threads look at the notices of
    // the first group.
    const uint32_t groups =
        scheduler.groupsOf[level.Index()].load(kSeqCst) & ((1u << kMaxGroups) - 1);
    scheduler.notices.Show(level.ThePriority() == Priority::High ? Notices::HighWorkOf(groups)
                                                                 : Notices::LowWorkOf(groups));
}

void PrepareSet(Worker *worker, uint32_t set, uint32_t count) noexcept {
    if (!AcquireSet(*worker, set)) OutOfMemory(*worker->scheduler, count);
    LookAtRuns(worker);
}

bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    switch (scheduler.counters.Add(CounterAccess::Word(counter), n)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "Submission", counter);
            return false;
        default:
            ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                          "counter %p would pass 2^32 - 1", static_cast<void *>(&counter));
            return false;
    }
}

void ShowNewestLane(Worker *worker) noexcept {
    ShowLane(worker, worker->newestLane);
    if (ClassOf(worker->newestLane) == StackClass::Large) CountLarge(*worker->scheduler);
}

void EnqueueSlices(Worker *worker, WorkStealingDeque<TaskEntry> &lane, uint32_t count,
                   const Task *tasks, Counter *counter, Label label) noexcept {
    const uint32_t sliceSize = SliceSize(*worker->scheduler, count);
    const uint32_t slices = (count + sliceSize - 1) / sliceSize;
    if (WEFT_UNLIKELY(!lane.Reserve(slices))) OutOfMemory(*worker->scheduler, count);
    StageSlices(worker, lane, count, tasks, sliceSize, counter, label);
    lane.Publish(slices);
}

void Enqueue(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
             Label label) noexcept {
    EnqueueHere(worker, count, tasks, counter, label);
}

void TraceSubmit(Worker *worker, uint32_t count, const Counter *counter,
                 const char *name) noexcept {
    Trace(worker, &TraceHooks::submit, [&](TraceEvent &event) {
        event.count = count;
        event.task = name;
        event.counter = counter;
    });
}

bool Submit(Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
            const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(options.worker != kAnyWorker)) {
        FlushPending(worker);
        return Post(*worker->scheduler, worker, count, tasks, counter, options);
    }
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, count))) return false;
    Publish(worker, count, tasks, counter, LabelOf(worker, options));
    return true;
}

void SubmitOne(Worker *worker, const Task &task, Counter *counter,
               const TaskOptions &options) noexcept {
    if (WEFT_UNLIKELY(!RaisePastPending(worker, counter, 1))) return;
    Publish(worker, 1, &task, counter, LabelOf(worker, options));
}

}  // namespace weft::internal
