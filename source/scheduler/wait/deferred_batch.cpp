// Deferred batches. A batch has a wait record on each of its counters, all at once, or a timer. So
// each counter is accessed only until it is reached, and a wait with OwnTasks finds the tasks of
// all counters (find/serving.h). DeferredBatch::state counts what the batch still waits for. The
// call itself counts as one more, so the batch is not handed over while the call still registers.
//
// A batch that is withdrawn is handed over at once, and what it waited for is forgotten. A timer is
// cleared. A wait record stays on its counter, because the counter may be gone by now; so the
// object of the batch stays, too, until the counter is reached or the run ends.
#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/timing.h"
#include "scheduler/wait/deferred.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

// Returns false, after a report, if another scheduler uses one of the counters.
bool AreOurs(Scheduler &scheduler, uint32_t count, const CounterTarget *targets) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        // relaxed: for a report
        const CounterWord word{CounterAccess::Word(*targets[i].counter).load(kRelaxed)};
        if (scheduler.counters.IsOurs(word)) continue;
        ReportWrongScheduler(scheduler, "AddTasksAfter", *targets[i].counter);
        return false;
    }
    return true;
}

// Waits for the counter in place of a record. Returns the caller's worker after the wait, or null.
Worker *WaitHere(Scheduler &scheduler, Worker *worker, const CounterTarget &target) noexcept {
    ReportOnce(scheduler, ReportCode::OutOfMemory, "Let fewer tasks wait for counters at once.",
               "AddTasksAfter: there is no memory for another wait record; the call waits itself");
    if (worker != nullptr) {
        const Fiber *self = worker->current;
        Wait(worker, *target.counter, target.value, ResumeOn::AnyWorker);
        return self->worker;
    }
    for (Backoff backoff; !IsSatisfied(*target.counter, target.value); backoff.Next()) {
    }
    return nullptr;
}

// Takes the records of the batch off the counters `after` to `end`. Returns how many they were.
uint32_t RemoveRecords(Scheduler &scheduler, Worker *worker, DeferredHandle handle,
                       const CounterTarget *after, const CounterTarget *end) noexcept {
    uint32_t removed = 0;
    for (; after != end; ++after) {
        uint32_t woken = 0;
        removed += scheduler.counters.Remove(CounterAccess::Word(*after->counter),
                                             kTaskOwner | kBatchOwner | handle.index, woken,
                                             CacheOf(worker));
        WakeOwners(scheduler, worker, woken);
    }
    return removed;
}

// Takes an object for the batch, which waits for `left` things, and copies the tasks into blocks.
// Returns an empty handle after a report.
DeferredHandle Begin(Scheduler &scheduler, Worker *worker, uint64_t left, bool isTimed,
                     uint32_t count, const Task *tasks, Counter *counter,
                     const TaskOptions &options, bool hasHandle, Unit unit) noexcept {
    // The call holds the group until its end: the tasks may have run by then.
    Counter *const group =
        options.taskGroup != nullptr ? TaskGroupAccess::CounterOf(options.taskGroup) : nullptr;
    const uint32_t index = scheduler.batches.Take();
    if (index == decltype(scheduler.batches)::kNone) {
        ReportMistake(scheduler.options, ReportCode::OutOfMemory, "Let fewer batches wait at once.",
                      "there is no memory for another deferred batch; it is not submitted");
        return {};
    }
    const bool isHeld = group == nullptr || RaiseCounter(scheduler, *group, 1);
    TaskBlock *oldest =
        isHeld ? PrepareBatch(scheduler, worker, count, tasks, counter, options) : nullptr;
    if (oldest == nullptr) {
        if (isHeld && group != nullptr) LowerCounter(scheduler, worker, *group, 1);
        scheduler.batches.GiveBack(index);
        return {};
    }
    DeferredBatch &batch = scheduler.batches.At(index);
    batch.oldest = oldest;
    batch.count = count;
    batch.isTimed = isTimed;
    batch.mayBeWithdrawn = hasHandle || group != nullptr;
    batch.isKept = unit != Unit::New;
    if (!isTimed) scheduler.deferred.fetch_add(count, kRelaxed);  // for reports
    // relaxed, both: what follows publishes them, and only this thread changes the number now
    batch.counter.store(oldest->counter.Get(), kRelaxed);
    const uint64_t generation = batch.state.load(kRelaxed) >> DeferredBatch::kGenerationShift;
    // release: publishes the batch to WithdrawBatch
    batch.state.store(generation << DeferredBatch::kGenerationShift | left, kRelease);
    return {index, static_cast<uint32_t>(generation), scheduler.runNumber};
}

// Ends a submission. If the batch belongs to a group that is cancelled, withdraws it. After that
// the group may be gone.
void End(Scheduler &scheduler, Worker *worker, DeferredHandle batch, uint32_t reached,
         TaskGroup *group, DeferredHandle *handle) noexcept {
    if (handle != nullptr) *handle = batch;
    ReachForBatch(scheduler, worker, batch.index, reached);
    if (group == nullptr) return;
    if (TaskGroupAccess::IsCancelledLast(*group)) WithdrawBatch(scheduler, worker, batch, false);
    LowerCounter(scheduler, worker, *TaskGroupAccess::CounterOf(group), 1);
}

}  // namespace

void ReplaceTasks(TaskBlock &block) noexcept {
    for (uint32_t i = 0; i < block.count; ++i)
        block.Tasks()[i] = {[](TaskScheduler *, void *) {}, nullptr};
}

bool SubmitBatchAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                      const CounterTarget *after, uint32_t count, const Task *tasks,
                      Counter *counter, const TaskOptions &options, DeferredHandle *handle,
                      Unit unit) noexcept {
    using Registration = CounterWaiting::Registration;
    if (worker != nullptr) FlushPending(worker);
    if (!AreOurs(scheduler, afterCount, after)) return false;
    TaskGroup *const group = options.taskGroup;  // the options may be gone at the end
    const DeferredHandle batch = Begin(scheduler, worker, uint64_t{afterCount} + 1, false, count,
                                       tasks, counter, options, handle != nullptr, unit);
    if (batch.IsEmpty()) return false;
    uint32_t reached = 1;  // the call itself
    bool accepted = true;
    for (uint32_t i = 0; i < afterCount && accepted; ++i) {
        const Registration result = scheduler.counters.RegisterOther(
            CounterAccess::Word(*after[i].counter), kTaskOwner | kBatchOwner | batch.index,
            after[i].value, CacheOf(worker));
        if (result == Registration::Waiting) continue;
        accepted = result != Registration::NoRecord || worker == nullptr || !worker->inHook;
        if (!accepted) {
            ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                          "Let fewer tasks wait for counters at once.",
                          "AddTasksAfter: there is no memory for another wait record, and a hook "
                          "cannot wait; the tasks are not submitted");
            // The owner of the counters may destroy them when the call returns.
            reached += RemoveRecords(scheduler, worker, batch, after, after + i) + (afterCount - i);
            // if the group has withdrawn the batch first, the group skips the tasks
            accepted = !WithdrawBatch(scheduler, worker, batch, true);
            break;
        }
        if (result == Registration::NoRecord) worker = WaitHere(scheduler, worker, after[i]);
        IsSatisfied(*after[i].counter, after[i].value);  // tells the race finder
        ++reached;
    }
    End(scheduler, worker, batch, reached, group, accepted ? handle : nullptr);
    return accepted;
}

bool SubmitBatchAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, uint32_t count,
                   const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept {
    if (worker != nullptr) FlushPending(worker);
    TaskGroup *const group = options.taskGroup;  // the options may be gone at the end
    const DeferredHandle batch = Begin(scheduler, worker, 2, true, count, tasks, counter, options,
                                       handle != nullptr, Unit::New);
    if (batch.IsEmpty()) return false;
    DeferredBatch &its = scheduler.batches.At(batch.index);
    const auto isDue = [](void *context, void *owner) {
        const ExpiryContext &by = *static_cast<ExpiryContext *>(context);
        ReachForBatch(by.scheduler, by.worker,
                      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(owner)), 1);
    };
    SetTimer(scheduler, worker, its.timer, deadline,
             {isDue, reinterpret_cast<void *>(uintptr_t{batch.index}), TimerKind::Batch});
    // If the batch was withdrawn before the timer was set, that call has not cleared the timer. The
    // lock of the timers orders the two. relaxed: so does it the flag.
    const bool isWithdrawn = (its.state.load(kRelaxed) & DeferredBatch::kWithdrawn) != 0;
    const uint32_t reached = isWithdrawn && scheduler.timers.Clear(its.timer) ? 2 : 1;
    End(scheduler, worker, batch, reached, group, handle);
    return true;
}

// The thread that sets kWithdrawn hands the blocks over. It adds a thing that the batch waits for,
// so that the object is not used again meanwhile.
bool WithdrawBatch(Scheduler &scheduler, Worker *worker, DeferredHandle handle,
                   bool replaces) noexcept {
    if (handle.run != scheduler.runNumber || !scheduler.batches.Has(handle.index)) return false;
    DeferredBatch &batch = scheduler.batches.At(handle.index);
    uint64_t state = batch.state.load(kRelaxed);  // relaxed: the CAS decides
    do {
        if (state >> DeferredBatch::kGenerationShift != handle.generation ||
            (state & DeferredBatch::kWithdrawn) != 0 || (state & DeferredBatch::kLeft) == 0)
            return false;
        // acquire: the batch is complete
    } while (!batch.state.compare_exchange_strong(state, (state + 1) | DeferredBatch::kWithdrawn,
                                                  kAcqRel, kRelaxed));
    TaskBlock *const oldest = batch.oldest;
    const uint32_t count = batch.count;
    batch.counter.store(nullptr, kRelaxed);  // relaxed: only a hint for WithdrawBatchesOf
    const bool isCleared = batch.isTimed && scheduler.timers.Clear(batch.timer);
    if (!batch.isTimed) scheduler.deferred.fetch_sub(count, kRelaxed);  // for reports
    ReachForBatch(scheduler, worker, handle.index, isCleared ? 2 : 1);
    for (InboxItem *item = oldest; replaces && item != nullptr; item = item->next)
        ReplaceTasks(*static_cast<TaskBlock *>(item));
    SendBatchNow(scheduler, worker, oldest, count);
    return true;
}

void WithdrawBatchesOf(Scheduler &scheduler, Worker *worker, const Counter *group) noexcept {
    for (uint32_t index = 0; scheduler.batches.Has(index); ++index) {
        DeferredBatch &batch = scheduler.batches.At(index);
        // acquire: pairs with the release in Begin, so the counter is that of this use or a later
        // one. In the second case WithdrawBatch fails, because the number has changed.
        const uint64_t state = batch.state.load(kAcquire);
        if ((state & DeferredBatch::kLeft) != 0 && batch.counter.load(kRelaxed) == group)
            WithdrawBatch(scheduler, worker,
                          {index, static_cast<uint32_t>(state >> DeferredBatch::kGenerationShift),
                           scheduler.runNumber},
                          false);
    }
}

}  // namespace weft::internal
