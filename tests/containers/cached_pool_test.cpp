#include "containers/cached_pool.h"

#include "support/failing_allocation.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

struct Item {
    uint64_t value = 7;
};

using Pool = CachedPool<Item>;

// Takes items for `user` until it gets no more.
std::set<uint32_t> TakeAll(Pool &pool, uint32_t user) {
    std::set<uint32_t> taken;
    for (uint32_t index; (index = pool.Take(user)) != Pool::kNone;)
        REQUIRE(taken.insert(index).second);
    return taken;
}

}  // namespace

TEST_CASE("cached pool: items are distinct, never move, and are reused by the same user",
          "[cached_pool]") {
    const int64_t before = test::OutstandingAllocations();
    {
        Pool pool;
        REQUIRE(pool.Acquire(2));
        std::set<uint32_t> taken;
        for (uint32_t i = 0; i < 300; ++i) {
            const uint32_t index = pool.Take(i % 3 < 2 ? i % 3 : kNoCache);
            REQUIRE(pool.Has(index));
            CHECK(taken.insert(index).second);
            CHECK(pool.At(index).value == 7);
            pool.At(index).value = index;
        }
        for (uint32_t index : taken) CHECK(pool.At(index).value == index);
        pool.GiveBack(17, 1);
        pool.GiveBack(18, 0);
        CHECK(pool.Take(1) == 17);
        CHECK(pool.Take(0) == 18);
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("cached pool: a full cache moves its oldest items to the pool", "[cached_pool]") {
    Pool pool;
    REQUIRE(pool.Acquire(2));
    for (uint32_t i = 0; i < 64; ++i) REQUIRE(pool.Take(kNoCache) == i);
    const test::FailingAllocation failing(0);
    REQUIRE(pool.Take(0) == Pool::kNone);
    for (uint32_t i = 0; i < Pool::kMaxCached; ++i) pool.GiveBack(i, 0);
    CHECK(pool.Take(kNoCache) == Pool::kNone);  // all are in the cache of user 0
    CHECK(pool.Take(1) == Pool::kNone);
    pool.GiveBack(Pool::kMaxCached, 0);
    const uint32_t spilled = (Pool::kMaxCached + 1) / 2;
    std::set<uint32_t> others = TakeAll(pool, 1);
    CHECK(others.size() == spilled);
    CHECK(*others.rbegin() == spilled - 1);
    for (uint32_t i = Pool::kMaxCached; i >= spilled; --i) CHECK(pool.Take(0) == i);
    CHECK(pool.Take(0) == Pool::kNone);
}

TEST_CASE("cached pool: what Acquire was given can be taken although other caches are full",
          "[cached_pool]") {
    constexpr uint32_t kUsers = 6, kItems = 100;
    Pool pool;
    REQUIRE(pool.Acquire(kUsers, {}, kItems));
    std::vector<uint32_t> taken;
    for (uint32_t i = 0; i < kUsers * Pool::kMaxCached; ++i) taken.push_back(pool.Take(kNoCache));
    for (uint32_t i = 0; i < taken.size(); ++i) pool.GiveBack(taken[i], i % kUsers);
    const test::FailingAllocation failing(0);
    for (uint32_t i = 0; i < kItems; ++i) REQUIRE(pool.Take(kNoCache) != Pool::kNone);
    CHECK(!failing.HasFailed());
}

TEST_CASE("cached pool: Acquire fails without memory", "[cached_pool]") {
    const int64_t before = test::OutstandingAllocations();
    for (int allocations : {0, 1, 2}) {  // of three: one for the caches, two for a segment
        Pool pool;
        const test::FailingAllocation failing(allocations);
        CHECK(!pool.Acquire(3));
    }
    {
        Pool pool;
        REQUIRE(pool.Acquire(3));
        pool.Release();
        pool.Release();  // must be harmless
        REQUIRE(pool.Acquire(0));
        CHECK(pool.Take(kNoCache) == 0);
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("cached pool: no item has two owners, also while it grows and runs out",
          "[cached_pool]") {
    using Small = CachedPool<Item, 4, 16, 4>;  // at most 128 items
    for (int round = 0; round < 20; ++round) {
        Small pool;
        REQUIRE(pool.Acquire(3));
        std::vector<std::atomic<uint32_t>> owners(Small::kMaxItems);
        std::atomic<uint32_t> wrong{0};
        std::vector<std::thread> threads;
        for (uint32_t thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread, user = thread < 3 ? thread : kNoCache] {
                for (int turn = 0; turn < 50; ++turn) {
                    uint32_t mine[40];
                    uint32_t count = 0;
                    for (; count < 40; ++count) {
                        const uint32_t index = mine[count] = pool.Take(user);
                        if (index == Small::kNone) break;
                        if (index >= Small::kMaxItems || owners[index].fetch_add(1) != 0) {
                            wrong.fetch_add(1);
                            return;
                        }
                        pool.At(index).value = thread;  // plain: only the owner may write
                    }
                    for (uint32_t i = 0; i < count; ++i) {
                        if (pool.At(mine[i]).value != thread) wrong.fetch_add(1);
                        owners[mine[i]].fetch_sub(1);
                        pool.GiveBack(mine[i], user);
                    }
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        REQUIRE(wrong.load() == 0);
        uint32_t items = 0;
        for (uint32_t user : {0u, 1u, 2u, kNoCache}) {
            while (pool.Take(user) != Small::kNone) ++items;
        }
        CHECK(items == Small::kMaxItems);
    }
}
