// Implements late_end.h.
#include "scheduler/diagnose/late_end.h"

#include "scheduler/diagnose/wait_text.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/run/ending.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/submit/deliver.h"
#include "scheduler/submit/finish.h"
#include "scheduler/wait/deferred.h"

#include <cstdio>

namespace weft::internal {

namespace {

constexpr uint64_t kWithdrawsAgain = 100'000'000;  // ns
constexpr size_t kTextBytes = 4096, kWithdrawnBytes = 1024;

// The time until a deadline, for a text.
struct TimeLeft {
    explicit TimeLeft(uint64_t deadline) noexcept {
        const uint64_t now = env::Now(), left = deadline > now ? deadline - now : 0;
        const bool isLong = left >= 10'000'000'000;
        std::snprintf(text, sizeof text, "%llu %s",
                      static_cast<unsigned long long>(left / (isLong ? 1'000'000'000 : 1'000'000)),
                      isLong ? "s" : "ms");
    }
    char text[32];
};

// A list in a report. The first items are told, the others are only counted.
class ItemList {
public:
    static constexpr uint32_t kMost = 8;

    // `heading`: comes before the first item.
    ItemList(ReportText &text, const char *heading) noexcept : m_text(text), m_heading(heading) {}

    // Adds tasks of one submission that wait for a time, or for counters (kNever).
    void AddDeferred(const Deferred &tasks, uint64_t deadline) noexcept {
        if (!Begin(tasks.count)) return;
        const bool isTimed = deadline != Timers::kNever;
        AddName(!isTimed           ? "deferred task"
                : tasks.isPeriodic ? "periodic task"
                : tasks.isKept     ? "coroutine"
                                   : "timed task",
                tasks.count, tasks.name);
        isTimed ? m_text.Add(" (in %s)", TimeLeft(deadline).text)
                : m_text.Add(" (after a counter)");
    }

    // Adds a task that waits on its fiber. relaxed: for a report
    void AddWaiter(const WaiterInfo &waiter, const FiberWait &wait) noexcept {
        if (!Begin(1)) return;
        AddName("task", 1, waiter.task);
        const WaitKind kind = wait.kind.load(kRelaxed);
        const uint64_t deadline = wait.deadline.load(kRelaxed);
        if (kind == WaitKind::Call) return m_text.Add(" (in a blocking call)");
        if (kind == WaitKind::Operation) return m_text.Add(" (in an operation of AsyncIo)");
        if (waiter.lock != nullptr) return m_text.Add(" (waits for lock %p)", waiter.lock);
        if (kind == WaitKind::Sleep) return m_text.Add(" (sleeps for %s)", TimeLeft(deadline).text);
        if (deadline != Timers::kNever)
            return m_text.Add(" (waits for at most %s)", TimeLeft(deadline).text);
        if (kind == WaitKind::Several) return m_text.Add(" (waits for one of several counters)");
        m_text.Add(" (waits for counter %p)", static_cast<const void *>(waiter.counter));
    }

    // Ends the list. `others`: how many more tasks there are, of which nothing is known.
    void End(uint64_t others) noexcept {
        if (m_items > kMost) m_text.Add(" and %u more", m_items - kMost);
        if (others != 0)
            m_text.Add("%s%llu other %s", m_items == 0 ? m_heading : ", ",
                       static_cast<unsigned long long>(others), others == 1 ? "task" : "tasks");
    }

    uint64_t TaskCount() const noexcept { return m_tasks; }

private:
    // Counts the next item. Returns true if it is to be told.
    bool Begin(uint32_t tasks) noexcept {
        m_tasks += tasks;
        if (++m_items > kMost) return false;
        m_text.Add("%s", m_items == 1 ? m_heading : ", ");
        return true;
    }
    void AddName(const char *kind, uint32_t count, const char *name) noexcept {
        if (count > 1) m_text.Add("%u times ", count);
        name != nullptr ? m_text.Add("%s '%.40s'", kind, name)
                        : m_text.Add("%s without a name", kind);
    }

    ReportText &m_text;
    const char *const m_heading;
    uint64_t m_tasks = 0;
    uint32_t m_items = 0;
};

// Calls tell(deferred, handle) for all tasks that wait for counters or for a time. The object stays
// meanwhile.
template <class Tell>
void ForDeferred(Scheduler &scheduler, Worker *worker, Tell tell) noexcept {
    for (uint32_t index = 0; scheduler.deferred.Has(index); ++index) {
        const DeferredHandle handle = ReferTo(scheduler, index);
        if (handle.IsEmpty()) continue;
        Deferred &deferred = scheduler.deferred.At(index);
        tell(deferred, handle);
        Reach(scheduler, worker, deferred, 1);
    }
}

// Adds the external threads that are in a call, and the number of attached threads.
void AddGuests(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept {
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < graph.Count(); ++i) {
        const WaiterInfo &waiter = graph.At(i);
        if (!waiter.isExternal || waiting++ >= ItemList::kMost) continue;
        text.Add(waiting == 1 ? "; external threads wait for counter %p" : ", counter %p",
                 static_cast<const void *>(waiter.counter));
    }
    if (waiting > ItemList::kMost) text.Add(" and %u more", waiting - ItemList::kMost);
    // without workers Stop itself is attached
    const uint32_t attached = scheduler.attached.Value(),
                   others = attached - (scheduler.workerCount == 0 && attached != 0 ? 1 : 0);
    if (others != 0)
        text.Add("; %u %s attached", others, others == 1 ? "thread is" : "threads are");
}

// Adds all that keeps the run from ending, but not `withdrawn` tasks that have just been withdrawn.
void AddAwaited(ReportText &text, Scheduler &scheduler, Worker *worker,
                uint64_t withdrawn) noexcept {
    const WaitGraph graph(scheduler, AllIdle(scheduler));
    ItemList items(text, "; it waits for ");
    ForDeferred(scheduler, worker, [&](Deferred &deferred, const DeferredHandle &) {
        items.AddDeferred(deferred, scheduler.timers.DeadlineOf(deferred.timer));
    });
    for (uint32_t i = 0; i < graph.Count(); ++i) {
        const WaiterInfo &waiter = graph.At(i);
        if (!waiter.isExternal && waiter.fiber < scheduler.fiberCount)
            items.AddWaiter(waiter, scheduler.fibers[waiter.fiber].wait);
    }
    const uint64_t pending = PendingTasks(scheduler), known = items.TaskCount() + withdrawn;
    items.End(pending > known ? pending - known : 0);
    AddGuests(text, scheduler, graph);
    // relaxed: for a report
    if (const uint32_t outside =
            EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kRelaxed))
        text.Add("; external work that has not ended: %u", outside);
}

// The tasks are this thread's, so the group lives until they are handed over. Then it skips them.
bool Withdraw(Scheduler &scheduler, Worker *worker, const DeferredHandle &handle) noexcept {
    Deferred *const deferred = ClaimTasks(scheduler, handle);
    if (deferred == nullptr) return false;
    if (deferred->isPeriodic) GroupOf(deferred->tasks.newest->of)->Cancel();
    DeliverClaimed(scheduler, worker, *deferred, !deferred->isPeriodic);
    return true;
}

// Returns true if it has reported.
bool WithdrawAll(Scheduler &scheduler, Worker *worker) noexcept {
    scheduler.lateEnd.withdraws.store(true, kRelaxed);  // late readers: see the top of late_end.h
    ReportText text(scheduler.memory, kWithdrawnBytes);
    ItemList items(text, "; StopFor has withdrawn ");
    ForDeferred(scheduler, worker, [&](Deferred &deferred, const DeferredHandle &handle) {
        const uint64_t deadline = scheduler.timers.DeadlineOf(deferred.timer);
        if (!deferred.isKept && Withdraw(scheduler, worker, handle))
            items.AddDeferred(deferred, deadline);
    });
    if (items.TaskCount() == 0) return false;
    items.End(0);
    scheduler.lateEnd.hasWithdrawn = true;
    ReportLateEnd(scheduler, worker, text.Get(), items.TaskCount());
    return true;
}

}  // namespace

void ReportLateEnd(Scheduler &scheduler, Worker *worker, const char *withdrawn,
                   uint64_t count) noexcept {
    if (WasReported(scheduler, ReportCode::EndDelayed)) return;
    ReportText text(scheduler.memory, kTextBytes);
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

void EndIsLate(Scheduler &scheduler, Worker &worker) noexcept {
    const bool withdraws = scheduler.lateEnd.withdrawsAt != Timers::kNever;
    const bool isReported = withdraws && WithdrawAll(scheduler, &worker);
    if (!isReported && AnyGuest(scheduler)) {
        ReportLateEnd(scheduler, &worker, nullptr, 0);
    } else if (!isReported) {
        scheduler.lateEnd.isLate.store(true, kRelaxed);  // a worker that becomes idle sees it
    }
    if (withdraws) SetEndTimer(scheduler, &worker, env::Now() + kWithdrawsAgain);
}

}  // namespace weft::internal
