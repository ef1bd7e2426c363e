// Taking and freeing fibers: the bit sets, and the caches of the workers.
#include "core/fiber_pool.h"

#include "platform/race_finder.h"

#include <algorithm>

namespace weft::internal {

bool FiberPool::Acquire(uint32_t small, uint32_t large, uint32_t workers, uint32_t slots,
                        Memory memory) noexcept {
    m_memory = memory;
    m_small = small;
    m_large = large;
    m_workers = workers;
    // No caches if there are few fibers: the fibers in one worker's cache would be missing
    // elsewhere.
    m_cacheSlots = small < 32 || workers == 0 || race::kFinder
                       ? 0
                       : std::min(kCacheSlots, small / (4 * workers));
    if (workers != 0) m_caches = memory.NewArray<Cache>(workers);
    if ((workers != 0 && m_caches == nullptr) || !m_freeSmall.Acquire(small, memory) ||
        !m_freeLarge.Acquire(large, memory) || !m_starved.Acquire(slots, memory)) {
        return false;
    }
    for (uint32_t i = 0; i < small; ++i) m_freeSmall.Set(i);
    for (uint32_t i = 0; i < large; ++i) m_freeLarge.Set(i);
    return true;
}

void FiberPool::ReleaseAll() noexcept {
    m_freeSmall.Release();
    m_freeLarge.Release();
    m_starved.Release();
    m_memory.DeleteArray(m_caches, m_workers);
    m_caches = nullptr;
}

uint32_t FiberPool::AcquireFiber(StackClass stack, uint32_t worker) noexcept {
    if (stack == StackClass::Large) {
        const uint32_t fiber = m_freeLarge.ClearAny(worker * 64);
        return fiber == AtomicBitSet::kNone ? kNone : m_small + fiber;
    }
    uint32_t fiber = race::kFinder ? TakeInTurn() : TakeFromCache(worker);
    if (fiber == kNone) fiber = m_freeSmall.ClearAny(worker * 64);
    if (fiber == kNone) fiber = RobCaches(worker);
    return fiber;
}

void FiberPool::ReleaseFiber(uint32_t fiber, uint32_t worker) noexcept {
    if (fiber >= m_small) {
        m_freeLarge.Set(fiber - m_small);
        return;
    }
    if (worker < m_workers && m_caches[worker].used < m_cacheSlots && !AnyStarved()) {
        Cache &cache = m_caches[worker];
        // seq_cst: comes before the caller reads which workers are starved. The slots from `used`
        // on are empty.
        cache.slots[cache.used++].exchange(fiber + 1, kSeqCst);
    } else {
        m_freeSmall.Set(fiber);
    }
}

// For the race finder, which would find no race between two tasks that follow each other on one
// fiber.
uint32_t FiberPool::TakeInTurn() noexcept {
    for (uint32_t i = 0; i < m_small; ++i) {
        // relaxed: it only spreads the fibers. Clear decides.
        const uint32_t fiber = m_turn.fetch_add(1, kRelaxed) % m_small;
        if (m_freeSmall.Clear(fiber)) return fiber;
    }
    return kNone;
}

uint32_t FiberPool::TakeFromCache(uint32_t worker) noexcept {
    if (worker >= m_workers) return kNone;
    Cache &cache = m_caches[worker];
    while (cache.used > 0) {
        // acquire: pairs with the exchange that put the fiber there. The thread that did it has run
        // on the fiber before. 0: another worker took the fiber.
        const uint32_t slot = cache.slots[--cache.used].exchange(0, kAcqRel);
        if (slot != 0) return slot - 1;
    }
    return kNone;
}

uint32_t FiberPool::RobCaches(uint32_t worker) noexcept {
    for (uint32_t i = 1; i <= m_workers && m_cacheSlots != 0; ++i) {
        Cache &cache = m_caches[(worker + i) % m_workers];
        for (uint32_t slot = 0; slot < m_cacheSlots; ++slot) {
            // seq_cst: after the caller's SetStarved
            if (cache.slots[slot].load(kSeqCst) == 0) continue;
            const uint32_t taken = cache.slots[slot].exchange(0, kAcqRel);  // as in TakeFromCache
            if (taken != 0) return taken - 1;
        }
    }
    return kNone;
}

bool FiberPool::AnyCached() const noexcept {
    for (uint32_t worker = 0; worker < m_workers; ++worker) {
        for (uint32_t slot = 0; slot < m_cacheSlots; ++slot) {
            // seq_cst: after SetStarved
            if (m_caches[worker].slots[slot].load(kSeqCst) != 0) return true;
        }
    }
    return false;
}

}  // namespace weft::internal
