// The simulator's environment, which replaces env_production.h. Threads are virtual and run on one
// OS thread. Before each atomic operation another thread may continue. Memory is sequentially
// consistent, or follows weak_memory.h. See virtual_threads.h.
#pragma once

#include "simulator/weak_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define WEFT_ATOMIC weft::env::Atomic

namespace weft::env {

namespace weak = simulator::weak;

enum class Access : uint8_t { None, Load, Store, Update /* a read-modify-write */ };

/// Another virtual thread may run now. `address` is what the caller is about to access. If that
/// memory is dead, the schedule ends with a failure.
void SchedulePoint(const void *address, Access access = Access::None) noexcept;

template <class T>
class Atomic {
public:
    constexpr Atomic(T value = T()) noexcept : m_value(value) {
        if (!__builtin_is_constant_evaluated() && weak::g_orders != nullptr)
            weak::g_orders->Forget(this);
    }
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;

    T load(std::memory_order order) const noexcept {
        SchedulePoint(this, Access::Load);
        return weak::g_orders != nullptr
                   ? FromBits(weak::g_orders->Load(this, ToBits(m_value), order))
                   : m_value;
    }
    void store(T value, std::memory_order order) noexcept {
        SchedulePoint(this, Access::Store);
        if (weak::g_orders != nullptr)
            weak::g_orders->Store(this, ToBits(m_value), ToBits(value), order);
        m_value = value;
    }
    T exchange(T value, std::memory_order order) noexcept {
        return UpdateBy(value, order, [](T, T b) { return b; });
    }
    bool compare_exchange_strong(T &expected, T desired, std::memory_order order,
                                 std::memory_order failure) noexcept {
        SchedulePoint(this, Access::Update);
        if (m_value == expected) {
            if (weak::g_orders != nullptr)
                weak::g_orders->Update(this, ToBits(m_value), ToBits(desired), order);
            m_value = desired;
            return true;
        }
        if (weak::g_orders != nullptr) weak::g_orders->LoadNewest(this, failure);
        expected = m_value;
        return false;
    }
    /// Reads the newest value without a schedule point, for observers.
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
    static uint64_t ToBits(T value) noexcept {
        static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
    static T FromBits(uint64_t bits) noexcept {
        T value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    template <class Operation>
    T UpdateBy(T value, std::memory_order order, Operation operation) noexcept {
        SchedulePoint(this, Access::Update);
        const T before = m_value;
        m_value = static_cast<T>(operation(before, value));
        if (weak::g_orders != nullptr)
            weak::g_orders->Update(this, ToBits(before), ToBits(m_value), order);
        return before;
    }
    T m_value;
};

/// The number of uses of all Plain data so far.
inline uint64_t g_plainUses = 0;

template <class T>
class Plain {
public:
    Plain(T value = T()) noexcept : m_value(value) {}
    Plain &operator=(T value) noexcept {
        ++g_plainUses;
        m_value = value;
        return *this;
    }
    operator T() const noexcept {
        ++g_plainUses;
        return m_value;
    }

private:
    T m_value;
};

/// A hint that the caller writes to this cache line next.
void PrefetchForWrite(const void *address) noexcept;

/// Virtual time. Each schedule point advances it by one tick.
uint64_t Ticks() noexcept;
double TicksPerMicrosecond() noexcept;

/// Virtual time in nanoseconds. If all threads sleep, it jumps to the first deadline.
uint64_t Now() noexcept;

/// A schedule point that lets another thread run first, if there is one.
void Pause() noexcept;

void *ThreadSlot() noexcept;
void SetThreadSlot(void *value) noexcept;
void *CallSlot() noexcept;
void *ExchangeCallSlot(void *value) noexcept;
void *HookSlot() noexcept;
void SetHookSlot(void *value) noexcept;

class Parker {
public:
    void Park() noexcept { ParkUntil(~uint64_t{0}); }
    bool ParkUntil(uint64_t deadline) noexcept;
    void Unpark() noexcept;
    int32_t WakersCpu() const noexcept { return -1; }

private:
    bool m_notified = false;
    uint32_t m_sleeper = ~0u;
    weak::View m_view;
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
    void Acquire(void *value) noexcept { m_value = value; }
    void *const *Place() const noexcept { return &m_value; }
    bool IsForked() const noexcept { return false; }

private:
    void *m_value = nullptr;
};
struct ExitCall {
    void (*call)(void *) = nullptr;
    void *arg = nullptr;
};
inline bool AtThreadExit(ExitCall *) noexcept { return true; }
inline void CancelAtThreadExit(ExitCall *) noexcept {}
class OffCpuWatch {
public:
    void Begin() noexcept {}
    bool MayHaveLost() const noexcept { return false; }
    uint64_t TakeLost() noexcept { return 0; }
};
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
inline bool SetNice(int) noexcept { return true; }
inline void SetSlice(uint32_t) noexcept {}
inline void SetPreciseSleep() noexcept {}
inline int32_t CurrentCpu() noexcept { return -1; }
inline void MoveBehindCpu(int32_t, uint32_t) noexcept {}
inline void UnbindThread() noexcept {}
inline bool BindThread(const uint64_t *, uint32_t) noexcept { return true; }
inline bool BindThreadToNth(uint32_t) noexcept { return true; }
uint32_t UsableCpus() noexcept;
inline uint32_t GrantedCpus() noexcept { return 0; }
inline uint32_t CpuQuota() noexcept { return 0; }
uint32_t ThreadHint() noexcept;
inline uint32_t ThreadNumber() noexcept { return ThreadHint(); }
void YieldThread() noexcept;
void NapThread() noexcept;

/// weft has found that one of its invariants is broken. Ends the schedule with a failure.
[[noreturn]] void Panic(const char *invariant) noexcept;

}  // namespace weft::env
