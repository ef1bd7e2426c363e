// Implements wait.h.
#include "scheduler/wait/wait.h"

#include "scheduler/policy/next_work.h"
#include "scheduler/policy/places.h"
#include "scheduler/run/fiber_switch.h"
#include "scheduler/run/idle_requests.h"
#include "scheduler/run/rescue.h"
#include "scheduler/run/run_work.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

// While it lives, the frame is the fiber's innermost one: a task of its counter may run inline.
// The frame lies beside this object, and not in it: g++ would take it for a dangling pointer.
class RunsInline {
public:
    RunsInline(Fiber &fiber, const InlineFrame &frame) noexcept
        : m_fiber(fiber), m_outer(std::exchange(fiber.inlined, &frame)) {}
    ~RunsInline() { m_fiber.inlined = m_outer; }
    RunsInline(const RunsInline &) = delete;
    RunsInline &operator=(const RunsInline &) = delete;

private:
    Fiber &m_fiber;
    const InlineFrame *const m_outer;
};

// An inline task has the whole stack that each task is guaranteed.
bool HasRoom(const Fiber &self) noexcept {
    return self.StackLeft() >= self.worker->scheduler->options.smallStackBytes;
}

// Takes the newest entry of an own deque if it is a task or a chunk of the counter.
bool PopOf(Worker &worker, const Counter &counter, Entry &entry) noexcept {
    const auto wants = [&](const Entry &next) { return next.TheCounter() == &counter; };
    const uint32_t home = worker.filter.home.index;
    if (worker.queue[home].PopIf(entry, wants)) return true;
    for (uint32_t levels = worker.holds & ~(1u << home); levels != 0; levels &= levels - 1) {
        if (worker.queue[LowestBit(levels)].PopIf(entry, wants)) return true;
    }
    return false;
}

// Runs tasks of the counter on the waiter's stack, while they are the newest of the worker and
// nothing else is due. Returns how many have finished that are not counted. kPrivate: nobody else
// waits for the counter. Otherwise each task is counted at once: if the fiber is left meanwhile,
// a waiter for a value above zero must not miss it.
template <bool kPrivate>
uint32_t RunInline(Fiber &self, Counter &counter, uint32_t most) noexcept {
    const InlineFrame frame{&counter, self.inlined};
    const RunsInline runs(self, frame);
    uint32_t ran = 0;
    while (ran != most && HasRoom(self) && !Point(*self.worker)) {
        Entry entry;
        if (!PopOf(*self.worker, counter, entry)) break;
        if (entry.TheKind() == Entry::Chunk) {
            RunChunk(self, entry.TheChunk());
        } else {
            CallTask(self, entry.TheTask());
            if (kPrivate)
                ++ran;
            else
                Ran(*self.worker, &counter, 1);
        }
    }
    return ran;
}

// A wait that is over is still a scheduling point.
void PointAfterWait(Fiber &self) noexcept {
    if (WEFT_UNLIKELY(Point(*self.worker))) Suspend(self, Destination::ToReady);
    if (WEFT_UNLIKELY(self.IsThreadStack())) AnswerBeforeHost(*self.worker);
}

// Leaves the fiber until the wait is over, and runs tasks that it is given meanwhile.
bool SuspendUntil(Fiber &self, const WaitFor &what) noexcept {
    FiberWait &wait = self.wait;
    for (;;) {
        wait.counter = &what.counter;
        wait.target = what.value;
        wait.deadline = what.deadline;
        wait.timedOut = false;
        wait.hasRoom = HasRoom(self);
        wait.name.store(self.task.name, kRelaxed);  // for reports, both
        wait.shown.store(&what.counter, kRelaxed);
        Suspend(self, Destination::ToWaiting);
        if (wait.rescue.IsEmpty()) break;
        const Entry entry = std::exchange(wait.rescue, {});
        if (HasRoom(self)) {
            // the entry's counter, or one further in
            const InlineFrame frame{entry.TheCounter(), self.inlined};
            const RunsInline runs(self, frame);
            RunEntry(self, entry);
            Flush(*self.worker);
        } else {
            PutBehind(*self.worker, {entry, self.level, false});
        }
        if (!IsReached(what.counter, what.value)) continue;
        wait.shown.store(nullptr, kRelaxed);
        return true;
    }
    wait.shown.store(nullptr, kRelaxed);
    wait.deadline = Timers::kNever;
    if (WEFT_UNLIKELY(self.IsThreadStack())) AnswerBeforeHost(*self.worker);
    if (what.deadline == Timers::kNever) return true;
    self.worker->scheduler->timers.Clear(wait.timer);
    return !wait.timedOut || IsReached(what.counter, what.value);
}

bool WaitHere(Fiber &self, const WaitFor &what) noexcept {
    // A task that waits on this stack would keep a timed wait beyond its deadline.
    if (what.value == 0 && what.deadline == Timers::kNever)
        RunInline<false>(self, what.counter, ~0u);
    Flush(*self.worker);
    if (IsReached(what.counter, what.value)) {
        PointAfterWait(self);
        return true;
    }
    if (what.deadline != Timers::kNever && env::Now() >= what.deadline) return false;
    return SuspendUntil(self, what);
}

// Limits what the worker begins while a task on it waits.
class Limited {
public:
    Limited(Worker &worker, Meanwhile meanwhile) noexcept
        : m_worker(worker), m_limit(LimitOf(meanwhile)) {
        if (m_limit == kPriorities) return;
        ++worker.filter.limits[m_limit];
        NoteFilter(worker);
        WakeMore(*worker.scheduler, &worker);  // others take what it leaves
    }
    ~Limited() {
        if (m_limit == kPriorities) return;
        --m_worker.filter.limits[m_limit];
        NoteFilter(m_worker);
    }
    Limited(const Limited &) = delete;
    Limited &operator=(const Limited &) = delete;

private:
    // The priorities below the limit may run.
    static uint32_t LimitOf(Meanwhile meanwhile) noexcept {
        switch (meanwhile) {
            case Meanwhile::AnyTask:
                return kPriorities;
            case Meanwhile::NormalOrHigher:
                return 2;
            case Meanwhile::HighOnly:
                return 1;
            default:
                return 0;
        }
    }

    Worker &m_worker;
    const uint32_t m_limit;
};

}  // namespace

bool Wait(Worker &worker, const WaitFor &what) noexcept {
    Fiber &self = *worker.current;
    if (what.meanwhile == Meanwhile::AnyTask && what.resume == ResumeOn::AnyWorker)
        return WaitHere(self, what);
    const uint32_t pinnedTo = std::exchange(self.pinnedTo, worker.index);
    if (pinnedTo == kAnyWorker) Bind(*worker.scheduler, &worker, worker, 1);
    bool reached;
    {
        const Limited limited(worker, what.meanwhile);
        reached = WaitHere(self, what);
    }
    self.pinnedTo = pinnedTo;
    if (pinnedTo == kAnyWorker) Unbind(*worker.scheduler, &worker, worker, 1);
    return reached;
}

void SubmitAndWait(Worker &worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept {
    Fiber &self = *worker.current;
    Scheduler &scheduler = *worker.scheduler;
    Flush(worker);
    Counter counter;
    if (options.worker != kAnyWorker || !HasRoom(self)) {
        if (Submit(scheduler, &worker, count, tasks, &counter, options)) Wait(worker, {counter});
        return;
    }
    const Level level = LevelOf(&worker, options);
    const TasksOf of{&counter, options.name};
    RaiseNow(scheduler, counter, count);
    AddTo(worker.submitted, count, kRelaxed);
    if (count == 2)
        PushEntry(worker, level, Entry::Of(tasks[1], of));
    else if (count > 2)
        Enqueue(scheduler, &worker, count - 1, tasks + 1, of, level, kAnyWorker);
    {
        const InlineFrame frame{&counter, self.inlined};
        const RunsInline runs(self, frame);
        CallTask(self, tasks[0]);
    }
    const uint32_t ran = 1 + RunInline<true>(self, counter, count - 1);
    Worker &now = *self.worker;
    if (WEFT_LIKELY(ran == count) && IsReached(counter, count)) {
        AddTo(now.ended, count, kRelease);
        return PointAfterWait(self);
    }
    Ran(now, &counter, ran);
    Flush(now);
    if (!IsReached(counter, 0)) SuspendUntil(self, {counter});
}

void YieldFiber(Worker &worker) noexcept {
    Fiber &self = *worker.current;
    OweFairPick(worker);
    Suspend(self, Destination::ToBack);
    if (WEFT_UNLIKELY(self.IsThreadStack())) AnswerBeforeHost(*self.worker);
}

}  // namespace weft::internal
