#include "containers/segment_pool.h"

#include "support/failing_allocation.h"

#include <algorithm>
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

using Pool = SegmentPool<Item>;

}  // namespace

TEST_CASE("segment pool: items are distinct, never move, and are reused", "[segment_pool]") {
    const int64_t before = test::OutstandingAllocations();
    {
        Pool pool;
        REQUIRE(pool.Acquire());
        std::set<uint32_t> taken;
        std::vector<Item *> addresses;
        for (uint32_t i = 0; i < 300; ++i) {
            const uint32_t index = pool.Take();
            REQUIRE(index == i);  // new items come in their order
            CHECK(taken.insert(index).second);
            CHECK(pool.At(index).value == 7);
            pool.At(index).value = i;
            addresses.push_back(&pool.At(index));
        }
        for (uint32_t i = 0; i < 300; ++i) {
            CHECK(addresses[i]->value == i);
            CHECK(&pool.At(i) == addresses[i]);
        }
        for (uint32_t index : taken) pool.GiveBack(index);
        CHECK(pool.Take() == 299);  // the item that came back last
        pool.GiveBack(299);
        const test::FailingAllocation failing(0);
        std::set<uint32_t> again;
        for (uint32_t i = 0; i < 512; ++i) again.insert(pool.Take());  // 64, 64, 128 and 256
        CHECK(again.size() == 512);
        CHECK(*again.rbegin() == 511);
        CHECK(!failing.HasFailed());
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE(
    "segment pool: Take needs no allocation for 64 items, and fails without memory or when full",
    "[segment_pool]") {
    Pool pool;
    REQUIRE(pool.Acquire());
    {
        const test::FailingAllocation failing(0);
        for (int i = 0; i < 64; ++i) REQUIRE(pool.Take() != Pool::kNone);
        CHECK(!failing.HasFailed());
        CHECK(pool.Take() == Pool::kNone);
        CHECK(failing.HasFailed());
    }
    // Now there is memory again.
    for (uint32_t i = 64; i < Pool::kMaxItems; ++i) REQUIRE(pool.Take() == i);
    CHECK(pool.Take() == Pool::kNone);
    pool.GiveBack(700);
    CHECK(pool.Take() == 700);
    CHECK(pool.Take() == Pool::kNone);
    pool.Release();
    pool.Release();  // must be harmless
    REQUIRE(pool.Acquire());
    CHECK(pool.Take() == 0);
}

TEST_CASE("segment pool: as many items as Acquire was given need no more memory",
          "[segment_pool]") {
    for (uint32_t items : {1u, 64u, 65u, 1000u, Pool::kMaxItems}) {
        INFO(items);
        Pool pool;
        REQUIRE(pool.Acquire({}, items));
        CHECK(pool.Has(items - 1));
        CHECK(!pool.Has(std::max(2 * items, 64u)));  // it has no more than it needs
        const test::FailingAllocation failing(0);
        std::set<uint32_t> taken;
        for (uint32_t i = 0; i < items; ++i) {
            const uint32_t index = pool.Take();
            REQUIRE(index != Pool::kNone);
            CHECK(taken.insert(index).second);
        }
        CHECK(!failing.HasFailed());
    }
    Pool pool;
    CHECK(!pool.Acquire({}, Pool::kMaxItems + 1));
}

TEST_CASE("segment pool: Acquire fails without memory", "[segment_pool]") {
    const int64_t before = test::OutstandingAllocations();
    for (int allocations : {0, 1}) {  // of two, for a segment
        Pool pool;
        const test::FailingAllocation failing(allocations);
        CHECK(!pool.Acquire());
        CHECK(!pool.Has(0));
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("segment pool: Has is true only for items of existing segments", "[segment_pool]") {
    SegmentPool<Item, 3> pool;
    CHECK(pool.kMaxItems == 256);
    REQUIRE(pool.Acquire());
    for (uint32_t i = 0; i < 256; ++i) {
        CHECK(pool.Has(i) == (i < 64 || (i < 128 && i != 64)));
        if (i <= 64) REQUIRE(pool.Take() == i);
        if (i == 64) CHECK(pool.Has(127));
    }
    while (pool.Take() != pool.kNone) {
    }
    CHECK(pool.Has(255));
    CHECK(!pool.Has(256));
}

TEST_CASE("segment pool: any number of items can be given back together", "[segment_pool]") {
    for (uint32_t count : {0u, 1u, 2u, 63u, 64u, 65u, 200u}) {
        Pool pool;
        REQUIRE(pool.Acquire());
        std::set<uint32_t> out;
        for (uint32_t i = 0; i < 256; ++i) out.insert(pool.Take());
        REQUIRE(out.size() == 256);
        {
            Pool::Returns returns(pool);
            for (uint32_t i = 0; i < count; ++i) {
                returns.Add(3 * i % 256);
                out.erase(3 * i % 256);
            }
        }
        const test::FailingAllocation failing(0);
        for (uint32_t i = 0; i < count; ++i) {
            CHECK(out.insert(pool.Take()).second);
        }
        CHECK(out.size() == 256);
        CHECK(*out.rbegin() == 255);
        CHECK(pool.Take() == Pool::kNone);  // no item came back twice
    }
}

TEST_CASE("segment pool: TakeSome takes at most as many items as there are", "[segment_pool]") {
    SegmentPool<Item, 1, 8> pool;
    REQUIRE(pool.Acquire());
    uint32_t taken[6] = {};
    REQUIRE(pool.TakeSome(taken, 6) == 6);
    for (uint32_t i = 0; i < 6; ++i) CHECK(taken[i] == i);
    uint32_t last[6] = {};
    REQUIRE(pool.TakeSome(last, 6) == 2);
    CHECK(last[0] == 6);
    CHECK(last[1] == 7);
    CHECK(pool.TakeSome(last, 6) == 0);
    pool.GiveBack(3);
    CHECK(pool.TakeSome(last, 6) == 1);
    CHECK(last[0] == 3);
}

TEST_CASE("segment pool: no item has two owners, also while it grows", "[segment_pool]") {
    for (int round = 0; round < 20; ++round) {
        Pool pool;
        REQUIRE(pool.Acquire());
        std::vector<std::atomic<uint32_t>> owners(Pool::kMaxItems);
        std::atomic<uint32_t> wrong{0};
        std::vector<std::thread> threads;
        for (uint32_t thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                for (int turn = 0; turn < 20; ++turn) {
                    uint32_t mine[100];
                    for (uint32_t &index : mine) {
                        index = pool.Take();
                        if (index == Pool::kNone || owners[index].fetch_add(1) != 0) {
                            wrong.fetch_add(1);
                            return;
                        }
                        pool.At(index).value = thread;  // plain: only the owner may write
                    }
                    for (uint32_t index : mine) {
                        if (pool.At(index).value != thread) wrong.fetch_add(1);
                        owners[index].fetch_sub(1);
                    }
                    Pool::Returns returns(pool);
                    for (uint32_t i = 0; i < 100; ++i) {
                        i % 3 == 0 ? pool.GiveBack(mine[i]) : returns.Add(mine[i]);
                    }
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        REQUIRE(wrong.load() == 0);
    }
}
