#include "scheduler/post.h"

#include "scheduler/claim.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/submit.h"

#include <algorithm>
#include <cstring>

namespace weft::internal {

namespace {

template <uint32_t kTasks>
TaskBlock *TakeBlock(Scheduler &scheduler, BlockPool<kTasks> &pool) noexcept {
    const uint32_t place = pool.Take();
    if (WEFT_UNLIKELY(place == pool.kNone)) OutOfMemory(scheduler, kTasks);
    TaskBlock *block = &pool.At(place);
    block->place = place;
    return block;
}

TaskBlock *Fill(Scheduler &scheduler, uint32_t count, const Task *tasks, Counter *counter,
                const TaskOptions &options) noexcept {
    TaskBlock *block = count == 1 ? TakeBlock(scheduler, scheduler.singles) : TakeBlock(scheduler, scheduler.blocks);
    block->count = count;
    block->taken = 0;
    block->counter = counter;
    block->options = options;
    const race::Unwatched unwatched;
    std::memcpy(block->Tasks(), tasks, count * sizeof(Task));
    return block;
}

// Before the tasks are published, so that who sees one finish counts it as submitted. relaxed: the publication orders it.
void CountSubmitted(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept {
    if (worker != nullptr) {
        worker->submitted.store(worker->submitted.load(kRelaxed) + count, kRelaxed);
    } else {
        scheduler.foreignSubmitted.fetch_add(count, kRelaxed);
    }
}

}  // namespace

bool Bind(Scheduler &scheduler, Worker &target, uint32_t count) noexcept {
    RaiseCounter(scheduler, target.bound, count);
    // A read-modify-write, like the exchange with which DetachThread closes: in the order of the two either it is closed
    // here, or the one that closes sees the raised counter. acquire and release for that.
    if (target.accepts.fetch_add(0, kAcqRel) != 0) return true;
    LowerCounter(scheduler, nullptr, target.bound, count);
    return false;
}

void Unbind(Scheduler &scheduler, Worker *caller, Worker &target) noexcept {
    LowerCounter(scheduler, caller, target.bound, 1);
}

namespace {

// For a thread that runs a task it has not detached yet, whether it is about to or not.
bool BindOwn(Scheduler &scheduler, Worker &own) noexcept { return RaiseCounter(scheduler, own.bound, 1); }

// Everything but making them visible. False if it was refused (reported).
bool Admit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
           const TaskOptions &options, bool isLater) noexcept {
    Worker *target = options.worker != kAnyWorker ? &scheduler.workers[options.worker] : nullptr;
    const bool bind = target != nullptr && scheduler.IsAttachedSlot(options.worker);
    if (bind && !(isLater && worker == target ? BindOwn(scheduler, *target) : Bind(scheduler, *target, count))) {
        ReportMistake(scheduler.options, ReportCode::BadOption, "Name a worker, or a thread that is attached.",
                      "TaskOptions::worker: no thread is attached as %u", options.worker);
        return false;
    }
    if (counter != nullptr && !RaiseCounter(scheduler, *counter, count)) {
        if (bind) LowerCounter(scheduler, worker, target->bound, count);
        return false;
    }
    CountSubmitted(scheduler, worker, count);
    race::Submitted(count, tasks);
    return true;
}

PushList<Letter> &ListFor(Scheduler &scheduler, const TaskOptions &options) noexcept {
    return options.worker != kAnyWorker ? scheduler.workers[options.worker].mailbox : scheduler.injector;
}

// So many tasks were pushed on that list.
void WakeFor(Scheduler &scheduler, Worker *worker, uint32_t count, const TaskOptions &options) noexcept {
    if (options.worker == kAnyWorker) {
        WakeForAny(scheduler, worker);  // a starved one too: it cannot run them, but can say so
        if (count > 1) WakeForTasks(scheduler, worker, count - 1);
    } else if (scheduler.idle.TakeSleeperAt(options.worker)) {
        scheduler.workers[options.worker].parker.Unpark();
    }
}

}  // namespace

bool Post(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks, Counter *counter,
          const TaskOptions &options) noexcept {
    if (!Admit(scheduler, worker, count, tasks, counter, options, false)) return false;
    for (uint32_t begin = 0; begin < count; begin += kTasksPerBlock) {
        ListFor(scheduler, options)
            .Push(Fill(scheduler, std::min(kTasksPerBlock, count - begin), tasks + begin, counter, options));
    }
    WakeFor(scheduler, worker, count, options);
    if (worker != nullptr) TraceSubmit(worker, count, counter, options);
    return true;
}

TaskBlock *Prepare(Scheduler &scheduler, Worker *worker, const Task &task, Counter *counter,
                   const TaskOptions &options) noexcept {
    if (!Admit(scheduler, worker, 1, &task, counter, options, true)) return nullptr;
    if (worker != nullptr) TraceSubmit(worker, 1, counter, options);
    return Fill(scheduler, 1, &task, counter, options);
}

void Send(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept {
    const TaskOptions options = block->options;  // read before it is published
    ListFor(scheduler, options).Push(block);
    WakeFor(scheduler, worker, 1, options);
}

void PostClaimAgain(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    TaskOptions options;
    options.priority = static_cast<Priority>(claim.lane);
    options.stack = claim.stack;
    options.name = claim.name;
    worker->pinnedTasks.Prepend(Fill(*worker->scheduler, 1, &claim.single, claim.counter, options));
    if (worker->pump != nullptr) --worker->pump->ran;  // it was counted when it was claimed
    claim.Clear();
}

}  // namespace weft::internal
