// Implements the climb of serving.h.
#include "scheduler/find/serving.h"

#include "scheduler/submit/notify.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

bool Serving::IsAwaited(const Counter *counter) const noexcept {
    if (counter == nullptr) return false;
    if (counter == m_own->counter) return true;
    for (const WaitFrame *frame = m_own->fiber->waits; frame != m_own->outside;
         frame = frame->outer) {
        if (frame->counter == counter) return true;
    }
    return false;
}

bool Serving::Needs(const Fiber &fiber) noexcept {
    if (&fiber == m_own->fiber) return true;
    if (fiber.carries != nullptr && Climb(fiber.carries, nullptr)) return true;
    // The fiber is ready, so the counter that it waited for may be gone. That is the counter of the
    // innermost frame, unless the fiber yielded. relaxed: the fiber does not run, so no thread
    // writes this.
    return ClimbFrom(fiber, fiber.waitsFor.load(kRelaxed), nullptr);
}

// The frame of `waited` is left out: the fiber does not run a task of that counter.
bool Serving::ClimbFrom(const Fiber &fiber, const Counter *waited, const Step *below) noexcept {
    const WaitFrame *frame = fiber.waits;
    if (frame != nullptr && frame->counter == waited) frame = frame->outer;
    for (; frame != nullptr; frame = frame->outer) {
        if (Climb(frame->counter, below)) return true;
    }
    return Climb(fiber.taskCounter.load(kRelaxed), below);  // the fiber does not run
}

bool Serving::ClimbOwner(uint32_t owner, const Step &step) noexcept {
    Scheduler &scheduler = *m_worker->scheduler;
    if ((owner & kThreadOwner) != 0) return false;
    if ((owner & kAnyOwner) != 0) return Climb(&DoneCounterOf(scheduler, owner), &step);
    if ((owner & kTaskOwner) != 0) return Climb(CounterOfDeferred(scheduler, owner), &step);
    const Fiber &fiber = scheduler.fibers[owner];
    return &fiber == m_own->fiber || ClimbFrom(fiber, step.counter, &step);
}

bool Serving::WasRefused(const Counter *counter) const noexcept {
    const uint32_t kept = std::min(m_refusals, kRefused);
    for (uint32_t i = 0; i < kept; ++i) {
        if (m_refused[i] == counter) return true;
    }
    return false;
}

struct Serving::Asked {
    Serving &serving;
    const Step &step;
    bool isNeeded = false;
};

bool Serving::Climb(Counter *counter, const Step *below) noexcept {
    if (counter == nullptr || WasRefused(counter)) return false;
    if (IsAwaited(counter)) return true;
    const uint32_t height = below != nullptr ? below->height + 1 : 0;
    bool isCut = height == kHighest;
    for (const Step *step = below; step != nullptr && !isCut; step = step->below)
        isCut = step->counter == counter;
    m_isCut = m_isCut || isCut;
    Scheduler &scheduler = *m_worker->scheduler;
    CounterStorage &storage = CounterAccess::Word(*counter);
    const CounterWord word{storage.load(kRelaxed)};  // a hint; RemoveIf decides
    if (isCut || (word.Head() == 0 && !word.IsSorting())) return false;
    const Step step{counter, below, height};
    Asked asked{*this, step};
    const auto ask = [](uint32_t owner, void *context) {
        Asked &its = *static_cast<Asked *>(context);
        its.isNeeded = its.isNeeded || its.serving.ClimbOwner(owner, its.step);
        return false;  // the record stays on the list
    };
    const bool wasCut = std::exchange(m_isCut, false);
    uint32_t woken = 0;
    scheduler.counters.RemoveIf(storage, {ask, &asked, ~0u}, woken, CacheOf(m_worker));
    WakeOwners(scheduler, m_worker, woken);
    if (!asked.isNeeded && !m_isCut) m_refused[m_refusals++ % kRefused] = counter;
    m_isCut = m_isCut || wasCut;
    return asked.isNeeded;
}

}  // namespace weft::internal
