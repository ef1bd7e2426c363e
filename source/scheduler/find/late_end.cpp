// Implements late_end.h.
#include "scheduler/find/late_end.h"

#include "scheduler/find/stall.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/timing.h"

#include <cstdio>

namespace weft::internal {

namespace {

constexpr size_t kLateTextBytes = 4096;

// The time until a deadline, for a text.
struct TimeLeft {
    TimeLeft(uint64_t deadline, uint64_t now) noexcept {
        const uint64_t left = deadline > now ? deadline - now : 0;
        const bool isLong = left >= 10'000'000'000;
        std::snprintf(text, sizeof text, "%llu %s",
                      static_cast<unsigned long long>(left / (isLong ? 1'000'000'000 : 1'000'000)),
                      isLong ? "s" : "ms");
    }
    char text[32];
};

// The timer of a wait.
struct WaitTimer {
    TimerKind kind = TimerKind::Other;  // Sleep; or Wait: it has counters, too
    uint64_t deadline = Timers::kNever;
};

// Returns that of the wait for this counter of weft's own.
WaitTimer TimerOfWait(Scheduler &scheduler, const Counter *counter) noexcept {
    WaitTimer found;
    scheduler.timers.ForEach([&](const Timer &timer) {
        const Expiry &its = timer.expiry;
        const Counter *done = nullptr;
        if (its.kind == TimerKind::Sleep) done = static_cast<const Counter *>(its.owner);
        if (its.kind == TimerKind::Wait)
            done = &DoneCounterOf(scheduler,
                                  static_cast<uint32_t>(reinterpret_cast<uintptr_t>(its.owner)));
        if (done != nullptr && done == counter) found = {its.kind, timer.deadline};
    });
    return found;
}

// Adds the tasks that wait for a time. They are copied under the lock of the timers, and told
// afterwards.
void AddTimed(ItemList &items, Scheduler &scheduler) noexcept {
    struct Seen {
        const char *name;
        uint64_t deadline;
        bool isKept;
    } seen[ItemList::kMost];
    uint32_t count = 0;
    scheduler.timers.ForEach([&](const Timer &timer) {
        if (timer.expiry.kind != TimerKind::Task) return;
        const TimedTask &timed = *static_cast<const TimedTask *>(timer.expiry.owner);
        if (count++ < ItemList::kMost)
            seen[count - 1] = {timed.block->label.name, timer.deadline, timed.isKept};
    });
    for (uint32_t i = 0; i < count; ++i) {
        const Seen &its =
            seen[i < ItemList::kMost ? i : 0];  // those that are not told need no name
        items.AddDeferred(its.isKept ? "coroutine" : "timed task", 1, its.name, its.deadline);
    }
}

// Adds the tasks that wait for counters, and the timed ones with a handle or a group.
void AddBatches(ItemList &items, Scheduler &scheduler, Worker *worker) noexcept {
    for (uint32_t index = 0; scheduler.batches.Has(index); ++index) {
        if (HoldBatch(scheduler, index).IsEmpty()) continue;
        const DeferredBatch &batch = scheduler.batches.At(index);
        items.AddDeferred(batch.isTimed ? KindOfTimed(*batch.oldest) : "deferred task", batch.count,
                          batch.oldest->label.name, DeadlineOfBatch(items, scheduler, index));
        ReachForBatch(scheduler, worker, index, 1);
    }
}

void AddSingles(ItemList &items, Scheduler &scheduler, Worker *worker) noexcept {
    for (uint32_t index = 0; scheduler.singles.Has(index); ++index) {
        TaskBlock &block = scheduler.singles.At(index);
        if (!HoldTask(block)) continue;
        items.AddDeferred("deferred task", 1, block.label.name, Timers::kNever);
        LetTaskGo(scheduler, worker, block);
    }
}

// Adds the external threads that are in a call, and the number of attached threads.
void AddGuests(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept {
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < graph.Count(); ++i) {
        const WaiterInfo &waiter = graph.At(i);
        if (!waiter.isExternal) continue;
        if (waiting++ >= ItemList::kMost) continue;
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
    const WaitGraph graph(scheduler, AllAsleep(scheduler));
    ItemList items(text, scheduler, "; it waits for ");
    AddTimed(items, scheduler);
    AddBatches(items, scheduler, worker);
    AddSingles(items, scheduler, worker);
    for (uint32_t i = 0; i < graph.Count(); ++i) {
        if (!graph.At(i).isExternal && graph.At(i).fiber < scheduler.FiberCount())
            items.AddWaiter(graph.At(i));
    }
    const uint64_t pending = PendingTasks(scheduler), known = items.TaskCount() + withdrawn;
    items.End(pending > known ? pending - known : 0);
    AddGuests(text, scheduler, graph);
    // relaxed: for a report
    if (const uint32_t outside =
            EntryGate::StateOf(*scheduler.taskScheduler).outside.load(kRelaxed))
        text.Add("; external work that has not ended: %u", outside);
}

}  // namespace

ItemList::ItemList(ReportText &text, Scheduler &scheduler, const char *heading) noexcept
    : m_text(text), m_scheduler(scheduler), m_heading(heading), m_now(TimeOf(scheduler)) {}

bool ItemList::Begin(uint32_t tasks) noexcept {
    m_tasks += tasks;
    if (++m_items > kMost) return false;
    m_text.Add("%s", m_items == 1 ? m_heading : ", ");
    return true;
}

void ItemList::AddName(const char *kind, uint32_t count, const char *name) noexcept {
    if (count > 1) m_text.Add("%u times ", count);
    name != nullptr ? m_text.Add("%s '%.40s'", kind, name) : m_text.Add("%s without a name", kind);
}

void ItemList::AddDeferred(const char *kind, uint32_t count, const char *name,
                           uint64_t deadline) noexcept {
    if (!Begin(count)) return;
    AddName(kind, count, name);
    if (deadline == Timers::kNever) return m_text.Add(" (after a counter)");
    m_text.Add(" (in %s)", TimeLeft(deadline, m_now).text);
}

void ItemList::AddWaiter(const WaiterInfo &waiter) noexcept {
    if (!Begin(1)) return;
    AddName("task", 1, waiter.task);
    // relaxed: for a report
    const WaitKind kind = m_scheduler.fibers[waiter.fiber].waitKind.load(kRelaxed);
    if (kind == WaitKind::Call) return m_text.Add(" (in a blocking call)");
    if (kind == WaitKind::Operation) return m_text.Add(" (in an operation of AsyncIo)");
    if (waiter.lock != nullptr) return m_text.Add(" (waits for lock %p)", waiter.lock);
    const WaitTimer timer =
        kind == WaitKind::Time ? TimerOfWait(m_scheduler, waiter.counter) : WaitTimer();
    const TimeLeft left(timer.deadline, m_now);
    if (timer.kind == TimerKind::Sleep) return m_text.Add(" (sleeps for %s)", left.text);
    if (timer.kind == TimerKind::Wait) return m_text.Add(" (waits for at most %s)", left.text);
    if (kind == WaitKind::Several) return m_text.Add(" (waits for one of several counters)");
    m_text.Add(" (waits for counter %p)", static_cast<const void *>(waiter.counter));
}

void ItemList::End(uint64_t others) noexcept {
    if (m_items > kMost) m_text.Add(" and %u more", m_items - kMost);
    if (others != 0)
        m_text.Add("%s%llu other %s", m_items == 0 ? m_heading : ", ",
                   static_cast<unsigned long long>(others), others == 1 ? "task" : "tasks");
}

const char *KindOfTimed(const TaskBlock &block) noexcept {
    const TaskGroup *const group = GroupOf(block.counter.Get());
    return group != nullptr && TaskGroupAccess::IsPeriodic(*group) ? "periodic task" : "timed task";
}

// Looks at all timers, so only for an item that is told.
uint64_t DeadlineOfBatch(const ItemList &items, Scheduler &scheduler, uint32_t index) noexcept {
    uint64_t deadline = Timers::kNever;
    if (items.IsFull()) return deadline;
    void *const owner = reinterpret_cast<void *>(uintptr_t{index});
    scheduler.timers.ForEach([&](const Timer &timer) {
        if (timer.expiry.kind == TimerKind::Batch && timer.expiry.owner == owner)
            deadline = timer.deadline;
    });
    return deadline;
}

void ReportLateEnd(Scheduler &scheduler, Worker *worker, const char *withdrawn,
                   uint64_t count) noexcept {
    if (WasReported(scheduler, ReportCode::EndDelayed)) return;
    ReportText text(scheduler.memory, kLateTextBytes);
    const uint64_t after = (TimeOf(scheduler) - scheduler.lateEnd.wantedAt) / 1'000'000;
    text.Add("the run should end, and has not ended after %llu ms%s",
             static_cast<unsigned long long>(after), withdrawn != nullptr ? withdrawn : "");
    AddAwaited(text, scheduler, worker, count);
    ReportTextOnce(scheduler, ReportCode::EndDelayed,
                   "Before the end, cancel periodic and timed tasks, lower the counters, and let "
                   "threads leave calls, onReport and AttachThread; or call StopFor (weft/time.h), "
                   "which withdraws tasks that have not begun.",
                   text.Get());
}

}  // namespace weft::internal
