// Implements wait.h. A wait first tries to run tasks of its counter inline (run_inline.h), then
// suspends the fiber (fiber_switch.h).
#include "scheduler/wait/wait.h"

#include "platform/compiler.h"
#include "scheduler/find/claim.h"
#include "scheduler/find/own_tasks.h"
#include "scheduler/find/pinned.h"
#include "scheduler/find/run_task.h"
#include "scheduler/state/counter_ops.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/notify.h"
#include "scheduler/submit/pending.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/fiber_switch.h"
#include "scheduler/wait/idle_requests.h"
#include "scheduler/wait/run_inline.h"
#include "scheduler/wait/sleep.h"
#include "scheduler/wait/urgent.h"

#include <algorithm>

namespace weft::internal {

namespace {

WEFT_FORCEINLINE void TraceWait(const Fiber *self, TraceKind kind, const Counter *counter,
                                uint32_t value) noexcept {
    Emit(*self->worker->scheduler, self->worker, kind, [=](TraceEvent &event) {
        event.count = value;
        event.task = self->taskName.load(kRelaxed);  // written by this thread
        event.counter = counter;
    });
}

// Notes for reports which counters the tasks lower that run on top of the fiber's outermost one.
// `outside`: the innermost frame outside of this wait.
WEFT_FORCEINLINE void NoteInlineCounters(Fiber *self, const WaitFrame *outside) noexcept {
    for (std::atomic<const Counter *> &slot : self->inlineCounters) {
        slot.store(outside != nullptr ? outside->counter : nullptr, kRelaxed);
        if (WEFT_LIKELY(outside == nullptr)) return;
        outside = outside->outer;
    }
}

// Sets what the fiber waits for, and traces the wait.
WEFT_FORCEINLINE void BeginWait(Fiber *self, Counter &counter, uint32_t value,
                                const WaitFrame *outside) noexcept {
    self->isReady.store(false, kRelaxed);  // for reports
    NoteInlineCounters(self, outside);
    self->waitTarget.store(value, kRelaxed);
    self->waitsFor.store(&counter, kRelaxed);  // read on this thread by RegisterWaiter
    TraceWait(self, TraceKind::Wait, &counter, value);
}

WEFT_FORCEINLINE void EndWait(Fiber *self, Counter &counter, uint32_t value) noexcept {
    self->waitsFor.store(nullptr, kRelaxed);  // for reports
    TraceWait(self, TraceKind::Resume, &counter, value);
}

// Suspends the fiber until the wait is over. A wait for zero also ends if the fiber is handed a
// task of its counter (rescue.h). Returns true in that case.
bool SuspendOrTake(Fiber *self, Counter &counter, uint32_t value, TaskEntry &handed) noexcept {
    const Scheduler &scheduler = *self->worker->scheduler;
    const uint32_t fit =
        value == 0 ? ClassesThatFit(self, scheduler, scheduler.options.smallStackBytes) : 0;
    const bool takes = fit != 0;
    if (takes) {
        self->takes = static_cast<StackClass>(fit - 1);
        self->handed = &handed;  // published with the counter's record; later with the fiber
    }
    BeginWait(self, counter, value, self->waits->outer);
    SuspendTo(self, Destination::ToWaiting);
    const bool hasTaken = takes && self->handed == nullptr;
    self->handed = nullptr;
    self->carries = nullptr;
    if (!hasTaken) race::SawCount(counter);
    EndWait(self, counter, value);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(self->worker);
    return hasTaken;
}

// Suspends the fiber until the wait is over, and runs the tasks that it is handed meanwhile.
WEFT_NOINLINE void Suspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    const Level level = self->level;
    for (TaskEntry handed; SuspendOrTake(self, counter, value, handed);) {
        {
            const Awaits awaits(self, handed.TheCounter());
            // at the level that HandTo has set
            ClaimEntry(self->worker, handed, self->level, self->worker->index);
            RunClaim(self);
            FlushPending(self->worker);
        }
        self->level = level;
        if (!IsSatisfied(counter, 0) && !RunInline(self, counter)) continue;
        // The task may have been one that this worker may run, and the waiter none.
        if (self->pinnedTo == kAnyWorker && !MayRun(*self->worker, level)) YieldFiber(self->worker);
        return;
    }
}

// Waits on the calling fiber: runs tasks of the counter inline, then suspends the fiber if the wait
// is not over.
void HelpOrSuspend(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (IsSatisfied(counter, value)) {
        TraceWait(self, TraceKind::Satisfied, &counter, value);
        return YieldToUrgent(self);
    }
    const Awaits awaits(self, &counter);
    UnclaimRest(self->worker);
    if (value == 0 && HoldsTasks(self->worker)) {
        if (RunInline(self, counter)) return;
        // Tasks on other workers may have finished after this worker ran out of tasks.
        if (IsSatisfied(counter, 0)) return YieldToUrgent(self);
    }
    Suspend(self, counter, value);
}

// Sets mayBegin and `restricted` from the waits on this worker. If there are several, the strictest
// one decides.
void SetRestricted(Worker *worker) noexcept {
    const uint32_t *waits = worker->restricting;
    worker->mayBegin = waits[static_cast<uint32_t>(Meanwhile::OwnTasks)] != 0         ? 0
                       : waits[static_cast<uint32_t>(Meanwhile::HighOnly)] != 0       ? 1
                       : waits[static_cast<uint32_t>(Meanwhile::NormalOrHigher)] != 0 ? 2
                                                                                      : kPriorities;
    worker->restricted.store(
        IsRestricted(worker) || waits[static_cast<uint32_t>(Meanwhile::Nothing)] != 0, kRelaxed);
}

}  // namespace

StaysHere::StaysHere(Fiber *self) noexcept {
    if (self->pinnedTo != kAnyWorker) return;
    m_self = self;
    Worker *worker = self->worker;
    if (worker->scheduler->IsAttachedSlot(worker->index))
        RaiseCounter(*worker->scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    race::ComesToThread(worker);
}

StaysHere::~StaysHere() {
    if (m_self == nullptr) return;
    m_self->pinnedTo = kAnyWorker;
    Worker *worker = m_self->worker;
    if (worker->scheduler->IsAttachedSlot(worker->index))
        Unbind(*worker->scheduler, worker, *worker);
}

// Several fibers of one worker may be restricted at the same time.
Restricted::Restricted(Fiber *self, Meanwhile meanwhile, const Counter *counter) noexcept
    : m_staysHere(self),
      m_worker(self->worker),
      m_meanwhile(meanwhile),
      m_own{self, counter, self->waits, m_worker->pump, m_worker->own} {
    if (meanwhile == Meanwhile::OwnTasks) BeginOwn(m_worker, &m_own);
    ++m_worker->restricting[static_cast<uint32_t>(meanwhile)];
    SetRestricted(m_worker);
}

Restricted::~Restricted() {
    --m_worker->restricting[static_cast<uint32_t>(m_meanwhile)];
    OwnWait **link = &m_worker->own;
    while (*link != nullptr && *link != &m_own) link = &(*link)->outer;
    if (*link != nullptr) *link = m_own.outer;
    const OwnWait *const own = m_worker->own;
    m_worker->awaits.store(own != nullptr ? own->counter : nullptr, kRelaxed);  // a hint
    SetRestricted(m_worker);
}

void LeaveWorker(Fiber *self, const Worker *before) noexcept {
    constexpr uint64_t kMaxNs = 10'000'000;
    constexpr uint32_t kMaxPauses = 1024;  // so that a trace does not fill up with yields
    Scheduler &scheduler = *before->scheduler;
    const bool mayMove = self->pinnedTo == kAnyWorker && !self->IsThreadStack() &&
                         self->worker->pump == nullptr &&
                         scheduler.workerCount + scheduler.attached.Value() >= 2;
    const uint64_t end = env::Now() + kMaxNs;
    for (uint32_t pauses = 1; mayMove && self->worker == before && env::Now() < end;) {
        for (uint32_t i = 1; i < pauses; ++i) env::Pause();
        pauses = std::min(2 * pauses, kMaxPauses);
        WakeForAny(scheduler, self->worker);
        YieldFiber(self->worker);
    }
}

void Wait(Worker *worker, Counter &counter, uint32_t value, ResumeOn resume) noexcept {
    FlushPending(worker);
    Fiber *self = worker->current;
    if (WEFT_LIKELY(resume == ResumeOn::AnyWorker)) {
        if (WEFT_LIKELY(!worker->scheduler->options.migrateAfterWait))
            return HelpOrSuspend(self, counter, value);
        HelpOrSuspend(self, counter, value);
        return LeaveWorker(self, worker);
    }
    const StaysHere staysHere(self);
    HelpOrSuspend(self, counter, value);
}

// The fiber is on the counter's list while it still runs. That is safe, because it is pinned.
void Block(Fiber *self, Counter &counter, uint32_t value) noexcept {
    if (IsSatisfied(counter, value)) return TraceWait(self, TraceKind::Satisfied, &counter, value);
    Worker *worker = self->worker;
    UnclaimRest(worker);
    StopLending(worker);
    BeginWait(self, counter, value, self->waits);
    RegisterWaiter(worker, self);
    for (; !TakePinnedFiber(worker, self); TellDueNow(worker)) Sleep(worker, WorkerMode::Nothing);
    race::SawCount(counter);
    EndWait(self, counter, value);
}

void WaitMeanwhile(Worker *worker, Counter &counter, uint32_t value, Meanwhile meanwhile) noexcept {
    if (meanwhile == Meanwhile::AnyTask) return Wait(worker, counter, value, ResumeOn::AnyWorker);
    FlushPending(worker);
    Fiber *self = worker->current;
    const Restricted restricted(self, meanwhile, &counter);
    meanwhile == Meanwhile::Nothing ? Block(self, counter, value)
                                    : HelpOrSuspend(self, counter, value);
}

void YieldFiber(Worker *worker) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    worker->taskBeforeReady = true;
    worker->yielded = self->level.ThePriority();
    Emit(*worker->scheduler, worker, TraceKind::Yield,
         [&](TraceEvent &event) { event.task = self->taskName.load(kRelaxed); });
    SuspendTo(self, Destination::ToReady);
    if (WEFT_UNLIKELY(self->IsThreadStack())) AnswerBeforeHost(worker);
}

void SleepUntil(Worker *worker, uint64_t deadline) noexcept {
    FlushPending(worker);
    Counter done(1);
    Timer timer;
    const auto isDue = [](void *context, void *owner) {
        const ExpiryContext &by = *static_cast<ExpiryContext *>(context);
        LowerCounter(by.scheduler, by.worker, *static_cast<Counter *>(owner), 1);
    };
    if (TimeOf(*worker->scheduler) >= deadline) return YieldToUrgent(worker->current);
    SetTimer(*worker->scheduler, worker, timer, deadline, {isDue, &done, TimerKind::Sleep});
    Fiber *self = worker->current;
    self->waitKind.store(WaitKind::Time, kRelaxed);  // for reports
    Wait(worker, done, 0, ResumeOn::AnyWorker);
    self->waitKind.store(WaitKind::Counter, kRelaxed);
}

}  // namespace weft::internal
