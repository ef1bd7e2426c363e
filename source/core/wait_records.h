// The records of waiters. They are linked into the lists of counters by their numbers.
//
// Record i belongs to fiber i, because a fiber waits for one counter at a time. Waiters that are no
// fibers use spare records. These come from a pool in which workers have caches.
#pragma once

#include "containers/cached_pool.h"
#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// An entry in the list of a counter. Links are numbers of records plus one; 0: none.
struct WaitRecord {
    env::Plain<uint32_t> next;
    env::Plain<uint32_t> child;     ///< in the heap of a counter: see counters.h
    env::Plain<uint32_t> target;    ///< the waiter waits until the count is at or below it
    env::Plain<uint32_t> owner;     ///< a fiber's number, or another one: see Counters::Register
    env::Plain<Priority> priority;  ///< of the waiter
    env::Plain<bool> isRoot;        ///< of the heap
};

/// All records of a scheduler.
class WaitRecords {
    // Up to a million. Together with those of the fibers, a counter's word has bits for them.
    using Spares = CachedPool<WaitRecord, 15>;

public:
    static constexpr uint32_t kNone = ~0u, kMaxSpares = Spares::kMaxItems;

    ~WaitRecords() { m_memory.DeleteArray(m_own, m_fibers); }

    /// `users`: how many users have caches of spare records. `spares`: how many can be taken
    /// without an allocation, see CachedPool.
    bool Acquire(uint32_t fibers, Memory memory = {}, uint32_t users = 0,
                 uint32_t spares = 0) noexcept {
        m_memory = memory;
        m_own = memory.NewArray<WaitRecord>(fibers);
        m_fibers = fibers;
        return m_own != nullptr && m_spares.Acquire(users, memory, spares);
    }

    /// Returns the record. The number may come from a counter, which lies in the user's memory. If
    /// it names no record, the counter was overwritten, and the process ends.
    WaitRecord &At(uint32_t index) noexcept {
        if (WEFT_LIKELY(!IsSpare(index))) return m_own[index];
        if (WEFT_UNLIKELY(!m_spares.Has(index - m_fibers)))
            env::Panic("a counter names only waiters that there are");
        return m_spares.At(index - m_fibers);
    }
    bool IsSpare(uint32_t index) const noexcept { return index >= m_fibers; }

    /// Returns a spare record, or kNone if there is no memory or kMaxSpares are in use. `user`: the
    /// caller, see CachedPool. Lock-free.
    uint32_t TakeSpare(uint32_t user = kNoCache) noexcept {
        const uint32_t spare = m_spares.Take(user);
        return spare == Spares::kNone ? kNone : m_fibers + spare;
    }
    void GiveBackSpare(uint32_t index, uint32_t user = kNoCache) noexcept {
        m_spares.GiveBack(index - m_fibers, user);
    }

private:
    friend struct DebugLayout;
    WaitRecord *m_own = nullptr;
    uint32_t m_fibers = 0;
    Spares m_spares;
    Memory m_memory;
};

}  // namespace weft::internal
