// The environment in which Relacy (D. Vyukov) checks memory orders. Each atomic remembers the
// values that were written to it, and a load may return an older one if its order permits that. An
// unsynchronised access to data is a data race. One iteration is one schedule, with one choice of a
// value for each load. Its number is its seed.
//
// An atomic is as large as in production, so structures and their static assertions do not change.
// What Relacy knows of an atomic is in a table beside it (Cell). Zeroed memory that is used as
// atomics without construction (the deque's rings) gets its cells on the first access.
//
// This environment also finds three mistakes that Relacy alone does not see:
//
// - A thread uses a block from weft::internal::Memory without being ordered after its allocation,
//   or frees it without being ordered after all uses (Block).
// - A thread relies on the value of a load, and another thread's store is not ordered after this
//   load. A processor may execute that store first. Relacy has no loads of values that are written
//   later (RelyOnLastLoad).
// - Plain members that atomics publish are accessed without order (Plain).
#pragma once

// All standard headers that the suites use come before Relacy, because its macros would change
// them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <relacy/relacy.hpp>

// Relacy's macros that replace keywords and functions in unchanged programs.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef VAR
#undef VAR_T
#undef TLS_T
#undef Sleep

#define WEFT_ATOMIC weft::env::Atomic

namespace weft::env {

/// The place of an operation in the sources under test, for Relacy's histories.
struct Where : rl::debug_info {
    Where(const char *file = __builtin_FILE(),
          unsigned line = static_cast<unsigned>(__builtin_LINE()),
          const char *function = __builtin_FUNCTION()) noexcept
        : rl::debug_info(function, file, line) {}
};

[[noreturn]] inline void FailAs(rl::test_result_e result, const char *what,
                                const rl::debug_info &where) noexcept {
    rl::ctx().fail_test(what, result, where);  // does not return to the thread
    std::abort();
}

constexpr uint32_t kMaxThreads = 4;

/// Memory from weft::internal::Memory. Its variable is written at the allocation and when the block
/// is freed, and read at each use of an atomic in it. The block is kept to the end of the
/// iteration, so that late uses are found.
struct Block {
    char *begin;
    size_t bytes;
    rl::var<int> *life;
    bool freed;
};

/// What is known about the atomic at `address`.
struct Cell {
    const void *address;
    void *atomic;  // rl::atomic<T>
    void (*destroy)(void *atomic);
    Block *block;  // null if it is in no block
    bool isRaw;    // in zeroed memory, never constructed
    size_t reliedOn[kMaxThreads];
    Cell *next;
};

/// The state of one iteration.
class World {
public:
    static World &Get() noexcept {
        static World world;
        return world;
    }

    void Begin() noexcept {
        // An iteration that failed has not cleaned up.
        std::memset(m_buckets, 0, sizeof m_buckets);
        m_cellsUsed = m_blocksUsed = 0;
        m_unused = nullptr;
        std::memset(m_lastLoad, 0, sizeof m_lastLoad);
    }
    void End() noexcept {
        for (uint32_t i = 0; i < m_blocksUsed; ++i) {
            m_blocks[i].life->~var();
            std::free(m_blocks[i].life);
            std::free(m_blocks[i].begin);
        }
        m_blocksUsed = 0;
    }

    void *Allocate(size_t bytes, size_t alignment, Where where = {}) noexcept {
        if (m_blocksUsed == kBlocks)
            FailAs(rl::test_result_inconsistent_test_suite, "too many blocks", where);
        Block &block = m_blocks[m_blocksUsed++];
        block.begin = static_cast<char *>(
            std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1)));
        block.bytes = bytes;
        block.freed = false;
        block.life = new (std::malloc(sizeof(rl::var<int>))) rl::var<int>(1);
        std::memset(block.begin, 0, bytes);
        return block.begin;
    }
    void Free(void *memory, Where where = {}) noexcept {
        if (memory == nullptr) return;
        Block *block = BlockOf(memory);
        if (block == nullptr || block->freed)
            FailAs(rl::test_result_double_free, "freed twice", where);
        (*block->life)(where) = 0;
        block->freed = true;
        for (Cell *&bucket : m_buckets) {
            for (Cell **cell = &bucket; *cell != nullptr;) {
                if ((*cell)->block == block)
                    Drop(cell);
                else
                    cell = &(*cell)->next;
            }
        }
    }

    Cell *Find(const void *address) noexcept {
        for (Cell *cell = Bucket(address); cell != nullptr; cell = cell->next) {
            if (cell->address == address) return cell;
        }
        return nullptr;
    }
    Cell &Add(const void *address, void *atomic, void (*destroy)(void *)) noexcept {
        Cell *cell = m_unused;
        if (cell != nullptr) {
            m_unused = cell->next;
        } else {
            if (m_cellsUsed == kCells)
                FailAs(rl::test_result_inconsistent_test_suite, "too many atomics", Where());
            cell = &m_cells[m_cellsUsed++];
        }
        *cell = {address, atomic, destroy, BlockOf(address), false, {}, Bucket(address)};
        Bucket(address) = cell;
        return *cell;
    }
    void Remove(const void *address) noexcept {
        for (Cell **cell = &Bucket(address); *cell != nullptr; cell = &(*cell)->next) {
            if ((*cell)->address == address) return Drop(cell);
        }
    }
    Block *BlockOf(const void *address) noexcept {
        for (uint32_t i = 0; i < m_blocksUsed; ++i) {
            Block &block = m_blocks[i];
            if (address >= block.begin && address < block.begin + block.bytes) return &block;
        }
        return nullptr;
    }

    void NoteLoad(Cell &cell) noexcept {
        m_lastLoad[rl::thread_index()] = {&cell, rl::ctx().threadx_->own_acq_rel_order_};
    }
    void RelyOnLastLoad() noexcept {
        const Load &load = m_lastLoad[rl::thread_index()];
        load.cell->reliedOn[rl::thread_index()] = load.clock;
    }
    /// A store to `cell` by this thread must be ordered after each load on which a thread relies.
    void CheckStore(const Cell &cell, const rl::debug_info &where) noexcept {
        const auto threads = static_cast<uint32_t>(rl::ctx().get_thread_count());
        for (uint32_t i = 0; i < threads; ++i) {
            if (rl::ctx().threadx_->acq_rel_order_[i] < cell.reliedOn[i])
                FailAs(rl::test_result_data_race, "written while another thread may still read",
                       where);
        }
    }

private:
    static constexpr uint32_t kCells = 4096, kBuckets = 1024, kBlocks = 64;
    struct Load {
        Cell *cell;
        size_t clock;
    };
    Cell *&Bucket(const void *address) noexcept {
        const auto key = reinterpret_cast<uintptr_t>(address);
        return m_buckets[(key >> 2 ^ key >> 9) % kBuckets];
    }
    void Drop(Cell **link) noexcept {
        Cell *cell = *link;
        *link = cell->next;
        cell->destroy(cell->atomic);
        cell->next = m_unused;
        m_unused = cell;
    }

    Cell *m_buckets[kBuckets] = {};
    Cell m_cells[kCells];
    Cell *m_unused = nullptr;
    uint32_t m_cellsUsed = 0;
    Block m_blocks[kBlocks];
    uint32_t m_blocksUsed = 0;
    Load m_lastLoad[kMaxThreads] = {};
};

/// The caller relies on its last load from zeroed memory: the deque's CAS has shown that the load
/// was in time.
inline void RelyOnLastLoad() noexcept { World::Get().RelyOnLastLoad(); }

inline rl::memory_order Relacys(std::memory_order order) noexcept {
    switch (order) {
        case std::memory_order_relaxed:
            return rl::mo_relaxed;
        case std::memory_order_consume:
        case std::memory_order_acquire:
            return rl::mo_acquire;
        case std::memory_order_release:
            return rl::mo_release;
        case std::memory_order_acq_rel:
            return rl::mo_acq_rel;
        case std::memory_order_seq_cst:
            break;
    }
    return rl::mo_seq_cst;
}

template <class T>
class Atomic {
public:
    constexpr Atomic(T value = T()) noexcept : m_initial(value) { Construct(); }
    ~Atomic() { World::Get().Remove(this); }
    Atomic(const Atomic &) = delete;
    Atomic &operator=(const Atomic &) = delete;

    T load(std::memory_order order, Where where = {}) const noexcept {
        Cell &cell = At(where);
        const T value = Back(Of(cell).load(Relacys(order), where));
        if (cell.isRaw) World::Get().NoteLoad(cell);
        return value;
    }
    void store(T value, std::memory_order order, Where where = {}) noexcept {
        Cell &cell = At(where);
        Of(cell).store(Known(value), Relacys(order), where);
        if (cell.isRaw) World::Get().CheckStore(cell, where);
    }
    T exchange(T value, std::memory_order order, Where where = {}) noexcept {
        return Back(Of(At(where)).exchange(Known(value), Relacys(order), where));
    }
    bool compare_exchange_strong(T &expected, T desired, std::memory_order success,
                                 std::memory_order failure, Where where = {}) noexcept {
        rl::atomic<Stored> &atomic = Of(At(where));
        const rl::memory_order order = Relacys(success);
        Stored seen = Known(expected);
        if (atomic.compare_exchange(rl::bool_t<false>(), seen, Known(desired), order,
                                    rl::mo_relaxed, where))
            return true;
        expected = Back(seen);
        if (failure == std::memory_order_relaxed) return false;
        // Relacy follows C++11, where the order of a failure may not be stronger than that of a
        // success. This thread has seen the newest value, so it loads this value again with the
        // order of the failure.
        const rl::preemption_disabler atOnce(rl::ctx());
        expected = Back(atomic.load(Relacys(failure), where));
        return false;
    }
    T fetch_add(T value, std::memory_order order, Where where = {}) noexcept {
        return Of(At(where)).fetch_add(value, Relacys(order), where);
    }
    T fetch_sub(T value, std::memory_order order, Where where = {}) noexcept {
        return Of(At(where)).fetch_sub(value, Relacys(order), where);
    }
    T fetch_and(T value, std::memory_order order, Where where = {}) noexcept {
        return Of(At(where)).fetch_and(value, Relacys(order), where);
    }
    T fetch_or(T value, std::memory_order order, Where where = {}) noexcept {
        return Of(At(where)).fetch_or(value, Relacys(order), where);
    }

private:
    // Relacy does not support pointers to constants.
    using Stored = std::conditional_t<std::is_pointer_v<T>, uintptr_t, T>;
    static Stored Known(T value) noexcept {
        if constexpr (std::is_pointer_v<T>)
            return reinterpret_cast<uintptr_t>(value);
        else
            return value;
    }
    static T Back(Stored value) noexcept {
        if constexpr (std::is_pointer_v<T>)
            return reinterpret_cast<T>(value);
        else
            return value;
    }
    static rl::atomic<Stored> &Of(Cell &cell) noexcept {
        return *static_cast<rl::atomic<Stored> *>(cell.atomic);
    }
    static void Destroy(void *atomic) noexcept {
        static_cast<rl::atomic<Stored> *>(atomic)->~atomic();
        std::free(atomic);
    }
    void Construct() noexcept {
        void *memory = std::malloc(sizeof(rl::atomic<Stored>));
        World::Get().Add(this, new (memory) rl::atomic<Stored>(Known(m_initial)), Destroy);
    }
    // All threads know the first value, because a thread that may access the memory is ordered
    // after its allocation (At).
    Cell &ConstructRaw(const rl::debug_info &where) const noexcept {
        auto *atomic = new (std::malloc(sizeof(rl::atomic<Stored>))) rl::atomic<Stored>();
        const rl::preemption_disabler atOnce(rl::ctx());
        rl::timestamp_t &clock = rl::ctx().threadx_->own_acq_rel_order_;
        const rl::timestamp_t now = clock;
        clock = ~rl::timestamp_t{0};  // the store happens at 0
        atomic->store(Known(m_initial), rl::mo_relaxed, where);
        clock = now;
        Cell &cell = World::Get().Add(this, atomic, Destroy);
        cell.isRaw = true;
        return cell;
    }
    Cell &At(const rl::debug_info &where) const noexcept {
        World &world = World::Get();
        Cell *cell = world.Find(this);
        Block *block = cell != nullptr ? cell->block : world.BlockOf(this);
        if (block != nullptr && !block->freed) {
            static_cast<void>(static_cast<int>((*block->life)(where)));
            return cell != nullptr ? *cell : ConstructRaw(where);
        }
        if (cell == nullptr)
            FailAs(rl::test_result_access_to_freed_memory, "access to a destroyed atomic", where);
        return *cell;
    }
    T m_initial;
};

/// Plain data whose accesses atomics must order.
template <class T>
class Plain {
public:
    Plain() noexcept = default;
    Plain(T value) noexcept : m_value(value) {}
    Plain(const Plain &other) noexcept : m_value(other) {}
    ~Plain() {
        if (m_guard == nullptr) return;
        m_guard->~var();
        std::free(m_guard);
    }
    Plain &operator=(const Plain &other) noexcept {
        const T value = other;
        if (m_guard == nullptr)
            // The first write, by this thread.
            m_guard = new (std::malloc(sizeof(rl::var<int>))) rl::var<int>(1);
        else
            (*m_guard)(Where()) = 1;
        m_value = value;
        return *this;
    }
    operator T() const noexcept {
        if (m_guard != nullptr) static_cast<void>(static_cast<int>((*m_guard)(Where())));
        return m_value;
    }

private:
    T m_value{};
    rl::var<int> *m_guard = nullptr;
};

inline void PrefetchForWrite(const void *) noexcept {}
inline uint64_t Ticks() noexcept { return 0; }
inline double TicksPerMicrosecond() noexcept { return 1; }
inline uint64_t Now() noexcept { return 0; }

/// Lets another thread run. A loop with Pause sees the awaited value at some time.
inline void Pause() noexcept { rl::yield(1, Where()); }
inline void YieldThread() noexcept { Pause(); }
inline int32_t CurrentCpu() noexcept { return -1; }
inline void NapThread() noexcept { Pause(); }
inline uint32_t ThreadHint() noexcept { return rl::thread_index(); }
inline uint32_t ThreadNumber() noexcept { return ThreadHint(); }

/// What was written before Unpark is visible after the Park that it ends. If all threads park, this
/// is a deadlock.
class Parker {
public:
    Parker() noexcept { m_event.init(false, false, Where()); }
    ~Parker() { m_event.deinit(Where()); }
    Parker(const Parker &) = delete;
    Parker &operator=(const Parker &) = delete;
    void Park() noexcept {
        do {
            m_event.wait(false, false, Where());
        } while (m_told.exchange(0, std::memory_order_acquire) == 0);
    }
    bool ParkUntil(uint64_t) noexcept {  // time stands still
        Park();
        return true;
    }
    void Unpark() noexcept {
        m_told.exchange(1, std::memory_order_release);
        m_event.set(Where());
    }
    int32_t WakersCpu() const noexcept { return -1; }

private:
    rl::generic_event m_event;
    Atomic<uint32_t> m_told{0};
};

// Types of the scheduler's members that no suite uses.
class Thread {
public:
    bool Start(void (*)(void *), void *, size_t) noexcept { return false; }
    void Join() noexcept {}
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
inline void *ThreadSlot() noexcept { return nullptr; }
inline void SetThreadSlot(void *) noexcept {}
inline void *HookSlot() noexcept { return nullptr; }
inline void SetHookSlot(void *) noexcept {}
inline void *CallSlot() noexcept { return nullptr; }
inline void *ExchangeCallSlot(void *) noexcept { return nullptr; }

[[noreturn]] inline void Panic(const char *invariant) noexcept {
    FailAs(rl::test_result_user_assert_failed, invariant, Where());
}

}  // namespace weft::env
