// The end of a run that takes long: EndDelayed, and what StopFor withdraws.
//
// A timer is due when the end has been wanted for long enough (run/ending.cpp). If StopFor has been
// called, the worker that takes the timer withdraws the tasks that wait for a time or a counter,
// and reports them. Otherwise it reports what the end waits for: at once if external threads delay
// it; else as soon as all workers are idle, because a task that runs may be all that is left.
//
// From then on such tasks are refused (MayDefer). A submission that has passed this check may come
// after the withdrawal. So the timer is set again and again until the run has ended.
#include "scheduler/diagnose/wait_graph.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/deferred.h"

namespace weft::internal {

namespace {

constexpr uint64_t kWithdrawsAgain = 100'000'000;  // ns
constexpr uint32_t kRoom = 12;                     // for both lists of a report, in waiters

// A list in a report. The first items are told, the others are only counted.
struct ItemList {
    static constexpr uint32_t kMost = 8;

    ReportText &text;
    const char *heading;  // comes before the first item
    uint64_t tasks = 0;
    uint32_t items = 0;

    // Counts the next item. Returns true if it is told.
    bool Next(uint32_t count = 1) noexcept {
        tasks += count;
        if (++items > kMost) return false;
        text.Add("%s", items == 1 ? heading : ", ");
        return true;
    }
    // The same for tasks of one name.
    bool Add(const char *kind, uint32_t count, const char *name) noexcept {
        if (!Next(count)) return false;
        if (count > 1) text.Add("%u times ", count);
        name != nullptr ? text.Add("%s '%.40s'", kind, name) : text.Add("%s without a name", kind);
        return true;
    }
    void AddUntil(const char *what, uint64_t deadline) noexcept {
        const uint64_t now = env::Now(), left = deadline > now ? deadline - now : 0;
        const bool isLong = left >= 10'000'000'000;
        text.Add(" (%s %llu %s)", what,
                 static_cast<unsigned long long>(left / (isLong ? 1'000'000'000 : 1'000'000)),
                 isLong ? "s" : "ms");
    }
    // Adds tasks of one submission that wait for a time, or for counters (kNever).
    void AddDeferred(const Deferred &deferred, uint64_t deadline) noexcept {
        const bool isTimed = deadline != Timers::kNever;
        const char *const kind = !isTimed              ? "deferred task"
                                 : deferred.isPeriodic ? "periodic task"
                                 : deferred.isKept     ? "coroutine"
                                                       : "timed task";
        if (!Add(kind, deferred.count, deferred.name)) return;
        isTimed ? AddUntil("in", deadline) : text.Add(" (after a counter)");
    }
    // Adds a task that waits on its fiber. relaxed: for a report
    void AddWaiter(const WaiterInfo &waiter, const FiberWait &wait) noexcept {
        if (!Add("task", 1, waiter.task)) return;
        const WaitKind kind = wait.kind.load(kRelaxed);
        const uint64_t deadline = wait.deadline.load(kRelaxed);
        if (kind == WaitKind::Call)
            text.Add(" (in a blocking call)");
        else if (kind == WaitKind::Operation)
            text.Add(" (in an operation of AsyncIo)");
        else if (waiter.lock != nullptr)
            text.Add(" (waits for lock %p)", waiter.lock);
        else if (deadline != Timers::kNever)
            AddUntil(kind == WaitKind::Sleep ? "sleeps for" : "waits for at most", deadline);
        else if (kind == WaitKind::Several)
            text.Add(" (waits for one of several counters)");
        else
            text.Add(" (waits for counter %p)", static_cast<const void *>(waiter.counter));
    }
    // Ends the list. `all`: how many tasks there are; of the others nothing is known.
    void End(uint64_t all = 0) noexcept {
        if (items > kMost) text.Add(" and %u more", items - kMost);
        if (all <= tasks) return;
        text.Add("%s%llu other %s", items == 0 ? heading : ", ",
                 static_cast<unsigned long long>(all - tasks), all - tasks == 1 ? "task" : "tasks");
    }
};

// Adds the external threads that are in a call, and the number of attached threads.
void AddGuests(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept {
    ItemList waiting{text, "; external threads wait for "};
    for (const WaiterInfo &waiter : graph) {
        if (waiter.isExternal && waiting.Next())
            text.Add("counter %p", static_cast<const void *>(waiter.counter));
    }
    waiting.End();
    // without workers Stop itself is attached
    const uint32_t attached = scheduler.guests.attached.Value(),
                   others = attached - (scheduler.workerCount == 0 && attached != 0 ? 1 : 0);
    if (others != 0)
        text.Add("; %u %s attached", others, others == 1 ? "thread is" : "threads are");
}

// Adds all that keeps the run from ending, but not `withdrawn` tasks that have just been withdrawn.
void AddAwaited(ReportText &text, Scheduler &scheduler, Worker *worker,
                uint64_t withdrawn) noexcept {
    const WaitGraph graph(scheduler, AllIdle(scheduler));
    ItemList items{text, "; it waits for "};
    ForDeferred(scheduler, worker, [&](Deferred &deferred, const DeferredHandle &) {
        items.AddDeferred(deferred, scheduler.timers.DeadlineOf(deferred.timer));
    });
    for (const WaiterInfo &waiter : graph) {
        if (!waiter.isExternal && waiter.fiber < scheduler.fibers.count)
            items.AddWaiter(waiter, scheduler.fibers[waiter.fiber].wait);
    }
    const uint64_t pending = PendingTasks(scheduler, &Worker::ended);
    items.End(pending > withdrawn ? pending - withdrawn : 0);
    AddGuests(text, scheduler, graph);
    // relaxed: for a report
    if (const uint32_t outside =
            EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kRelaxed))
        text.Add("; external work that has not ended: %u", outside);
}

// Reports EndDelayed, once a run. `withdrawn`: a text of the `count` tasks that StopFor has
// withdrawn, or null.
void ReportLateEnd(Scheduler &scheduler, Worker *worker, const char *withdrawn,
                   uint64_t count) noexcept {
    if (WasReported(scheduler, ReportCode::EndDelayed)) return;
    ReportText text(scheduler.memory, kRoom);
    const uint64_t after = (env::Now() - scheduler.lateEnd.wantedAt) / 1'000'000;
    text.Add("the run should end, and has not ended after %llu ms%s",
             static_cast<unsigned long long>(after), withdrawn != nullptr ? withdrawn : "");
    AddAwaited(text, scheduler, worker, count);
    ReportTextOnce(scheduler, ReportCode::EndDelayed,
                   "Before the end, cancel periodic and timed tasks, lower the counters, and let "
                   "threads leave calls, onReport and AttachThread; or call StopFor (weft/time.h), "
                   "which withdraws tasks that have not begun.",
                   text.Get());
}

// Returns true if it has reported.
bool WithdrawAll(Scheduler &scheduler, Worker *worker) noexcept {
    scheduler.lateEnd.withdraws.store(true, kRelaxed);  // late readers: see the top of this file
    ReportText text(scheduler.memory);
    ItemList items{text, "; StopFor has withdrawn "};
    ForDeferred(scheduler, worker, [&](Deferred &deferred, const DeferredHandle &handle) {
        const uint64_t deadline = scheduler.timers.DeadlineOf(deferred.timer);
        if (deferred.isKept || ClaimTasks(scheduler, handle) == nullptr) return;
        // The tasks are this thread's, so the group lives until they are handed over. Then it skips
        // them.
        if (deferred.isPeriodic) GroupOf(deferred.tasks.newest->of)->Cancel();
        DeliverClaimed(scheduler, worker, deferred, !deferred.isPeriodic);
        items.AddDeferred(deferred, deadline);
    });
    if (items.tasks == 0) return false;
    items.End();
    scheduler.lateEnd.hasWithdrawn = true;
    ReportLateEnd(scheduler, worker, text.Get(), items.tasks);
    return true;
}

// Returns true if external threads keep the run from ending: they wait, or are attached. Without
// workers Stop itself is attached.
bool AnyGuest(const Scheduler &scheduler) noexcept {
    return scheduler.guests.count.load(kSeqCst) > (scheduler.workerCount == 0 ? 1u : 0u);
}

}  // namespace

void EndIsLate(Scheduler &scheduler, Worker &worker) noexcept {
    const bool withdraws = scheduler.lateEnd.withdrawsAt != Timers::kNever;
    const bool isReported = withdraws && WithdrawAll(scheduler, &worker);
    if (!isReported && AnyGuest(scheduler)) {
        ReportLateEnd(scheduler, &worker, nullptr, 0);
    } else if (!isReported) {
        scheduler.lateEnd.isLate.store(true, kRelaxed);  // a worker that becomes idle sees it
    }
    if (withdraws)
        SetTimer(scheduler, &worker, scheduler.lateEnd.timer, env::Now() + kWithdrawsAgain);
}

// relaxed: a worker that has taken the timer comes here later
void ReportIfLate(Scheduler &scheduler) noexcept {
    if (WEFT_UNLIKELY(scheduler.lateEnd.isLate.load(kRelaxed)) &&
        (PendingTasks(scheduler) != 0 || AnyGuest(scheduler)) &&
        scheduler.lateEnd.isLate.exchange(false, kRelaxed))
        ReportLateEnd(scheduler, nullptr, nullptr, 0);
}

}  // namespace weft::internal
