// Copies tasks into blocks, counts them, and hands the blocks over.
#include "scheduler/submit/post.h"

#include "scheduler/state/counter_ops.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

namespace {

// Takes a block from the pool. Aborts, after a report, if there is no memory.
template <uint32_t kTasks>
TaskBlock *TakeBlock(Scheduler &scheduler, uint32_t user, TaskBlockPool<kTasks> &pool) noexcept {
    const uint32_t index = pool.Take(user);
    if (WEFT_UNLIKELY(index == pool.kNone)) OutOfMemory(scheduler, kTasks);
    TaskBlock *block = &pool.At(index);
    block->index = index;
    return block;
}

void CopyTasks(TaskBlock &block, uint32_t count, const Task *tasks, TaskCounter counter,
               const Label &label, uint32_t target) noexcept {
    block.worker = target;
    block.count = static_cast<uint16_t>(count);
    block.taken = 0;
    block.counter = counter;
    block.label = label;
    const race::Unwatched unwatched;
    std::memcpy(block.Tasks(), tasks, count * sizeof(Task));
}

// Takes a block and copies the tasks into it.
TaskBlock *Fill(Scheduler &scheduler, const Worker *worker, uint32_t count, const Task *tasks,
                TaskCounter counter, Label label, uint32_t target) noexcept {
    TaskBlock *block = count == 1 ? TakeBlock(scheduler, CacheOf(worker), scheduler.singles)
                                  : TakeBlock(scheduler, kNoCache, scheduler.blocks);
    CopyTasks(*block, count, tasks, counter, label, target);
    return block;
}

// Called before the tasks are published. So a thread that counts one of them as finished counts it
// as submitted, too. relaxed: the publication orders it.
void CountSubmitted(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept {
    if (worker != nullptr) {
        worker->submitted.store(worker->submitted.load(kRelaxed) + count, kRelaxed);
    } else {
        scheduler.externalSubmitted.fetch_add(count, kRelaxed);
    }
}

}  // namespace

bool Bind(Scheduler &scheduler, Worker &target, uint32_t count) noexcept {
    RaiseCounter(scheduler, target.bound, count);
    // This is a read-modify-write, like the exchange in DetachThread that refuses further tasks. Of
    // the two, either this one is later and reads 0; or the exchange is later, and then
    // DetachThread sees the raised counter. acquire and release for that.
    if (target.accepts.fetch_add(0, kAcqRel) != 0) return true;
    LowerCounter(scheduler, nullptr, target.bound, count);
    return false;
}

void Unbind(Scheduler &scheduler, Worker *caller, Worker &target) noexcept {
    LowerCounter(scheduler, caller, target.bound, 1);
}

namespace {

// Does everything for a submission but make the tasks visible. Returns false after a report.
bool Admit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
           CountedBy counted, const TaskOptions &options) noexcept {
    Worker *target = options.worker != kAnyWorker ? &scheduler.workers[options.worker] : nullptr;
    const bool bind = target != nullptr && scheduler.IsAttachedSlot(options.worker);
    // A thread that pins tasks to itself has not detached yet. It may be detaching; then it reads
    // `bound` once more after it has run tasks (Detach).
    const bool bound = bind && (worker == target ? RaiseCounter(scheduler, target->bound, count)
                                                 : Bind(scheduler, *target, count));
    if (bind && !bound) {
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Name a worker, or a thread that is attached.",
                      "TaskOptions::worker of task '%s': no thread is attached as %u",
                      options.name != nullptr ? options.name : "unnamed", options.worker);
        return false;
    }
    if (counted.unit == Unit::OfCaller && worker != nullptr) {
        TakeOverFromRunning(worker, counted.counter);
    } else if (counted.counter != nullptr && !RaiseCounter(scheduler, *counted.counter, count)) {
        if (bind) LowerCounter(scheduler, worker, target->bound, count);
        return false;
    }
    CountSubmitted(scheduler, worker, count);
    race::Submitted(count, tasks);
    return true;
}

}  // namespace

bool Post(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
          const TaskOptions &options) noexcept {
    if (!CountInGroup(scheduler.options, options, counter)) return false;
    if (!Admit(scheduler, worker, count, tasks, {counter, Unit::New}, options)) return false;
    // All blocks are handed over at once. So one worker takes them, and begins the batch in its
    // order.
    Label label = LabelInGroups(scheduler, worker, options);
    if (IsTraced(scheduler))
        label.taskId = TraceSubmit(scheduler, worker, count, tasks, counter, label);
    InboxItem *newest = nullptr, *oldest = nullptr;
    for (uint32_t begin = 0; begin < count; begin += kTasksPerBlock) {
        const uint32_t size = std::min(kTasksPerBlock, count - begin);
        InboxItem *block = Fill(scheduler, worker, size, tasks + begin, CounterOf(counter, options),
                                label, options.worker);
        block->next = newest;
        newest = block;
        if (oldest == nullptr) oldest = block;
        if (label.taskId != 0) label.taskId += size;
    }
    DeliverTasks(scheduler, worker, newest, oldest, count, options.worker);
    return true;
}

TaskBlock *Prepare(Scheduler &scheduler, Worker *worker, const Task &task, CountedBy counted,
                   const TaskOptions &options) noexcept {
    if (!CountInGroup(scheduler.options, options, counted.counter)) return nullptr;
    if (!Admit(scheduler, worker, 1, &task, counted, options)) return nullptr;
    return Fill(scheduler, worker, 1, &task, CounterOf(counted.counter, options),
                LabelInGroups(scheduler, worker, options), options.worker);
}

TaskBlock *CopyBlock(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept {
    const uint32_t index = scheduler.singles.Take(CacheOf(worker));
    if (index == scheduler.singles.kNone) return nullptr;
    TaskBlock &copy = scheduler.singles.At(index);
    copy.index = index;
    CopyTasks(copy, 1, block.Tasks(), block.counter, block.label, block.worker);
    return &copy;
}

TaskBlock *PrepareBatch(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                        Counter *counter, const TaskOptions &options) noexcept {
    if (!CountInGroup(scheduler.options, options, counter)) return nullptr;
    if (!Admit(scheduler, worker, count, tasks, {counter, Unit::New}, options)) return nullptr;
    const Label label = LabelInGroups(scheduler, worker, options);
    TaskBlock *oldest = nullptr;
    InboxItem *newest = nullptr;
    for (uint32_t begin = 0; begin < count; begin += kTasksPerBlock) {
        TaskBlock *block = Fill(scheduler, worker, std::min(kTasksPerBlock, count - begin),
                                tasks + begin, CounterOf(counter, options), label, options.worker);
        block->next = nullptr;
        newest != nullptr ? newest->next = block : oldest = block;
        newest = block;
    }
    return oldest;
}

void PostClaimAgain(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    worker->pinnedTasks[static_cast<uint32_t>(claim.level.ThePriority())].Prepend(
        Fill(*worker->scheduler, worker, 1, &claim.single, {claim.counter, claim.ofGroup},
             {LaneOf(claim.level, claim.stack), claim.taskId, claim.name}, worker->index));
    ++worker->pinnedCount;
    if (worker->pump != nullptr) --worker->pump->ran;  // it was counted when it was claimed
    claim.Clear();
}

}  // namespace weft::internal
