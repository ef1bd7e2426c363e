// A counter says how much work is still to be done; zero means: all of it has finished.
//
//     weft::Counter counter;
//     scheduler->AddTasks(count, tasks, &counter);       // raises it by count; each finished task
//     takes one off scheduler->WaitForCounter(&counter);               // this fiber sleeps, its
//     worker does not
#pragma once

#include "weft/export.h"

#include <atomic>
#include <cstdint>

// Builds that explore schedules put their own atomic type here.
#ifndef WEFT_ATOMIC
#define WEFT_ATOMIC std::atomic
#endif

namespace weft {

class Counter;

namespace internal {
struct CounterAccess;
WEFT_API void ReportDestroyed(const Counter &counter) noexcept;
}  // namespace internal

/// Eight bytes that tie tasks to those who wait for them. Lives wherever you like: stack, array,
/// member, frame memory.
///
/// It must outlive every wait on it; once a wait for 0 has returned it may be destroyed or used
/// again at once. A counter that is not zero belongs to one scheduler.
class Counter {
public:
    /// A counter that stands at `count`, to be taken down by TaskScheduler::DecrementCounter.
    constexpr explicit Counter(uint32_t count = 0) noexcept
        : m_word(static_cast<uint64_t>(count) << 32) {}
    Counter(const Counter &) = delete;
    Counter &operator=(const Counter &) = delete;
#if defined(WEFT_DEBUG)
    /// Debug builds (of your code and of weft alike: define WEFT_DEBUG=1) report a counter that
    /// dies while somebody waits.
    ~Counter() {
        if ((m_word.load(std::memory_order_relaxed) & kWaiters) != 0)
            internal::ReportDestroyed(*this);
    }
#endif

    /// How many are outstanding, at most. Any thread. The value may include tasks that finished
    /// within about the last 100 microseconds and that their worker ran directly before its current
    /// task; if short tasks suddenly become long, up to 64 of these once. Zero is exact. The caller
    /// sees all that was written before the counter reached the value (acquire).
    uint32_t Value() const noexcept {
        const uint64_t word = m_word.load(std::memory_order_acquire);
        const uint32_t count = static_cast<uint32_t>(word >> 32);
        return count == 0 && (word & kBusy) != 0 ? 1 : count;
    }

    /// True when nothing is outstanding. Any thread; acquire, so that all the counted tasks wrote
    /// is visible.
    bool IsZero() const noexcept { return Value() == 0; }

private:
    friend struct internal::CounterAccess;
    static constexpr uint64_t kWaiters = uint64_t{(1u << 23) - 1} << 9;
    // somebody still sorts this counter's waiters: not finished with it
    static constexpr uint64_t kBusy = 1u << 8;
    WEFT_ATOMIC<uint64_t> m_word;
};

static_assert(sizeof(Counter) == 8, "a counter is one word");

}  // namespace weft
