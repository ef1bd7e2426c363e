// Implements SubmitBatchAfter. A deferred batch has a wait record on each of its counters, all at
// once. So each counter is accessed only until it is reached, and a wait with OwnTasks finds the
// tasks of all counters (find/serving.h). DeferredBatch::left counts the counters that have not
// been reached. The call itself counts as one more, so the batch is not handed over while the call
// still registers.
#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
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

// Refuses the batch in a hook, which must not wait. The tasks count already, so tasks that do
// nothing take their places. Takes the records off the counters `after` to `end`, because their
// owner may destroy them now. Returns how many records that were.
uint32_t Refuse(Scheduler &scheduler, Worker *worker, uint32_t index, const CounterTarget *after,
                const CounterTarget *end) noexcept {
    ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                  "Let fewer tasks wait for counters at once.",
                  "AddTasksAfter: there is no memory for another wait record, and a hook cannot "
                  "wait; the tasks are not submitted");
    for (InboxItem *item = scheduler.batches.At(index).oldest; item != nullptr; item = item->next) {
        TaskBlock &block = *static_cast<TaskBlock *>(item);
        for (uint32_t i = 0; i < block.count; ++i)
            block.Tasks()[i] = {[](TaskScheduler *, void *) {}, nullptr};
    }
    uint32_t removed = 0;
    for (; after != end; ++after) {
        uint32_t woken = 0;
        removed +=
            scheduler.counters.Remove(CounterAccess::Word(*after->counter),
                                      kTaskOwner | kBatchOwner | index, woken, CacheOf(worker));
        WakeOwners(scheduler, worker, woken);
    }
    return removed;
}

}  // namespace

bool SubmitBatchAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                      const CounterTarget *after, uint32_t count, const Task *tasks,
                      Counter *counter, const TaskOptions &options) noexcept {
    using Registration = CounterWaiting::Registration;
    if (worker != nullptr) FlushPending(worker);
    if (!AreOurs(scheduler, afterCount, after)) return false;
    const uint32_t index = scheduler.batches.Take();
    if (index == decltype(scheduler.batches)::kNone) {
        ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                      "Let fewer batches wait for counters at once.",
                      "AddTasksAfter: there is no memory for another batch; it is not submitted");
        return false;
    }
    TaskBlock *oldest = PrepareBatch(scheduler, worker, count, tasks, counter, options);
    if (oldest == nullptr) {
        scheduler.batches.GiveBack(index);
        return false;
    }
    DeferredBatch &batch = scheduler.batches.At(index);
    batch.oldest = oldest;
    batch.count = count;
    // relaxed: the first record publishes it
    batch.left.store(afterCount + 1, kRelaxed);
    scheduler.deferred.fetch_add(count, kRelaxed);  // for reports
    uint32_t reached = 1;                           // the call itself
    bool accepted = true;
    for (uint32_t i = 0; i < afterCount && accepted; ++i) {
        const Registration result = scheduler.counters.RegisterOther(
            CounterAccess::Word(*after[i].counter), kTaskOwner | kBatchOwner | index,
            after[i].value, CacheOf(worker));
        if (result == Registration::Waiting) continue;
        accepted = result != Registration::NoRecord || worker == nullptr || !worker->inHook;
        if (!accepted) {
            reached += Refuse(scheduler, worker, index, after, after + i) + (afterCount - i);
            break;
        }
        if (result == Registration::NoRecord) worker = WaitHere(scheduler, worker, after[i]);
        IsSatisfied(*after[i].counter, after[i].value);  // tells the race finder
        ++reached;
    }
    ReachForBatch(scheduler, worker, index, reached);
    return accepted;
}

}  // namespace weft::internal
