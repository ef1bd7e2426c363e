#include "mechanisms/fiber_pool.h"

#include "platform/compiler.h"
#include "platform/race_finder.h"

#include <algorithm>

namespace weft::internal {

bool FiberPool::Acquire(uint32_t small, uint32_t large, uint32_t workers, uint32_t slots, Memory memory) noexcept {
    m_memory = memory;
    m_small = small;
    m_large = large;
    m_workers = workers;
    // Small pools have no caches: what a worker kept for itself would be missed elsewhere.
    m_cacheSlots = small < 32 || workers == 0 || race::kFinder ? 0 : std::min(kCacheSlots, small / (4 * workers));
    const bool hasOwners = workers != 0 && small >= 4 * workers && !race::kFinder;
    const uint32_t owned = hasOwners ? workers : 0;
    if (workers != 0) m_caches = memory.NewArray<Cache>(workers);
    if (hasOwners) m_owners = memory.NewArray<uint32_t>(small);
    if ((hasOwners && m_owners == nullptr) || (workers != 0 && m_caches == nullptr) ||
        !m_freeSmall.Acquire(small, memory) || !m_freeLarge.Acquire(large, memory) ||
        !m_starved.Acquire(slots, memory)) {
        return false;
    }
    for (uint32_t i = 0; i < small && hasOwners; ++i) m_owners[i] = i < owned ? i : kNone;
    for (uint32_t i = 0; i < owned; ++i) m_caches[i].own.store(i * 2 | kFree, kRelaxed);  // nobody else is there yet
    for (uint32_t i = owned; i < small; ++i) m_freeSmall.Set(i);
    for (uint32_t i = 0; i < large; ++i) m_freeLarge.Set(i);
    return true;
}

void FiberPool::ReleaseAll() noexcept {
    m_freeSmall.Release();
    m_freeLarge.Release();
    m_starved.Release();
    m_memory.DeleteArray(m_caches, m_workers);
    m_memory.DeleteArray(m_owners, m_small);
    m_caches = nullptr;
    m_owners = nullptr;
}

uint32_t FiberPool::AcquireFiber(StackClass stack, uint32_t worker) noexcept {
    if (stack == StackClass::Large) {
        const uint32_t fiber = m_freeLarge.ClearAny(worker * 64);
        return fiber == AtomicBitSet::kNone ? kNone : m_small + fiber;
    }
    uint32_t fiber = race::kFinder ? TakeInTurn() : TakeFromCache(worker);
    if (fiber == kNone) fiber = m_freeSmall.ClearAny(worker * 64);
    if (fiber == kNone) fiber = RobCaches(worker);
    if (fiber == kNone) return TakeOwn(worker);
    if (WEFT_UNLIKELY(HasLent(worker))) Own(worker, fiber);
    return fiber;
}

uint32_t FiberPool::ReleaseFiber(uint32_t fiber, uint32_t worker) noexcept {
    if (fiber >= m_small) {
        m_freeLarge.Set(fiber - m_small);
        return kNone;
    }
    if (m_owners != nullptr && m_owners[fiber] != kNone) {
        const uint32_t owner = GiveBack(fiber);
        if (owner != kNone) return owner;
    }
    if (worker < m_workers && m_caches[worker].used < m_cacheSlots && !AnyStarved()) {
        Cache &cache = m_caches[worker];
        // seq_cst: before the caller's look at the starved workers. Slots at `used` and above are empty.
        cache.slots[cache.used++].exchange(fiber + 1, kSeqCst);
    } else {
        m_freeSmall.Set(fiber);
    }
    return kNone;
}

// For a race finder: tasks that follow each other on one fiber never race for ThreadSanitizer.
uint32_t FiberPool::TakeInTurn() noexcept {
    for (uint32_t i = 0; i < m_small; ++i) {
        const uint32_t fiber = m_turn.fetch_add(1, kRelaxed) % m_small;  // relaxed: only spreads; Clear decides
        if (m_freeSmall.Clear(fiber)) return fiber;
    }
    return kNone;
}

uint32_t FiberPool::TakeFromCache(uint32_t worker) noexcept {
    if (worker >= m_workers) return kNone;
    Cache &cache = m_caches[worker];
    while (cache.used > 0) {
        // acquire: pairs with the exchange that put it there, perhaps by an earlier owner's robber. 0: it was robbed.
        const uint32_t slot = cache.slots[--cache.used].exchange(0, kAcqRel);
        if (slot != 0) return slot - 1;
    }
    return kNone;
}

uint32_t FiberPool::RobCaches(uint32_t worker) noexcept {
    for (uint32_t i = 1; i <= m_workers && m_cacheSlots != 0; ++i) {
        Cache &cache = m_caches[(worker + i) % m_workers];
        for (uint32_t slot = 0; slot < m_cacheSlots; ++slot) {
            if (cache.slots[slot].load(kSeqCst) == 0) continue;             // seq_cst: after the caller's SetStarved
            const uint32_t taken = cache.slots[slot].exchange(0, kAcqRel);  // as in TakeFromCache
            if (taken != 0) return taken - 1;
        }
    }
    return kNone;
}

uint32_t FiberPool::TakeOwn(uint32_t worker) noexcept {
    if (m_owners == nullptr || worker >= m_workers) return kNone;
    // seq_cst: after the caller's SetStarved; as an acquire it pairs with GiveBack. Nobody else changes it while it is free, so a
    // store will do.
    const uint32_t own = m_caches[worker].own.load(kSeqCst);
    if ((own & kFree) == 0) return kNone;
    m_caches[worker].own.store(own & ~kFree, kRelaxed);  // read by the worker, and by who frees the fiber after it ran
    return own / 2;
}

// The one that it had is with a task that waits, or has ended just now: then it has that one, and needs no other.
void FiberPool::Own(uint32_t worker, uint32_t fiber) noexcept {
    env::Atomic<uint32_t> &own = m_caches[worker].own;
    uint32_t lent = own.load(kRelaxed);  // only this worker names another fiber
    // relaxed: whoever frees the new one comes after the worker has left it; who frees the old one needs nothing but the word.
    if ((lent & kFree) == 0 && own.compare_exchange_strong(lent, fiber * 2, kRelaxed, kRelaxed))
        m_owners[fiber] = worker;
}

// A fiber's owner has taken another one since, if its word says so.
uint32_t FiberPool::FindOwner(uint32_t fiber) noexcept {
    uint32_t &owner = m_owners[fiber];
    if (m_caches[owner].own.load(kRelaxed) != fiber * 2) owner = kNone;  // it never comes back to it
    return owner;
}

// To its owner; kNone if it has none.
uint32_t FiberPool::GiveBack(uint32_t fiber) noexcept {
    uint32_t &owner = m_owners[fiber];
    uint32_t lent = fiber * 2;
    // seq_cst: before the caller's look whether the owner is starved. As a release it hands the fiber over.
    if (!m_caches[owner].own.compare_exchange_strong(lent, fiber * 2 | kFree, kSeqCst, kRelaxed)) owner = kNone;
    return owner;
}

bool FiberPool::AnyFree(StackClass stack, uint32_t worker) const noexcept {
    if (stack == StackClass::Large) return m_freeLarge.Any();
    if (m_owners != nullptr && worker < m_workers && (m_caches[worker].own.load(kSeqCst) & kFree) != 0)
        return true;  // after SetStarved
    if (m_freeSmall.Any()) return true;
    for (uint32_t other = 0; other < m_workers; ++other) {
        for (uint32_t slot = 0; slot < m_cacheSlots; ++slot) {
            if (m_caches[other].slots[slot].load(kSeqCst) != 0) return true;  // after SetStarved
        }
    }
    return false;
}

}  // namespace weft::internal
