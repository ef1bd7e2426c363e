// A SegmentPool with a cache for each of its frequent users, the workers.
//
// A user takes objects from its own cache and gives them back to it. No other thread accesses this
// cache. An empty cache takes a batch of objects from the pool. A full one returns its oldest
// batch. Each of these costs one exchange of the pool's head. At least seven calls of Take or
// GiveBack lie between two exchanges. A user without a cache uses the pool itself.
//
// For the pool, an object in a cache is in use. So up to kMaxCached objects may lie unused in each
// cache while other users make the pool grow, or find it exhausted.
#pragma once

#include "containers/segment_pool.h"
#include "platform/compiler.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

/// The number of a user that has no cache.
inline constexpr uint32_t kNoCache = ~0u;

/// The unused objects of one user. `kBatch`: how many of them move at once to the pool or from it.
template <uint32_t kBatch>
struct alignas(kLineBytes) PoolCache {
    // together with `count` they take 64 bytes
    static constexpr uint32_t kMost = 2 * kBatch - 1;
    uint32_t count = 0;
    uint32_t items[kMost];  // a stack; its top is items[count - 1]

    /// Moves the oldest kBatch objects to the pool.
    WEFT_NOINLINE void Spill(SegmentPoolBase &pool) noexcept {
        {
            SegmentPoolBase::Returns returns(pool);
            for (uint32_t i = 0; i < kBatch; ++i) returns.Add(items[i]);
        }
        count -= kBatch;
        for (uint32_t i = 0; i < count; ++i) items[i] = items[kBatch + i];
    }
    /// Moves all objects to the pool.
    void Empty(SegmentPoolBase &pool) noexcept {
        SegmentPoolBase::Returns returns(pool);
        while (count != 0) returns.Add(items[--count]);
    }
};

/// A pool of objects with indices. `kBatch`: how many objects move at once between a cache and the
/// pool. The other parameters are those of SegmentPool.
template <class T, uint32_t kSegments = 7, uint32_t kFirstItems = 64, uint32_t kBatch = 8>
class CachedPool {
    using Pool = SegmentPool<T, kSegments, kFirstItems>;

public:
    static constexpr uint32_t kNone = Pool::kNone, kMaxItems = Pool::kMaxItems;
    static constexpr uint32_t kMaxCached = PoolCache<kBatch>::kMost;

    CachedPool() = default;
    CachedPool(const CachedPool &) = delete;
    CachedPool &operator=(const CachedPool &) = delete;
    ~CachedPool() { Release(); }

    /// The users 0 to `users` - 1 have caches. `items` objects can be taken without an allocation,
    /// whatever the caches hold. 0: the first segment is enough. Returns false if there is no
    /// memory.
    bool Acquire(uint32_t users, Memory memory = {}, uint32_t items = 0) noexcept {
        m_memory = memory;
        m_users = users;
        if (users != 0) m_caches = memory.NewArray<Cache>(users);
        const uint32_t all = items != 0 ? items + users * kMaxCached : kFirstItems;
        m_kept = all;
        return (users == 0 || m_caches != nullptr) && m_pool.Acquire(memory, all);
    }

    void Release() noexcept {
        m_memory.DeleteArray(m_caches, m_users);
        m_caches = nullptr;
        m_pool.Release();
    }

    /// See SegmentPool.
    bool Has(uint32_t index) const noexcept { return m_pool.Has(index); }
    T &At(uint32_t index) noexcept { return m_pool.At(index); }
    bool Contains(const void *address) const noexcept { return m_pool.Contains(address); }

    /// Returns the index of an unused object, or kNone. `user`: the caller's own number, or
    /// kNoCache.
    uint32_t Take(uint32_t user) noexcept {
        if (user == kNoCache) return m_pool.Take();
        Cache &cache = m_caches[user];
        if (WEFT_UNLIKELY(cache.count == 0)) cache.count = m_pool.TakeSome(cache.items, kBatch);
        return WEFT_LIKELY(cache.count != 0) ? cache.items[--cache.count] : kNone;
    }

    /// Gives back an object, which any user may have taken. `user`: the caller's own number, or
    /// kNoCache.
    void GiveBack(uint32_t index, uint32_t user) noexcept {
        if (user == kNoCache) return m_pool.GiveBack(index);
        Cache &cache = m_caches[user];
        if (WEFT_UNLIKELY(cache.count == kMaxCached)) cache.Spill(m_pool);
        cache.items[cache.count++] = index;
    }

    /// Gives what lies in a user's cache back to the pool. Nobody may use the cache meanwhile.
    void Empty(uint32_t user) noexcept { m_caches[user].Empty(m_pool); }
    /// See SegmentPool. The objects that Acquire has made stay.
    void Trim() noexcept { m_pool.Trim(m_kept); }

private:
    friend struct DebugLayout;
    using Cache = PoolCache<kBatch>;

    Pool m_pool;
    Cache *m_caches = nullptr;
    uint32_t m_users = 0;
    uint32_t m_kept = 0;  // objects
    Memory m_memory;
};

}  // namespace weft::internal
