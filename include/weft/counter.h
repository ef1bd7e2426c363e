// A counter holds the number of tasks that have not finished. At zero all of them have finished.
//
//     weft::Counter counter;
//     scheduler->AddTasks(count, tasks, &counter);  // adds count; each finished task subtracts 1
//     scheduler->WaitForCounter(&counter);          // the worker runs other tasks meanwhile
#pragma once

#include "weft/export.h"

#include <atomic>
#include <cstdint>

// Test builds that explore schedules define their own atomic type here.
#ifndef WEFT_ATOMIC
#define WEFT_ATOMIC std::atomic
#endif

namespace weft {

class Counter;

namespace internal {
struct CounterAccess;
WEFT_API void ReportDestroyed(const Counter &counter) noexcept;
}  // namespace internal

/// Counts tasks that have not finished, so that others can wait for them.
///
/// A counter has eight bytes and may lie anywhere: on a stack, in an array, in another object, in
/// frame memory. It must outlive every wait for it. Once a wait for 0 has returned, it may be
/// destroyed or used again at once. While it is not zero, it belongs to one scheduler.
class Counter {
public:
    /// Creates a counter with the value 0. Not explicit, so aggregates may have counters.
    constexpr Counter() noexcept : Counter(0) {}
    /// Creates a counter with the value `count`. TaskScheduler::DecrementCounter lowers it.
    constexpr explicit Counter(uint32_t count) noexcept
        : m_word(static_cast<uint64_t>(count) << 32) {}
    Counter(const Counter &) = delete;
    Counter &operator=(const Counter &) = delete;
#if defined(WEFT_DEBUG)
    /// Only in debug builds: reports DestroyedInUse if a task or a thread still waits for the
    /// counter. Define WEFT_DEBUG=1 both for weft and for your code.
    ~Counter() {
        if ((m_word.load(std::memory_order_relaxed) & kWaiters) != 0)
            internal::ReportDestroyed(*this);
    }
#endif

    /// Returns the number of tasks that have not finished, or a little more.
    ///
    /// The value may include tasks that finished within about the last 100 microseconds, and that
    /// their worker ran directly before its current task. If short tasks suddenly become long, it
    /// may once include up to 128 such tasks for longer. Zero is exact. The caller sees everything
    /// that was written before the counter reached the value (acquire). Thread-safe.
    uint32_t Value() const noexcept {
        return static_cast<uint32_t>(m_word.load(std::memory_order_acquire) >> 32);
    }

    /// Returns true if all counted tasks have finished. Then the caller sees everything that they
    /// wrote (acquire). Thread-safe.
    bool IsZero() const noexcept { return Value() == 0; }

private:
    friend struct internal::CounterAccess;
    static constexpr uint64_t kWaiters = uint64_t{(1u << 23) - 1} << 9;
    WEFT_ATOMIC<uint64_t> m_word;
};

static_assert(sizeof(Counter) == 8, "a counter must be one 64-bit word");

}  // namespace weft
