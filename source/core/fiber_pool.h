// Which fibers are free: a flat bit set per stack class, and a small LIFO cache of hot stacks per
// worker.
//
// A cached fiber counts as free. Owner and robber alike take it out of its slot by exchange, so
// exactly one gets it. No worker misses a free fiber. A worker that lacks one sets its mark
// (SetStarved), then looks everywhere. A worker that frees one puts it in its place, then looks for
// starved workers. All four are seq_cst.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// Small fibers are 0 .. small - 1, large ones follow.
class FiberPool {
public:
    static constexpr uint32_t kNone = ~0u;

    ~FiberPool() { ReleaseAll(); }

    /// All fibers free. False when there is no memory.
    /// The first `workers` of `slots` callers have caches.
    bool Acquire(uint32_t small, uint32_t large, uint32_t workers, uint32_t slots,
                 Memory memory = {}) noexcept;
    void ReleaseAll() noexcept;

    /// A free fiber, or kNone if every place was seen empty. `worker`: the caller's index, whose
    /// cache is tried first.
    uint32_t AcquireFiber(StackClass stack, uint32_t worker) noexcept;

    /// Frees a fiber that nobody runs on. `worker`: the caller's index.
    void ReleaseFiber(uint32_t fiber, uint32_t worker) noexcept;

    StackClass ClassOf(uint32_t fiber) const noexcept {
        return fiber < m_small ? StackClass::Small : StackClass::Large;
    }
    uint32_t Count() const noexcept { return m_small + m_large; }

    /// Last look of a worker that is about to sleep.
    bool AnyFree(StackClass stack) const noexcept {
        return stack == StackClass::Large ? m_freeLarge.Any() : m_freeSmall.Any() || AnyCached();
    }

    /// The calling worker has no small fiber to run tasks on, or has one again.
    void SetStarved(uint32_t worker, bool starved) noexcept {
        if (starved)
            m_starved.Set(worker);
        else
            m_starved.Clear(worker);
    }
    bool IsStarved(uint32_t worker) const noexcept { return m_starved.Test(worker); }
    bool AnyStarved() const noexcept { return m_starved.Any(); }

private:
    static constexpr uint32_t kCacheSlots = 16;
    struct alignas(kLineBytes) Cache {
        env::Atomic<uint32_t> slots[kCacheSlots]{};  // fiber plus one, 0: empty
        uint32_t used = 0;                           // owner only: slots from here on are empty
    };
    bool AnyCached() const noexcept;
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
    uint32_t m_cacheSlots = 0;  // in use, of each cache
    env::Atomic<uint32_t> m_turn{0};
    Memory m_memory;
};

}  // namespace weft::internal
