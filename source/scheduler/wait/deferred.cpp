// Implements deferred.h. A deferred task with a counter is a wait record on that counter, and its
// owner is the task's block. A deferred task with a deadline is a timer.
#include "scheduler/wait/deferred.h"

#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/timing.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

// Refuses a task in a hook, which must not wait. Submits a task that does nothing in its place, so
// that the counts which were raised for it come down again.
bool SendNothing(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept {
    ReportMistake(scheduler.options, ReportCode::OutOfMemory,
                  "Let fewer tasks wait for counters at once.",
                  "AddTaskAfter: there is no memory for another wait record, and a hook cannot "
                  "wait; the task is not submitted");
    // StopFor may have withdrawn the task meanwhile, or may hold its block for a moment.
    const Deferral::Value was = block->deferral.exchange(Deferral::None, kAcqRel);
    if (was == Deferral::Held) return true;
    if (was == Deferral::Withdrawn) {
        scheduler.singles.GiveBack(block->index, CacheOf(worker));
        return false;
    }
    *block->Tasks() = {[](TaskScheduler *, void *) {}, nullptr};
    scheduler.deferred.fetch_sub(1, kRelaxed);
    SendNow(scheduler, worker, block);
    return false;
}

}  // namespace

// If there is no memory for a record, the caller waits instead: a task suspends its fiber, an
// external thread polls the counter.
bool SubmitAfter(Scheduler &scheduler, Worker *worker, Counter &after, uint32_t value,
                 const Task &task, CountedBy counted, const TaskOptions &options) noexcept {
    using Registration = CounterWaiting::Registration;
    if (worker != nullptr) FlushPending(worker);
    CounterStorage &word = CounterAccess::Word(after);
    if (!scheduler.counters.IsOurs(CounterWord{word.load(kRelaxed)})) {  // relaxed: for a report
        ReportWrongScheduler(scheduler, "AddTaskAfter", after);
        return false;
    }
    TaskBlock *block = Prepare(scheduler, worker, task, counted, options);
    if (block == nullptr) return false;
    scheduler.deferred.fetch_add(1, kRelaxed);  // for reports
    // release: publishes the block to StopFor
    if (counted.unit == Unit::New) block->deferral.store(Deferral::Waiting, kRelease);
    switch (
        scheduler.counters.RegisterOther(word, kTaskOwner | block->index, value, CacheOf(worker))) {
        case Registration::Waiting:
            return true;  // the block may be gone
        case Registration::NoRecord:
            if (worker != nullptr && worker->inHook) return SendNothing(scheduler, worker, block);
            ReportOnce(
                scheduler, ReportCode::OutOfMemory, "Let fewer tasks wait for counters at once.",
                "AddTaskAfter: there is no memory for another wait record; the call waits itself");
            if (worker != nullptr) {
                Fiber *self = worker->current;
                if (counted.unit == Unit::OfCaller && !GiveToRunning(worker))
                    block->counter = nullptr;
                Wait(worker, after, value, ResumeOn::AnyWorker);
                worker = self->worker;
            } else {
                for (Backoff backoff; !IsSatisfied(after, value); backoff.Next()) {
                }
            }
            break;
        default:
            break;
    }
    IsSatisfied(after, value);  // tells the race finder
    SendDeferred(scheduler, worker, *block);
    return true;
}

bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, const Task &task,
              CountedBy counted, const TaskOptions &options) noexcept {
    if (worker != nullptr) FlushPending(worker);
    TaskBlock *block = Prepare(scheduler, worker, task, counted, options);
    if (block == nullptr) return false;
    const uint32_t index = scheduler.timedTasks.Take(CacheOf(worker));
    if (index == scheduler.timedTasks.kNone) OutOfMemory(scheduler, 1);
    TimedTask &timed = scheduler.timedTasks.At(index);
    timed.block = block;
    timed.index = index;
    timed.isKept = counted.unit != Unit::New;
    const auto isDue = [](void *context, void *owner) {
        const ExpiryContext &by = *static_cast<ExpiryContext *>(context);
        const TimedTask &told = *static_cast<TimedTask *>(owner);
        TaskBlock *due = told.block;
        by.scheduler.timedTasks.GiveBack(told.index, CacheOf(by.worker));
        Send(by.scheduler, by.worker, due);
    };
    SetTimer(scheduler, worker, timed.timer, deadline, {isDue, &timed, TimerKind::Task});
    return true;
}

}  // namespace weft::internal
