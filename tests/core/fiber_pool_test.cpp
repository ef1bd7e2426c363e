#include "core/fiber_pool.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("pool: each small and each large fiber is given out once", "[fiber_pool]") {
    for (uint32_t workers : {1u, 3u}) {
        FiberPool pool;
        REQUIRE(pool.Acquire(70, 5, workers, workers));
        CHECK(pool.Count() == 75);
        std::set<uint32_t> small, large;
        for (uint32_t i = 0; i < 70; ++i)
            small.insert(pool.AcquireFiber(StackClass::Small, i % workers));
        for (uint32_t i = 0; i < 5; ++i)
            large.insert(pool.AcquireFiber(StackClass::Large, i % workers));
        CHECK(small.size() == 70);
        CHECK(*small.rbegin() == 69);
        CHECK(large.size() == 5);
        CHECK(*large.begin() == 70);
        CHECK(*large.rbegin() == 74);
        CHECK(pool.ClassOf(69) == StackClass::Small);
        CHECK(pool.ClassOf(70) == StackClass::Large);
        CHECK(pool.AcquireFiber(StackClass::Small, 0) == FiberPool::kNone);
        CHECK(pool.AcquireFiber(StackClass::Large, 0) == FiberPool::kNone);
        CHECK(!pool.AnyFree(StackClass::Small));
        CHECK(!pool.AnyFree(StackClass::Large));
        pool.ReleaseFiber(71, 0);
        CHECK(pool.AnyFree(StackClass::Large));
        CHECK(!pool.AnyFree(StackClass::Small));
        CHECK(pool.AcquireFiber(StackClass::Large, workers - 1) == 71);
    }
}

TEST_CASE("pool: a worker's cache returns the most recently used fiber first", "[fiber_pool]") {
    FiberPool pool;
    REQUIRE(pool.Acquire(128, 1, 2, 2));  // each worker's cache has 16 slots
    for (uint32_t i = 0; i < 128; ++i) pool.AcquireFiber(StackClass::Small, 0);
    for (uint32_t fiber = 0; fiber < 10; ++fiber) pool.ReleaseFiber(fiber, 0);
    for (uint32_t fiber = 10; fiber-- > 0;) CHECK(pool.AcquireFiber(StackClass::Small, 0) == fiber);
}

TEST_CASE("pool: cached fibers count as free, and other workers can take them", "[fiber_pool]") {
    FiberPool pool;
    REQUIRE(pool.Acquire(64, 1, 2, 2));  // each worker's cache has 8 slots
    for (uint32_t i = 0; i < 64; ++i) pool.AcquireFiber(StackClass::Small, 0);
    for (uint32_t fiber = 0; fiber < 4; ++fiber) pool.ReleaseFiber(fiber, 0);
    CHECK(pool.AnyFree(StackClass::Small));
    std::set<uint32_t> robbed;
    for (int i = 0; i < 3; ++i) robbed.insert(pool.AcquireFiber(StackClass::Small, 1));
    CHECK(robbed.size() == 3);
    CHECK(robbed.count(FiberPool::kNone) == 0);
    // Skips the robbed slots of its own cache.
    const uint32_t last = pool.AcquireFiber(StackClass::Small, 0);
    CHECK(last < 4);
    CHECK(robbed.count(last) == 0);
    CHECK(pool.AcquireFiber(StackClass::Small, 0) == FiberPool::kNone);
    CHECK(!pool.AnyFree(StackClass::Small));
    // Afterwards the cache works as before.
    pool.ReleaseFiber(last, 0);
    CHECK(pool.AcquireFiber(StackClass::Small, 0) == last);
}

TEST_CASE("pool: AnyStarved is true while a worker is starved", "[fiber_pool]") {
    FiberPool pool;
    REQUIRE(pool.Acquire(32, 1, 1, 1));
    CHECK(!pool.AnyStarved());
    pool.SetStarved(0, true);
    CHECK(pool.AnyStarved());
    pool.SetStarved(0, false);
    CHECK(!pool.AnyStarved());
}

TEST_CASE("invariant 3: a fiber has one user at a time", "[fiber_pool]") {
    // The workers want more fibers than there are. So they rob each other's caches all the time.
    struct Case {
        uint32_t small, workers, wanted;
    };
    for (const auto &[small, workers, wanted] :
         {Case{3, 4, 2}, Case{33, 3, 12}, Case{128, 2, 66}}) {
        FiberPool pool;
        REQUIRE(pool.Acquire(small, 1, workers, workers));
        std::vector<std::atomic<uint32_t>> users(small);
        // Plain: a race if two workers use one fiber, or if a release does not publish the stack.
        std::vector<uint64_t> stacks(small, 0);
        std::atomic<uint32_t> wrong{0}, used{0};
        std::vector<std::thread> threads;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            threads.emplace_back([&, worker, most = wanted] {
                for (int round = 0; round < 10000; ++round) {
                    uint32_t mine[80];
                    uint32_t count = 0;
                    while (count < most && (mine[count] = pool.AcquireFiber(
                                                StackClass::Small, worker)) != FiberPool::kNone) {
                        if (users[mine[count]].fetch_add(1) != 0) wrong.fetch_add(1);
                        ++stacks[mine[count++]];
                        used.fetch_add(1, std::memory_order_relaxed);
                    }
                    while (count > 0) {
                        users[mine[--count]].fetch_sub(1, std::memory_order_relaxed);
                        pool.ReleaseFiber(mine[count], worker);
                    }
                }
            });
        }
        for (std::thread &thread : threads) thread.join();
        CHECK(wrong.load() == 0);
        uint64_t sum = 0;
        for (uint64_t stack : stacks) sum += stack;
        CHECK(sum == used.load());
        uint32_t left = 0;
        while (pool.AcquireFiber(StackClass::Small, 0) != FiberPool::kNone) ++left;
        CHECK(left == small);
    }
}
