// Implements ending.h.
#include "scheduler/run/ending.h"

#include "platform/compiler.h"
#include "scheduler/find/late_end.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/timing.h"
#include "scheduler/wait/deferred.h"

namespace weft::internal {

namespace {

constexpr uint64_t kWithdrawsAgain = 100'000'000;  // ns
constexpr size_t kTextBytes = 1024;

void WithdrawTimed(Scheduler &scheduler, Worker *worker, ItemList &items) noexcept {
    const auto mayBe = [](const Timer &timer) {
        return timer.expiry.kind == TimerKind::Task &&
               !static_cast<const TimedTask *>(timer.expiry.owner)->isKept;
    };
    while (const Timer *const timer = scheduler.timers.TakeIf(mayBe)) {
        const TimedTask &timed = *static_cast<const TimedTask *>(timer->expiry.owner);
        TaskBlock *const block = timed.block;
        items.AddDeferred("timed task", 1, block->label.name, timer->deadline);
        scheduler.timedTasks.GiveBack(timed.index, CacheOf(worker));
        ReplaceTasks(*block);
        SendNow(scheduler, worker, block);
    }
}

// The group of a PeriodicTask is cancelled, so that it ends. Its counter holds it meanwhile.
void CancelPeriodic(Scheduler &scheduler, Worker *worker, TaskGroup &group) noexcept {
    Counter &counter = *TaskGroupAccess::CounterOf(&group);
    if (!RaiseCounter(scheduler, counter, 1)) return;
    group.Cancel();
    LowerCounter(scheduler, worker, counter, 1);
}

void WithdrawBatches(Scheduler &scheduler, Worker *worker, ItemList &items) noexcept {
    for (uint32_t index = 0; scheduler.batches.Has(index); ++index) {
        const DeferredHandle handle = HoldBatch(scheduler, index);
        if (handle.IsEmpty()) continue;
        DeferredBatch &batch = scheduler.batches.At(index);
        TaskGroup *const group = GroupOf(batch.oldest->counter.Get());
        const bool isPeriodic = group != nullptr && TaskGroupAccess::IsPeriodic(*group);
        const char *const name = batch.oldest->label.name;
        const uint64_t deadline = DeadlineOfBatch(items, scheduler, index);
        const char *const kind = batch.isTimed ? KindOfTimed(*batch.oldest) : "deferred task";
        bool isWithdrawn = isPeriodic;  // a PeriodicTask may have been cancelled before
        if (isPeriodic) {
            CancelPeriodic(scheduler, worker, *group);
        } else if (!batch.isKept) {
            // A climb may be using the counter of the batch: see WithdrawTask.
            const SpinLock::Held held(scheduler.climbs);
            isWithdrawn = WithdrawBatch(scheduler, worker, handle, true);
        }
        if (isWithdrawn) items.AddDeferred(kind, batch.count, name, deadline);
        ReachForBatch(scheduler, worker, index, 1);
    }
}

// The wait record of the task stays on its counter, and names the block. So another block takes the
// task's place.
void WithdrawSingles(Scheduler &scheduler, Worker *worker, ItemList &items) noexcept {
    for (uint32_t index = 0; scheduler.singles.Has(index); ++index) {
        TaskBlock &block = scheduler.singles.At(index);
        if (!HoldTask(block)) continue;
        TaskBlock *const copy = CopyBlock(scheduler, worker, block);
        if (copy == nullptr) {
            LetTaskGo(scheduler, worker, block);
        } else if (WithdrawTask(scheduler, worker, block)) {
            ReplaceTasks(*copy);
            items.AddDeferred("deferred task", 1, copy->label.name, Timers::kNever);
            SendNow(scheduler, worker, copy);
        } else {
            scheduler.singles.GiveBack(copy->index, CacheOf(worker));
        }
    }
}

// Returns true if it has reported.
bool WithdrawAll(Scheduler &scheduler, Worker *worker) noexcept {
    scheduler.lateEnd.withdraws.store(true, kRelaxed);  // late readers: see the top of ending.h
    ReportText text(scheduler.memory, kTextBytes);
    ItemList items(text, scheduler, "; StopFor has withdrawn ");
    WithdrawBatches(scheduler, worker, items);  // first, because TakeIf looks at their timers
    WithdrawTimed(scheduler, worker, items);
    WithdrawSingles(scheduler, worker, items);
    if (items.TaskCount() == 0) return false;
    items.End(0);
    scheduler.lateEnd.hasWithdrawn = true;
    ReportLateEnd(scheduler, worker, text.Get(), items.TaskCount());
    return true;
}

void SetEndTimer(Scheduler &scheduler, Worker *worker, uint64_t deadline) noexcept;

// The timer has expired.
void EndIsLate(Scheduler &scheduler, Worker *worker) noexcept {
    const bool withdraws = scheduler.lateEnd.withdrawsAt != Timers::kNever;
    const bool isReported = withdraws && WithdrawAll(scheduler, worker);
    if (!isReported && AnyGuest(scheduler)) {
        ReportLateEnd(scheduler, worker, nullptr, 0);
    } else if (!isReported) {
        scheduler.lateEnd.isLate.store(true, kRelaxed);  // a worker that falls asleep later sees it
    }
    if (withdraws) SetEndTimer(scheduler, worker, env::Now() + kWithdrawsAgain);
}

void SetEndTimer(Scheduler &scheduler, Worker *worker, uint64_t deadline) noexcept {
    const auto isDue = [](void *context, void *owner) {
        EndIsLate(*static_cast<Scheduler *>(owner), static_cast<ExpiryContext *>(context)->worker);
    };
    SetTimer(scheduler, worker, scheduler.lateEnd.timer, deadline, {isDue, &scheduler});
}

}  // namespace

void WantEnd(Scheduler &scheduler, Worker *worker, uint64_t withdrawsAt) noexcept {
    const uint64_t grace = uint64_t{scheduler.options.stopGraceMilliseconds} * 1'000'000;
    const uint64_t now = env::Now(), closesAt = now + grace;
    scheduler.lateEnd.wantedAt = now;
    scheduler.lateEnd.withdrawsAt = withdrawsAt;
    scheduler.closesAt.store(closesAt, kRelaxed);  // published by the next store
    scheduler.endWanted.store(true, kSeqCst);      // see Sleep
    // With an order, time passes as soon as nothing runs. So no task waits for a time for long.
    if (!scheduler.order.isOn)
        SetEndTimer(scheduler, worker, withdrawsAt != Timers::kNever ? withdrawsAt : closesAt);
}

bool MayDefer(Scheduler &scheduler, const TaskOptions &options, const char *call) noexcept {
    // relaxed: see the top of ending.h
    if (WEFT_LIKELY(!scheduler.lateEnd.withdraws.load(kRelaxed))) return true;
    if (options.taskGroup != nullptr && TaskGroupAccess::IsPeriodic(*options.taskGroup)) {
        options.taskGroup->Cancel();
        return false;
    }
    ReportOnce(scheduler, ReportCode::RunEnding,
               "Submit nothing for later when the run is to end, or give StopFor more time.",
               "%s: the run is ending, and StopFor withdraws tasks that wait for a counter or a "
               "time; the task is refused",
               call);
    return false;
}

}  // namespace weft::internal
