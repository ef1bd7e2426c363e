// The free fibers: one bit set for each stack class, and a small cache of recently used fibers (a
// stack, last in first out) for each worker.
//
// A fiber in a cache is free: other workers may take it. Both the owner of the cache and another
// worker take a fiber out of its slot with an exchange, so exactly one of them gets it.
//
// No free fiber is missed. A worker without a fiber sets its bit (SetStarved), then searches the
// bit sets and all caches. A worker that frees a fiber puts it into a set or a cache, then reads
// the bits of the starved workers. All four operations are seq_cst. So either the first worker
// finds the fiber, or the second worker sees that the first one is starved.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// Fibers have numbers. Small fibers are 0 to small - 1; Large fibers follow.
class FiberPool {
public:
    static constexpr uint32_t kNone = ~0u;

    ~FiberPool() { ReleaseAll(); }

    /// Makes all fibers free. Returns false if there is no memory. `slots` workers may call; the
    /// first `workers` of them have caches.
    bool Acquire(uint32_t small, uint32_t large, uint32_t workers, uint32_t slots,
                 Memory memory = {}) noexcept;
    void ReleaseAll() noexcept;

    /// Returns a free fiber, or kNone if all places were empty when they were read. `worker`: the
    /// caller's index. The caller's own cache is tried first.
    uint32_t AcquireFiber(StackClass stack, uint32_t worker) noexcept;

    /// Frees a fiber that no thread runs on. `worker`: the caller's index.
    void ReleaseFiber(uint32_t fiber, uint32_t worker) noexcept;

    StackClass ClassOf(uint32_t fiber) const noexcept {
        return fiber < m_small ? StackClass::Small : StackClass::Large;
    }
    uint32_t Count() const noexcept { return m_small + m_large; }

    /// Returns true if a fiber is free. Used in the last check of a worker before it parks.
    bool AnyFree(StackClass stack) const noexcept {
        return stack == StackClass::Large ? m_freeLarge.Any() : m_freeSmall.Any() || AnyCached();
    }

    /// Calls act(fiber) for each free fiber. While other threads take and free fibers, it may call
    /// it twice for one and miss another.
    template <class Act>
    void ForFree(Act act) const noexcept {
        for (uint32_t i = 0; i < m_small; ++i) {
            if (m_freeSmall.Test(i)) act(i);
        }
        for (uint32_t i = 0; i < Count() - m_small; ++i) {
            if (m_freeLarge.Test(i)) act(m_small + i);
        }
        for (uint32_t i = 0; i < m_workers * m_cacheSlots; ++i) {
            // relaxed: a hint
            const uint32_t cached =
                m_caches[i / m_cacheSlots].slots[i % m_cacheSlots].load(kRelaxed);
            if (cached != 0) act(cached - 1);
        }
    }

    /// Call when this worker has no small fiber to run tasks on, and when it has one again.
    void SetStarved(uint32_t worker, bool starved) noexcept {
        if (starved)
            m_starved.Set(worker);
        else
            m_starved.Clear(worker);
    }
    bool IsStarved(uint32_t worker) const noexcept { return m_starved.Test(worker); }
    bool AnyStarved() const noexcept { return m_starved.Any(); }

private:
    friend struct DebugLayout;
    static constexpr uint32_t kCacheSlots = 16;
    // Free fibers of one worker. The owner adds and takes at the end; other workers take anywhere.
    struct alignas(kLineBytes) Cache {
        env::Atomic<uint32_t> slots[kCacheSlots]{};  // number of the fiber plus one; 0: empty
        uint32_t used = 0;  // of the owner alone: the slots from this index on are empty
    };
    bool AnyCached() const noexcept;
    // The three ways to find a free small fiber: the race finder's, from the caller's cache, and
    // from the caches of other workers. They return kNone if they find none.
    uint32_t TakeInTurn() noexcept;
    uint32_t TakeFromCache(uint32_t worker) noexcept;
    uint32_t RobCaches(uint32_t worker) noexcept;

    AtomicBitSet m_freeSmall;
    AtomicBitSet m_freeLarge;
    AtomicBitSet m_starved;
    Cache *m_caches = nullptr;
    uint32_t m_small = 0;
    uint32_t m_large = 0;
    uint32_t m_workers = 0;
    uint32_t m_cacheSlots = 0;  // slots of each cache that are in use
    env::Atomic<uint32_t> m_turn{0};
    Memory m_memory;
};

}  // namespace weft::internal
