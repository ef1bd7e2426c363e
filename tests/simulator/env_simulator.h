// The environment in which schedules are explored: threads are virtual, all on one OS thread, and every atomic operation
// is a point where another one may go on. Memory is sequentially consistent here. See virtual_threads.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#define WEFT_ATOMIC weft::env::Atomic

namespace weft::env {

enum class Access : uint8_t { None, Load, Store, Update /* a read-modify-write */ };

/// Another virtual thread may run now. `address`: what the caller is about to touch; dead memory ends the schedule.
void SchedulePoint(const void *address, Access access = Access::None) noexcept;

template <class T>
class Atomic {
public:
    constexpr Atomic(T value = T()) noexcept : m_value(value) {}
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;

    T load(std::memory_order) const noexcept {
        SchedulePoint(this, Access::Load);
        return m_value;
    }
    void store(T value, std::memory_order) noexcept {
        SchedulePoint(this, Access::Store);
        m_value = value;
    }
    T exchange(T value, std::memory_order) noexcept {
        SchedulePoint(this, Access::Update);
        const T before = m_value;
        m_value = value;
        return before;
    }
    bool compare_exchange_strong(T &expected, T desired, std::memory_order, std::memory_order) noexcept {
        SchedulePoint(this, Access::Update);
        if (m_value == expected) {
            m_value = desired;
            return true;
        }
        expected = m_value;
        return false;
    }
    /// For observers: no schedule point.
    T Peek() const noexcept { return m_value; }

    T fetch_add(T value, std::memory_order order) noexcept {
        return UpdateBy(value, order, [](T a, T b) { return a + b; });
    }
    T fetch_sub(T value, std::memory_order order) noexcept {
        return UpdateBy(value, order, [](T a, T b) { return a - b; });
    }
    T fetch_and(T value, std::memory_order order) noexcept {
        return UpdateBy(value, order, [](T a, T b) { return a & b; });
    }
    T fetch_or(T value, std::memory_order order) noexcept {
        return UpdateBy(value, order, [](T a, T b) { return a | b; });
    }

private:
    template <class Operation>
    T UpdateBy(T value, std::memory_order, Operation operation) noexcept {
        SchedulePoint(this, Access::Update);
        const T before = m_value;
        m_value = static_cast<T>(operation(before, value));
        return before;
    }
    T m_value;
};

template <class T>
using Plain = T;

/// A hint that the line is written next.
void PrefetchForWrite(const void *address) noexcept;

/// Virtual time: it advances by one with every schedule point.
uint64_t Ticks() noexcept;
double TicksPerMicrosecond() noexcept;

/// A schedule point at which the caller asks for somebody else.
void Pause() noexcept;

void *ThreadSlot() noexcept;
void SetThreadSlot(void *value) noexcept;

class Parker {
public:
    void Park() noexcept;
    void Unpark() noexcept;
    int32_t WakersCpu() const noexcept { return -1; }

private:
    bool m_notified = false;
    uint32_t m_sleeper = ~0u;
};

class Thread {
public:
    bool Start(void (*entry)(void *), void *arg, size_t stackBytes) noexcept;
    void Join() noexcept;

private:
    uint32_t m_thread = ~0u;
};

class ForkMark {
public:
    void Acquire() noexcept {}
    bool IsForked() const noexcept { return false; }
};
struct ExitCall {
    void (*call)(void *) = nullptr;
    void *arg = nullptr;
};
inline bool AtThreadExit(ExitCall *) noexcept { return true; }
class SignalStack {
public:
    template <class Memory>
    bool Acquire(Memory) noexcept {
        return true;
    }
    void Set() noexcept {}
    void Reset() noexcept {}
};
inline bool InstallFaultHandler(void (*)(const void *)) noexcept { return true; }
inline void RemoveFaultHandler() noexcept {}
inline void WriteError(const char *) noexcept {}
inline void NameThread(const char *, uint32_t) noexcept {}
inline bool AddNice(int) noexcept { return true; }
inline void SetSlice(uint32_t) noexcept {}
inline constexpr int32_t kMaxCpus = 1024;
inline int32_t CurrentCpu() noexcept { return -1; }
inline void LeaveCpus(const uint64_t (&)[kMaxCpus / 64]) noexcept {}
inline bool BindThread(const uint64_t *, uint32_t) noexcept { return true; }
inline bool BindThreadToNth(uint32_t) noexcept { return true; }
uint32_t UsableCpus() noexcept;
uint32_t ThreadHint() noexcept;
void YieldThread() noexcept;

/// Weft noticed that it is broken: ends the schedule.
[[noreturn]] void Panic(const char *invariant) noexcept;

}  // namespace weft::env
