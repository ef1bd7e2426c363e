// Implements wait.h.
#include "scheduler/wait/wait.h"

#include "scheduler/policy/ordered.h"
#include "scheduler/policy/places.h"
#include "scheduler/run/run.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// While it lives, the frame is the fiber's innermost one: a task of its counter may run inline.
// The frame lies beside this object, and not in it: g++ would take it for a dangling pointer.
class RunsInline {
public:
    RunsInline(Fiber &fiber, InlineFrame &frame, Counter *counter, const char *name) noexcept
        : m_fiber(fiber), m_frame(frame) {
        frame = {counter, fiber.name.load(kRelaxed), fiber.inlined};
        fiber.inlined = &frame;
        fiber.name.store(name, kRelaxed);
    }
    ~RunsInline() {
        m_fiber.name.store(m_frame.outerName, kRelaxed);
        m_fiber.inlined = m_frame.outer;
    }

private:
    Fiber &m_fiber;
    InlineFrame &m_frame;
};

// Returns true if work of the level must not run on top of this fiber. Low work of no group may be
// limited to some groups. If it waited here, a fiber of higher priority could continue elsewhere.
// relaxed: any of the values will do
bool WouldLeaveGroups(const Fiber &self, Level level) noexcept {
    return level.Bit() == Level(Priority::Low).Bit() && self.own != Priority::Low &&
           self.worker->scheduler->lowGroups.load(kRelaxed) != 0;
}

// Takes the newest entry of an own deque if it belongs to the counter.
WEFT_FORCEINLINE bool Pop(Worker &worker, Level level, const Counter &counter,
                          Entry &entry) noexcept {
    return worker.queue[level.Index()].PopIf(
        entry, [&](const Entry &next) { return next.TheCounter() == &counter; });
}

WEFT_NOINLINE bool PopOfLevels(const Fiber &self, uint32_t levels, const Counter &counter,
                               Entry &entry) noexcept {
    for (; levels != 0; levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (!WouldLeaveGroups(self, level) && Pop(*self.worker, level, counter, entry)) return true;
    }
    return false;
}

uint32_t LevelsOnTop(const Fiber &self) noexcept {
    return LevelsOf(1u << self.level.Slot()) & self.worker->filter.runs;
}

// Pops from any deque of the waiter's group. If a task of another group waited on top, it could
// continue in the waiter's group.
WEFT_FORCEINLINE bool PopOf(const Fiber &self, const Counter &counter, Entry &entry) noexcept {
    Worker &worker = *self.worker;
    const uint32_t ofGroup = LevelsOnTop(self);
    const Level home = worker.filter.home;
    if ((ofGroup & home.Bit()) != 0 && Pop(worker, home, counter, entry)) return true;
    const uint32_t others = worker.holds & ofGroup & ~home.Bit();
    if (WEFT_LIKELY(others == 0)) return false;
    Entry other;  // so that `entry` stays in registers
    if (!PopOfLevels(self, others, counter, other)) return false;
    entry = other;
    return true;
}

// Returns true if all tasks of the counter have finished here, and are only not counted off yet.
bool HasRunAll(const Worker &worker, const Counter &counter) noexcept {
    // relaxed: if others have finished some of them, the caller looks again
    return worker.finished.counter == &counter &&
           CounterWord{CounterAccess::Word(counter).load(kRelaxed)}.Count() ==
               worker.finished.tasks;
}

// Returns true if a task of this level may run on top of the fiber: it has the same group, and no
// wait of another fiber forbids the fiber's priority on this worker.
bool MayRunOnTop(const Fiber &self, Level level) noexcept {
    const Filter &filter = self.worker->filter;
    if (WEFT_LIKELY(level == self.level && level == filter.home && !filter.isSpecial)) return true;
    return level.Slot() == self.level.Slot() && (filter.runs & level.Bit()) != 0 &&
           (filter.May(self.level) || self.IsThreadStack()) && !WouldLeaveGroups(self, level);
}

// Runs tasks of the frame's counter on the waiter's stack, while they are the newest of the worker
// and nothing else is due. Returns how many have finished that are not counted. kPrivate: nobody
// else waits for the counter, and the tasks are not traced. Otherwise each task is counted at once:
// if the fiber is left meanwhile, a waiter for a value above zero must not miss it. `pop`: takes
// such a task.
template <bool kPrivate, class Pop>
WEFT_FORCEINLINE uint32_t RunInline(Fiber &self, InlineFrame &frame, uint32_t most,
                                    Pop pop) noexcept {
    Counter &counter = *frame.counter;
    uint32_t ran = 0;
    while (ran != most && self.HasRoom()) {
        Entry entry;
        if (WEFT_UNLIKELY(Point(*self.worker))) {
            Entry drawn;  // so that `entry` stays in registers
            if (!IsOrdered(*self.worker->scheduler) ||
                !DrawInline(*self.worker, counter, LevelsOnTop(self), drawn))
                break;
            entry = drawn;
        } else if (!pop(entry)) {
            break;
        }
        self.name.store(entry.Name(), kRelaxed);
        if (kPrivate && entry.TheKind() == Entry::Task) {
            RunTask(self, entry.UntracedTask(), GroupOf(entry));
            ++ran;
        } else {
            RunEntry(self, entry);
        }
        self.worker->figures.Count(&Figures::inlineRuns);
        if (!kPrivate && HasRunAll(*self.worker, counter)) break;
    }
    return ran;
}

// The newest own tasks of the counter get the priority of a waiter for zero, which is higher. A
// waiter for another value needs only some of them. They do not overtake own tasks that have this
// priority anyway. `levels`: where they may lie.
WEFT_NOINLINE void Lend(const Fiber &self, const Counter &counter, uint32_t levels) noexcept {
    constexpr uint32_t kMost = 64;
    Worker &worker = *self.worker;
    for (; levels != 0 && worker.queue[self.level.Index()].LooksEmpty(); levels &= levels - 1) {
        const Level level = Level::At(LowestBit(levels));
        if (WouldLeaveGroups(self, level)) continue;
        Entry entries[kMost];
        uint32_t count = 0;
        while (count < kMost && Pop(worker, level, counter, entries[count])) ++count;
        for (uint32_t i = count; i-- > 0;) {
            if (entries[i].TheKind() == Entry::Chunk) entries[i].TheChunk().level = self.level;
            Push(worker, self.level, entries[i]);
        }
        if (count != 0) Published(*worker.scheduler, &worker, self.level, count);
    }
}

void EmitWait(const Fiber &self, TraceKind kind, const WaitFor &what) noexcept {
    EmitNow(*self.worker->scheduler, self.worker, kind, &what.counter, what.value, kAnyWorker);
}

// Runs work on top of the frames of the calling fiber. Pinned work keeps the fiber on its worker
// meanwhile.
WEFT_NOINLINE void RunOnTop(Fiber &self, const Work &work) noexcept {
    InlineFrame frame;
    const RunsInline runs(self, frame, work.entry.TheCounter(), work.entry.Name());
    const uint32_t pinnedTo = self.pinnedTo;
    const Priority own = self.own;
    const Level level = self.level;
    if (work.isPinned) {
        self.pinnedTo = self.worker->index;
        race::ComesToThread(self.worker);
    }
    if (WouldLeaveGroups(self, work.level)) {
        self.own = Priority::Low;
        self.level = work.level;
    }
    RunEntry(self, work.entry);
    if (work.isPinned) race::LeavesThread(self.worker);
    Flush(*self.worker);
    self.pinnedTo = pinnedTo;
    self.own = own;
    self.level = level;
    if (work.isPinned) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
}

// Leaves the fiber until the wait is over, and runs tasks that it is given meanwhile.
bool SuspendUntil(Fiber &self, const WaitFor &what) noexcept {
    FiberWait &wait = self.wait;
    const bool isTraced = IsTraced(*self.worker->scheduler);
    for (;;) {
        BeginWait(self, what);
        wait.timedOut = false;
        wait.hasRoom = self.HasRoom();
        if (isTraced) EmitWait(self, TraceKind::Wait, what);
        Suspend(self, Destination::ToWaiting);
        if (isTraced) EmitWait(self, TraceKind::Resume, what);
        if (!self.start) break;
        wait.counter.store(nullptr, kRelaxed);
        const Work work = std::exchange(self.start, {});
        if (self.HasRoom())
            RunOnTop(self, work);
        else
            PutBehind(*self.worker, work);
        if (!IsReached(what.counter, what.value)) continue;
        // this worker may run what has run on top, but perhaps not the waiter
        if (!self.worker->filter.May(self.level) && self.pinnedTo == kAnyWorker)
            Suspend(self, Destination::ToReady);
        return true;
    }
    if (!wait.timedOut) race::SawCount(what.counter);
    wait.deadline.store(Timers::kNever, kRelaxed);
    if (WEFT_UNLIKELY(self.IsThreadStack())) AnswerBeforeHost(*self.worker);
    if (what.deadline == Timers::kNever) return true;
    self.worker->scheduler->timers.Clear(wait.timer);
    return !wait.timedOut || IsReached(what.counter, what.value);
}

bool WaitHere(Fiber &self, const WaitFor &what) noexcept {
    env::PrefetchForWrite(&CounterAccess::Word(what.counter));  // RegisterWaiter writes it
    const uint32_t below = self.worker->holds & LevelsOnTop(self) & -(self.level.Bit() << 1);
    if (WEFT_UNLIKELY(below != 0) && what.value == 0) Lend(self, what.counter, below);
    // A task that waits on this stack would keep a timed wait beyond its deadline. And another wait
    // may forbid work of the waiter's level on this worker.
    if (!race::kFinder && what.value == 0 && what.deadline == Timers::kNever &&
        (self.worker->filter.May(self.level) || self.IsThreadStack() ||
         what.meanwhile == Meanwhile::OwnTasks)) {
        InlineFrame frame;
        const RunsInline runs(self, frame, &what.counter, self.name.load(kRelaxed));
        RunInline<false>(self, frame, ~0u,
                         [&](Entry &entry) { return PopOf(self, what.counter, entry); });
    }
    Flush(*self.worker, true);
    const bool isReached = IsReached(what.counter, what.value);
    if (!isReached &&
        (what.deadline == Timers::kNever || TimeOf(*self.worker->scheduler) < what.deadline))
        return SuspendUntil(self, what);
    if (isReached && IsTraced(*self.worker->scheduler)) EmitWait(self, TraceKind::Satisfied, what);
    PassPoint(self);
    return isReached || IsReached(what.counter, what.value);
}

// The task comes back to this worker. Waits on one worker need not end in order.
bool WaitForOwn(Worker &worker, const WaitFor &what) noexcept {
    Fiber &self = *worker.current;
    // relaxed: it is only a number
    const uint32_t number = worker.scheduler->scopes.fetch_add(1, kRelaxed);
    OwnWait wait{&what.counter,   number % Entry::kMostScopes + 1,
                 &self,           worker.comesNext,
                 worker.ownWaits, env::Ticks() - worker.scheduler->tuning.millisecond};
    worker.ownWaits = &wait;
    const uint32_t outer = std::exchange(self.scope, wait.scope);
    NoteFilter(worker);
    const bool isReached = WaitHere(self, what);
    OwnWait **link = &worker.ownWaits;
    while (*link != &wait) link = &(*link)->next;
    *link = wait.next;
    self.scope = outer;
    return isReached;
}

// With SchedulerOptions::migrateAfterWait: the task continues on another worker, unless it is bound
// to this one. It tries for ten milliseconds, because others may be busy or may not run it. It asks
// for no fair pick, as a yield does: that could begin more tasks, which hold more fibers.
WEFT_NOINLINE void Migrate(Fiber &self, const Worker &before) noexcept {
    constexpr uint32_t kMostPauses = 1024;  // so that a trace does not fill up with yields
    Scheduler &scheduler = *before.scheduler;
    const uint64_t end = env::Now() + 10'000'000;
    const auto mayMove = [&] {
        return self.worker == &before && self.pinnedTo == kAnyWorker &&
               before.comesNext == nullptr &&
               scheduler.workerCount + scheduler.guests.attached.Value() >= 2;
    };
    for (uint32_t pauses = 1; mayMove() && env::Now() < end;
         pauses = std::min(2 * pauses, kMostPauses)) {
        for (uint32_t i = 1; i < pauses; ++i) env::Pause();
        Emit(scheduler, self.worker, TraceKind::Yield);
        Suspend(self, Destination::ToBack);
    }
}

// Leaves the fiber for pinned work. Whenever that work is left, the fiber comes next on this worker
// (Worker::comesNext). Without a free fiber a task runs on the caller's own stack. If it waits, the
// caller cannot go on.
void RunOne(Fiber &self, const Work &work) noexcept {
    Worker &worker = *self.worker;
    Fiber *to = work.entry.TheKind() == Entry::Fiber ? &work.entry.TheFiber() : nullptr;
    if (to == nullptr) to = AcquireFiber(worker, work);
    // Makes tasks count as long, so that only one task of a chunk begins.
    worker.fair.budget = worker.fair.period = 1;
    if (to == nullptr) return RunOnTop(self, work);
    Fiber *const outer = std::exchange(worker.comesNext, &self);
    NoteFilter(worker);
    race::LeavesThread(&worker);
    SwitchTo(self, *to, Destination::None);
    race::ComesToThread(&worker);
    worker.comesNext = outer;
    NoteFilter(worker);
}

}  // namespace

void BeginWait(Fiber &self, const WaitFor &what) noexcept {
    FiberWait &wait = self.wait;
    wait.counter.store(&what.counter, kRelaxed);
    wait.target.store(what.value, kRelaxed);
    wait.deadline.store(what.deadline, kRelaxed);
    wait.kind.store(what.kind, kRelaxed);
    const InlineFrame *frame = self.inlined;
    for (std::atomic<const Counter *> &shown : wait.inlined) {
        shown.store(frame != nullptr ? frame->counter : nullptr, kRelaxed);
        if (frame == nullptr) return;
        frame = frame->outer;
    }
}

bool LeaveAtPoint(Fiber &self, bool calls) noexcept {
    const bool isLeft = calls && (!IsOrdered(*self.worker->scheduler) || DrawPoint(*self.worker));
    if (isLeft) Suspend(self, Destination::ToReady);
    if (self.IsThreadStack()) AnswerBeforeHost(*self.worker);
    return isLeft;
}

void PrepareToBlock(Worker &worker) noexcept {
    ReleaseClaims(worker);
    Flush(worker);
    if (worker.handOver.isQuiet) EndQuiet(worker);
}

static WEFT_NOINLINE bool WaitSpecially(Worker &worker, const WaitFor &what) noexcept {
    Fiber &self = *worker.current;
    // Does not block a thread that runs several workers (RunAbsentWorkers), or the only thread of a
    // run with an order, where PassTime lets deadlines fall due.
    if (WEFT_UNLIKELY(what.meanwhile == Meanwhile::Nothing) && !worker.leaves &&
        worker.scheduler->order == nullptr)
        return BlockThread(worker, what);
    if (what.meanwhile == Meanwhile::AnyTask && what.resume == ResumeOn::AnyWorker) {
        const bool isReached = WaitHere(self, what);
        Migrate(self, worker);
        return isReached;
    }
    const uint32_t pinnedTo = std::exchange(self.pinnedTo, worker.index);
    if (pinnedTo == kAnyWorker) race::ComesToThread(&worker);
    if (pinnedTo == kAnyWorker) Bind(*worker.scheduler, &worker, worker, 1);
    // AnyTask: no limit. NormalOrHigher: the two higher priorities, and so on.
    const uint32_t limit = what.meanwhile < Meanwhile::OwnTasks
                               ? kPriorities - static_cast<uint32_t>(what.meanwhile)
                               : 0;
    ++worker.filter.limits[limit];
    if (limit != kPriorities) NoteFilter(worker);
    const bool isReached =
        what.meanwhile == Meanwhile::OwnTasks ? WaitForOwn(worker, what) : WaitHere(self, what);
    --worker.filter.limits[limit];
    if (limit != kPriorities) NoteFilter(worker);
    self.pinnedTo = pinnedTo;
    if (pinnedTo == kAnyWorker) Unbind(*worker.scheduler, &worker, worker, 1);
    return isReached;
}

bool Wait(Worker &worker, const WaitFor &what) noexcept {
    // in this order: g++ would read two fresh bytes at once, and stall [bench row fork_join]
    const bool isUsual = what.meanwhile == Meanwhile::AnyTask &&
                         (worker.submitBits & kMigrates) == 0 && what.resume == ResumeOn::AnyWorker;
    return WEFT_LIKELY(isUsual) ? WaitHere(*worker.current, what) : WaitSpecially(worker, what);
}

void SubmitAndWait(Worker &worker, uint32_t count, const Task *tasks,
                   const TaskOptions &options) noexcept {
    Fiber &self = *worker.current;
    Scheduler &scheduler = *worker.scheduler;
    Flush(worker);
    Counter counter;
    const Level level = LevelOf(scheduler, &worker, options);
    if (race::kFinder || options.worker != kAnyWorker || !MayRunOnTop(self, level) ||
        !self.HasRoom() || worker.submitBits != 0) {
        if (Submit(scheduler, &worker, count, tasks, &counter, options)) Wait(worker, {counter});
        return;
    }
    const TasksOf of = TasksWith(&worker, &counter, options);
    scheduler.counters.Begin(CounterAccess::Word(counter), count);
    AddTo(worker.submitted, count, kRelaxed);
    if (count == 2)
        PushEntry(worker, level, Entry::Of(tasks[1], of));
    else if (count > 2)
        Enqueue(scheduler, &worker, count - 1, tasks + 1, of, level, kAnyWorker);
    uint32_t ran = 1;
    {
        InlineFrame frame;
        const RunsInline runs(self, frame, &counter, options.name);
        RunTask(self, tasks[0], nullptr);
        self.worker->figures.Count(&Figures::inlineRuns);
        ran += RunInline<true>(self, frame, count - 1, [&](Entry &entry) {
            return Pop(*self.worker, level, counter, entry);
        });
    }
    Worker &now = *self.worker;
    if (WEFT_LIKELY(ran == count) && IsReached(counter, count)) {
        AddTo(now.ended, count, kRelaxed);
        AddTo(now.counted, count, kRelease);  // see PendingTasks
        PassPoint(self);
        return;
    }
    Ran(now, &counter, ran);
    Flush(now);
    if (!IsReached(counter, 0)) SuspendUntil(self, {counter});
}

void YieldFiber(Worker &worker) noexcept {
    Fiber &self = *worker.current;
    worker.fair.isUrgent = worker.fair.isAsked = true;
    worker.fair.budget = 0;  // the next pick reads the clock: the fair one is measured alone
    Emit(*worker.scheduler, &worker, TraceKind::Yield);
    Suspend(self, Destination::ToBack);
    if (WEFT_UNLIKELY(self.IsThreadStack())) AnswerBeforeHost(*self.worker);
}

// Work that is pinned during the call waits for the next call. So if a task yields, the caller goes
// on. The work may include the attached thread's own fiber, which may call DetachThread. Bind keeps
// the thread attached until the caller has continued.
uint32_t RunPinned(Worker &worker, uint32_t max) noexcept {
    Fiber &self = *worker.current;
    const bool binds = self.pinnedTo == kAnyWorker;
    if (binds) Bind(*worker.scheduler, &worker, worker, 1);
    ReleaseClaims(worker);
    Flush(worker);
    TakeArrivals(worker);
    uint32_t ran = 0;
    for (; ran != max; ++ran) {
        const Work work = TakePinned(*self.worker, kAllLevels);
        if (!work) break;
        RunOne(self, work);
    }
    if (binds) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
    if (self.IsThreadStack()) AnswerBeforeHost(*self.worker);
    return ran;
}

}  // namespace weft::internal
