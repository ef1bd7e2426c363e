// A segment pool with a cache for each of its frequent users, who are workers.
//
// A user takes from its own cache and gives back to it; nobody else looks there. An empty cache
// takes a batch of objects from the pool. A full one returns its coldest batch. Each costs one
// exchange of the pool's head, with at least seven takes or returns between two of them. A user
// without a cache goes to the pool itself.
//
// For the pool, objects in a cache are out. So while others run out of objects, and the pool grows
// or has no more, up to kMaxCached lie idle in each cache.
#pragma once

#include "containers/segment_pool.h"
#include "platform/compiler.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

/// A user without a cache.
inline constexpr uint32_t kNoCache = ~0u;

template <class T, uint32_t kSegments = 7, uint32_t kFirstItems = 64, uint32_t kBatch = 8>
class CachedPool {
    using Pool = SegmentPool<T, kSegments, kFirstItems>;

public:
    static constexpr uint32_t kNone = Pool::kNone, kMaxItems = Pool::kMaxItems;
    static constexpr uint32_t kMaxCached = 2 * kBatch - 1;  // with their number they take 64 bytes

    CachedPool() = default;
    CachedPool(const CachedPool &) = delete;
    CachedPool &operator=(const CachedPool &) = delete;
    ~CachedPool() { Release(); }

    /// The users with caches are 0 to `users` - 1. False when there is no memory.
    bool Acquire(uint32_t users, Memory memory = {}) noexcept {
        m_memory = memory;
        m_users = users;
        if (users != 0) m_caches = memory.NewArray<Cache>(users);
        return (users == 0 || m_caches != nullptr) && m_pool.Acquire(memory);
    }

    void Release() noexcept {
        m_memory.DeleteArray(m_caches, m_users);
        m_caches = nullptr;
        m_pool.Release();
    }

    /// As SegmentPool's.
    bool Has(uint32_t index) const noexcept { return m_pool.Has(index); }
    T &At(uint32_t index) noexcept { return m_pool.At(index); }

    /// The index of an object that nobody uses, or kNone. `user`: the caller itself, or kNoCache.
    uint32_t Take(uint32_t user) noexcept {
        if (user == kNoCache) return m_pool.Take();
        Cache &cache = m_caches[user];
        if (WEFT_UNLIKELY(cache.count == 0)) cache.count = m_pool.TakeSome(cache.items, kBatch);
        return WEFT_LIKELY(cache.count != 0) ? cache.items[--cache.count] : kNone;
    }

    /// An object that any user has taken. `user`: who gives it back.
    void GiveBack(uint32_t index, uint32_t user) noexcept {
        if (user == kNoCache) return m_pool.GiveBack(index);
        Cache &cache = m_caches[user];
        if (WEFT_UNLIKELY(cache.count == kMaxCached)) cache.Spill(m_pool);
        cache.items[cache.count++] = index;
    }

    /// Objects that one user gives back together: what its cache has no room for goes to the pool,
    /// up to 64 by one exchange.
    class Returns {
    public:
        Returns(CachedPool &pool, uint32_t user) noexcept
            : m_pool(pool), m_user(user), m_rest(pool.m_pool) {}

        void Add(uint32_t index) noexcept {
            if (m_user == kNoCache || m_pool.m_caches[m_user].count == kMaxCached) {
                m_rest.Add(index);
            } else {
                m_pool.GiveBack(index, m_user);
            }
        }

    private:
        CachedPool &m_pool;
        const uint32_t m_user;
        typename Pool::Returns m_rest;
    };

private:
    struct alignas(kLineBytes) Cache {
        uint32_t count = 0;
        uint32_t items[kMaxCached];  // the one that came last is the last

        // The oldest kBatch go back.
        void Spill(Pool &pool) noexcept {
            {
                typename Pool::Returns returns(pool);
                for (uint32_t i = 0; i < kBatch; ++i) returns.Add(items[i]);
            }
            count -= kBatch;
            for (uint32_t i = 0; i < count; ++i) items[i] = items[kBatch + i];
        }
    };

    Pool m_pool;
    Cache *m_caches = nullptr;
    uint32_t m_users = 0;
    Memory m_memory;
};

}  // namespace weft::internal
