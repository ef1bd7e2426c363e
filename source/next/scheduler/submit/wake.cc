// Implements wake.h.
#include "scheduler/submit/wake.h"

#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"

namespace weft::internal {

namespace {

void Unpark(Scheduler &scheduler, Worker *by, uint32_t index) noexcept {
    Worker &worker = scheduler.workers[index];
    if (by != nullptr) AddTo(by->figures.wakes, 1, kRelaxed);
    Emit(scheduler, by, TraceKind::Wake, nullptr, 0, index);
    worker.wokenBy.store(by != nullptr ? by->index + 1 : 0, kRelaxed);  // a hint
    worker.parker.Unpark();
}

uint32_t HomeOf(const Worker *by) noexcept { return by != nullptr ? by->index : 0; }

// A mask that was read may have changed before the sleeper was taken. Then another one is woken.
bool WakeFor(Scheduler &scheduler, Worker *by, uint32_t levels) noexcept {
    for (;;) {
        const uint32_t index = scheduler.idle.TakeFor(levels, scheduler.Slots());
        if (index == Idle::kNone) return false;
        const bool isFit = scheduler.idle.IsFor(index, levels);
        Unpark(scheduler, by, index);
        if (isFit) return true;
    }
}

}  // namespace

void WakeOne(Scheduler &scheduler, Worker *by, uint32_t levels) noexcept {
    uint32_t index = Idle::kNone;
    if ((levels & (kPlainLevels | kAnyKeeper)) != 0) index = scheduler.idle.TakeAny(HomeOf(by));
    if (index != Idle::kNone) return Unpark(scheduler, by, index);
    if (scheduler.idle.AnySleeper()) WakeFor(scheduler, by, levels);
}

bool WakeAt(Scheduler &scheduler, Worker *by, uint32_t index) noexcept {
    if (!scheduler.idle.TakeAt(index)) return false;
    Unpark(scheduler, by, index);
    return true;
}

void WakeAll(Scheduler &scheduler, Worker *by) noexcept {
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) WakeAt(scheduler, by, i);
}

void Published(Scheduler &scheduler, Worker *by, Level level, uint32_t entries) noexcept {
    if ((kUnnoticed & level.Bit()) == 0) scheduler.notices.Show(level.Bit());
    const uint32_t most = entries < 2 ? entries : 2;
    Idle &idle = scheduler.idle;
    const bool isPlain = level.slot == 0;
    for (uint32_t i = 0; i < most; ++i) {
        // a second sleeper although the first one searches now
        if (!isPlain || !(i == 0 ? idle.PlainWanted() : idle.AnyPlainSleeper())) break;
        const uint32_t index = idle.TakeAny(HomeOf(by));
        if (index != Idle::kNone) Unpark(scheduler, by, index);
    }
    // A choosy sleeper may be the only one that has nothing better to do. The workers of a group
    // may all sleep although others search.
    for (uint32_t i = 0; i < most && WEFT_UNLIKELY(isPlain ? idle.AnyChoosy() : idle.AnySleeper());
         ++i) {
        if (!WakeFor(scheduler, by, level.Bit())) break;
    }
}

void WakeMore(Scheduler &scheduler, Worker *by) noexcept {
    Published(scheduler, by, Level(Priority::Normal), 2);
}

void KeepDeadline(Scheduler &scheduler, Worker *by, uint64_t deadline) noexcept {
    if (scheduler.timers.Next() == deadline && scheduler.keeperUntil.load(kSeqCst) > deadline)
        WakeOne(scheduler, by, kAnyKeeper);
}

void Inject(Scheduler &scheduler, Worker *by, Node *newest, Node *oldest,
            uint32_t entries) noexcept {
    const Level level = oldest->level;  // read it now: they belong to others then
    scheduler.injector.Push(newest, oldest);
    scheduler.notices.Show(Notices::kInjected);
    Published(scheduler, by, level, entries);
}

void SignalAll(Scheduler &scheduler, Worker *by) noexcept {
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        Worker &worker = scheduler.workers[i];
        // If it is set, the owner clears it before it reads what has changed (TakeMail).
        if (worker.isSignalled.exchange(true, kSeqCst)) continue;
        worker.inbox.Push(&worker.signal, &worker.signal);
        WakeAt(scheduler, by, i);
    }
}

void Mail(Scheduler &scheduler, Worker *by, uint32_t index, Node *newest, Node *oldest) noexcept {
    scheduler.workers[index].inbox.Push(newest, oldest);
    if (by == nullptr || by->index != index) WakeAt(scheduler, by, index);
}

void NoRoom(const Worker &worker, uint32_t entries) noexcept {
    OutOfMemory(*worker.scheduler, entries);
}

}  // namespace weft::internal
