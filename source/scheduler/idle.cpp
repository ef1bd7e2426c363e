#include "scheduler/idle.h"

#include "platform/compiler.h"
#include "platform/turns.h"
#include "scheduler/any_work.h"
#include "scheduler/elsewhere.h"
#include "scheduler/foreign.h"
#include "scheduler/gate.h"
#include "scheduler/pinned.h"
#include "scheduler/ready.h"
#include "scheduler/reporting.h"
#include "scheduler/rescue.h"
#include "scheduler/stall.h"
#include "scheduler/steal_backoff.h"
#include "scheduler/timing.h"
#include "scheduler/trace.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Finished first, then submitted. Let both sums be equal, and suppose a task were unfinished. It is
// not among the finished; so, the sums being equal, its submission was not among the submitted that
// were read. Its submitter's end is not among the finished either, or reading that (acquire) would
// have shown the submission. So the submitter is unfinished too, and its submission was not read;
// and so on up to the main task, whose submission is always read.
//
// Foreign threads submit without being tasks. Whoever relies on the sums asks while the gate is
// closed and nobody is inside it, so that their submissions are all read; or can do with "at some
// moment of my call", as WaitIdle can.
bool NothingPending(const Scheduler &scheduler) noexcept { return PendingTasks(scheduler) == 0; }

// seq_cst: see Sleep.
bool RunIsOver(const Scheduler &scheduler) noexcept {
    return scheduler.endWanted.load(kSeqCst) && scheduler.guests.load(kSeqCst) == 0 &&
           NothingPending(scheduler);
}

// Whoever has claimed tasks that it has not begun puts them back after the task that it is in.
// `all`: also those that do not say so, because they may be just claiming.
void AskOthers(Worker *worker, bool all) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        Worker &other = scheduler.workers[i];
        if (i == worker->index || (!all && !other.hides.load(kRelaxed))) continue;
        // after the looks for work
        if (!other.asked.load(kSeqCst)) other.asked.store(true, kSeqCst);
    }
}

// The system woke the worker on the processor of the thread that woke it. A search there would keep
// that thread from its work. A hint.
bool IsOnWakersCpu(const Worker *worker) noexcept {
    const int32_t cpu = worker->parker.WakersCpu();
    return cpu >= 0 && cpu == env::CurrentCpu();
}

// Until there is work, or it is time to sleep. In between it asks others for what they have
// claimed, less and less often, and once more before it sleeps: so nobody sleeps while somebody
// keeps what has not begun for longer than one task.
Found Search(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t begin = env::Ticks();
    const IdlePolicy policy = scheduler.options.idle;
    const bool isQuiet =
        policy == IdlePolicy::Sleep || (policy == IdlePolicy::Balanced && IsOnWakersCpu(worker));
    uint64_t askAfter = scheduler.times.claimBudget;
    for (uint64_t now = begin;; now = env::Ticks()) {
        Found found = FindOwn(worker, ability);
        if (!found && (MaySteal(worker, now) || isQuiet)) {
            found = FindElsewhere(worker, ability);
        }
        if (found || scheduler.stopping.load(kRelaxed)) return found;
        if (ability != Ability::Tasks && scheduler.pool.AnyFree(StackClass::Small)) return {};
        const bool isLast = isQuiet || now - begin > scheduler.times.idleSearch;
        if (ability == Ability::Tasks && (isLast || now - begin > askAfter)) {
            AskOthers(worker, isLast);
            askAfter *= 2;
        }
        if (isLast) return {};
        env::Pause();
    }
}

// What became of a worker that has announced that it will sleep.
enum class Woken : uint8_t { ByOthers /* Unpark was called, or will be */, ByWork };

// A Spin worker only looks as if it slept: it keeps looking at what it would be woken for.
Woken LookInsteadOfSleeping(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    while (scheduler.idle.IsAsleep(worker->index, ability)) {
        if (AnyWork(worker, ability) || scheduler.stopping.load(kRelaxed)) return Woken::ByWork;
        if (ability != Ability::PinnedOnly && scheduler.timers.MayBeDue()) return Woken::ByWork;
        env::Pause();
    }
    return Woken::ByOthers;
}

// Back to searching: nobody else needs to be told unless somebody has woken us.
void GetUp(Worker *worker, Ability ability) noexcept {
    // there is something: no penalty now
    worker->fromTasks.until = worker->lookAgainAt = env::Ticks();
    // These do not search in between: they would announce again and again until they may take a
    // ready fiber.
    if (worker->scheduler->options.idle == IdlePolicy::Sleep || IsRestricted(worker))
        worker->fromFibers.until = worker->lookAgainAt;
    if (!worker->scheduler->idle.Cancel(worker->index, ability)) worker->parker.Park();
}

}  // namespace

namespace {

// The searcher has found something. It wakes its share of the sleepers. If more tasks than that lie
// in its own queues and those of its victim, it wakes a sleeper for each of these instead.
void WakeForMore(Worker *worker) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint32_t share = std::exchange(worker->toWake, 0);
    if (!scheduler.idle.AnySleeper()) return;
    const uint32_t lanes = scheduler.Lanes();
    uint64_t entries = 0;
    for (const uint32_t index : {worker->index, worker->victim}) {
        for (uint32_t lane = 0; lane < lanes; ++lane)
            entries += scheduler.workers[index].lanes[lane].Size();
    }
    if (entries != 0 || share != 0)
        WakeForAllLevels(scheduler, worker, static_cast<uint32_t>(std::min<uint64_t>(entries, ~0u)),
                         share);
}

}  // namespace

uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t finished = 0;
    uint64_t submitted = 0;
    // acquire: pairs with FlushPending, so that what finished tasks submitted is counted below.
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) finished += scheduler.workers[i].finished.load(kAcquire);
    // Again: what a thread that has attached since submitted may be among the finished. What it
    // finished is left out, so the answer may be too large; then that thread asks after it has
    // finished.
    slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.foreignSubmitted.load(kAcquire) - finished;
}

void StopSearching(Worker *worker) noexcept {
    if (!worker->searching) return;
    worker->searching = false;
    if (worker->scheduler->idle.StopSearching()) WakeForAny(*worker->scheduler, worker);
}

void WantEnd(Scheduler &scheduler) noexcept {
    const uint64_t grace = uint64_t{scheduler.options.stopGraceMilliseconds} * 1'000'000;
    scheduler.closesAt.store(env::Now() + grace, kRelaxed);  // published by the next
    scheduler.endWanted.store(true, kSeqCst);                // see Sleep
}

bool EndRun(Scheduler &scheduler) noexcept {
    if (!Gate::Close(*scheduler.facade, [&] { return RunIsOver(scheduler); })) return false;
    scheduler.stopping.store(true, kSeqCst);  // before anybody is woken
    return true;
}

Found SearchForTasks(Worker *worker) noexcept {
    worker->slab.FlushOthers();
    if (!worker->searching) {
        // Nobody relies on a worker that is not counted as a searcher. One that finds something at
        // once need not be counted.
        if (MaySteal(worker, env::Ticks())) {
            if (const Found found = FindElsewhere(worker, Ability::Tasks)) {
                worker->lookInterval = 1;
                return found;
            }
        }
        worker->scheduler->idle.StartSearching();
    }
    worker->searching = true;
    Found found = Search(worker, Ability::Tasks);
    if (!found && worker->scheduler->notices.Has(Notices::kLargeWork) &&
        !worker->scheduler->pool.AnyFree(StackClass::Large)) {
        found.fiber = Rescue(worker, StackClass::Large);
    }
    if (found) {
        StopSearching(worker);
        worker->lookInterval = 1;
        WakeForMore(worker);
    }
    return found;
}

Found SearchForFibers(Worker *worker) noexcept {
    NoteVisit(worker);
    const Found found = Search(worker, Ability::ReadyFibersOnly);
    if (found || worker->scheduler->pool.AnyFree(StackClass::Small) || IsRestricted(worker))
        return found;
    Fiber *waiter = Rescue(worker, StackClass::Small);
    if (waiter == nullptr) waiter = Rescue(worker, StackClass::Large);
    return {waiter, false};
}

void Sleep(Worker *worker, Ability ability) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (WEFT_UNLIKELY(scheduler.forkMark.IsForked())) EndForkedTask(scheduler);  // in a hook
    worker->keepsTasks.store(AnyPinnedTask(worker), kRelaxed);
    // a share that was given earlier is out of date. From here on it is the next waker's
    worker->toWake = 0;
    scheduler.idle.Announce(worker->index, ability);
    if (AnyWork(worker, ability) || scheduler.stopping.load(kSeqCst)) {
        // Another worker may be held up between hiding the notice and taking what has come.
        if (!scheduler.injector.IsEmpty()) scheduler.notices.Show(Notices::kInjected);
        GetUp(worker, ability);
        return;
    }
    // Both who finished the last task and who ran the main task come by here, each after its own
    // write, and each with the read-modify-write in Announce. The later of the two sees both
    // writes. Guests that leave wake somebody.
    if (RunIsOver(scheduler) && EndRun(scheduler)) {
        WakeAll(scheduler);
    } else if (!AnswerIdleRequests(scheduler, worker) && AllAsleep(scheduler)) {
        WatchForStall(worker);
    }
    if (scheduler.options.idle == IdlePolicy::Spin && ability != Ability::OwnTasks &&
        LookInsteadOfSleeping(worker, ability) == Woken::ByWork) {
        GetUp(worker, ability);
    } else {
        TraceBetweenTasks(worker, &TraceHooks::park, [](TraceEvent &) {});
        const bool woken = ParkInTime(worker, ability);
        TraceBetweenTasks(worker, &TraceHooks::unpark, [](TraceEvent &) {});
        if (woken) return;
        GetUp(worker, ability);
        // whatever the ticks say: or it sleeps again, until a time that has passed
        TellDue(scheduler, worker);
    }
}

}  // namespace weft::internal
