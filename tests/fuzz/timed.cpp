// Waits with deadlines, and sleeps.
#include "fuzz/script.h"

namespace fuzz {

using namespace weft;

Clock::duration Script::Short() {
    const uint32_t byte = m_bytes.Next();
    if (byte == 1) return Clock::duration::min();
    return std::chrono::microseconds(byte);
}

Clock::time_point Script::Soon() {
    const uint32_t byte = m_bytes.Next();
    if (byte == 1) return Clock::time_point::min();
    if (byte == 2) return Clock::time_point();
    return Now() + std::chrono::microseconds(byte);
}

void Script::WaitInTime() {
    const uint32_t which = m_bytes.Below(Account::kCounters), byte = m_bytes.Next(),
                   how = m_bytes.Below(4);
    const uint32_t value = byte % 4;
    const Meanwhile meanwhile = static_cast<Meanwhile>(byte / 4 % 5);
    Counter &counter = m_account.counters[which];
    bool inTime;
    if (!m_mayWait) {
        inTime = WaitForCounterUntil(m_scheduler, &counter, Clock::time_point::min(), value);
    } else if (how == 0) {
        inTime = WaitForCounterUntil(m_scheduler, &counter, Soon(), meanwhile, value);
    } else if (how == 1) {
        inTime = WaitForCounterFor(m_scheduler, &counter, Short(), meanwhile, value);
    } else {
        if (m_account.byHand[which] > value) Settle(which);
        SettleBefore(which);
        inTime = how == 2
                     ? WaitForCounterUntil(m_scheduler, &counter, Clock::time_point::max(), value)
                     : WaitForCounterFor(m_scheduler, &counter, Clock::duration::max(), value);
        Require(inTime, "a deadline came that never comes");
    }
    // Child tasks raise a counter that is not zero.
    const bool mayRise = value != 0 && m_account.mayRise[which];
    Require(!inTime || mayRise || counter.Value() <= value,
            "a counter is above what was waited for in time");
}

void Script::Sleep() {
    if (!m_mayWait) return SleepUntil(m_scheduler, Clock::time_point::min());
    const uint32_t how = m_bytes.Below(3);
    // A scheduler that does not run: the sleep is a sleep of the thread.
    TaskScheduler *const by = how == 2 ? m_world.idle.get() : &m_scheduler;
    how == 0 ? SleepUntil(*by, Soon()) : SleepFor(*by, Short());
}

void Script::Inside() {
    const uint32_t kind = m_bytes.Below(5);
    if (kind == 0 && m_caller != Caller::External) m_scheduler.Yield();
    if (kind == 1) SubmitAndWait();
    if (kind == 2) Sleep();
    if (kind == 3 && m_mayWait) WaitForCounterFor(m_scheduler, &m_account.counters[0], Short());
}

}  // namespace fuzz
