#include "containers/segment_pool.h"

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

using Pool = SegmentPool<Item>;

}  // namespace

TEST_CASE("segment pool: items are distinct, never move, and come back", "[segment_pool]") {
    const int64_t before = test::OutstandingAllocations();
    {
        Pool pool;
        REQUIRE(pool.Acquire());
        std::set<uint32_t> taken;
        std::vector<Item *> addresses;
        for (uint32_t i = 0; i < 300; ++i) {
            const uint32_t index = pool.Take();
            REQUIRE(index == i);  // the lowest that is free
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
        const test::FailingAllocation failing(0);
        std::set<uint32_t> again;
        for (uint32_t i = 0; i < 320; ++i) again.insert(pool.Take());  // five segments
        CHECK(again.size() == 320);
        CHECK(*again.rbegin() == 319);
        CHECK(!failing.HasFailed());
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("segment pool: 64 without an allocation, none without memory, none past the most", "[segment_pool]") {
    Pool pool;
    REQUIRE(pool.Acquire());
    {
        const test::FailingAllocation failing(0);
        for (int i = 0; i < 64; ++i) REQUIRE(pool.Take() != Pool::kNone);
        CHECK(!failing.HasFailed());
        CHECK(pool.Take() == Pool::kNone);
        CHECK(failing.HasFailed());
    }
    for (uint32_t i = 64; i < Pool::kMaxItems; ++i) REQUIRE(pool.Take() == i);  // later there is memory again
    CHECK(pool.Take() == Pool::kNone);
    pool.GiveBack(700);
    CHECK(pool.Take() == 700);
    CHECK(pool.Take() == Pool::kNone);
    pool.Release();
    pool.Release();  // harmless
    REQUIRE(pool.Acquire());
    CHECK(pool.Take() == 0);
}

TEST_CASE("segment pool: Acquire without memory", "[segment_pool]") {
    Pool pool;
    const test::FailingAllocation failing(0);
    CHECK(!pool.Acquire());
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
                        pool.At(index).value = thread;  // plain: whose it is may write
                    }
                    for (uint32_t index : mine) {
                        if (pool.At(index).value != thread) wrong.fetch_add(1);
                        owners[index].fetch_sub(1);
                        pool.GiveBack(index);
                    }
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        REQUIRE(wrong.load() == 0);
    }
}
