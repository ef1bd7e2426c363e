#include "containers/work_stealing_deque.h"

#include "support/failing_allocation.h"
#include "support/spin.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

using Deque = WorkStealingDeque<uint64_t>;

void Push(Deque &deque, uint64_t item) { REQUIRE(deque.Push(item)); }

uint64_t Pop(Deque &deque) {
    uint64_t item = 0;
    return deque.Pop(item) ? item : 0;
}

uint64_t Steal(Deque &deque) {
    uint64_t item = 0;
    return deque.Steal(item) == StealResult::Taken ? item : 0;
}

// Four words that belong together, so that a torn read shows.
struct Wide {
    uint64_t words[4];
    explicit Wide(uint64_t value = 0) : words{value, value * 3, ~value, value + 7} {}
    uint64_t Value() const { return words[0]; }
    bool IsWhole() const {
        const Wide expected(words[0]);
        return words[1] == expected.words[1] && words[2] == expected.words[2] &&
               words[3] == expected.words[3];
    }
};

}  // namespace

TEST_CASE("deque: the owner pops the newest, thieves steal the oldest", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(4));
    CHECK(deque.LooksEmpty());
    CHECK(Pop(deque) == 0);
    CHECK(Steal(deque) == 0);
    for (uint64_t i = 1; i <= 6; ++i) Push(deque, i);
    CHECK(deque.Size() == 6);
    CHECK(Pop(deque) == 6);
    CHECK(Steal(deque) == 1);
    CHECK(Steal(deque) == 2);
    CHECK(Pop(deque) == 5);
    CHECK(Steal(deque) == 3);
    CHECK(Pop(deque) == 4);
    CHECK(Pop(deque) == 0);
    CHECK(Steal(deque) == 0);
    CHECK(deque.Size() == 0);
    CHECK(deque.LooksEmpty());
}

TEST_CASE("deque: PopIf takes the newest item only if the predicate is true", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(2));
    uint64_t item = 0;
    const auto isOdd = [](uint64_t newest) { return newest % 2 != 0; };
    CHECK(!deque.PopIf(item, isOdd));
    Push(deque, 1);
    Push(deque, 2);
    CHECK(!deque.PopIf(item, isOdd));
    CHECK(item == 2);
    CHECK(deque.Size() == 2);
    CHECK(Pop(deque) == 2);
    CHECK(deque.PopIf(item, isOdd));
    CHECK(item == 1);
    CHECK(!deque.PopIf(item, isOdd));
    CHECK(deque.Size() == 0);
}

TEST_CASE("deque: staged items cannot be taken before Publish", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(4));
    Push(deque, 1);
    REQUIRE(deque.Reserve(3));
    for (uint64_t i = 0; i < 3; ++i) deque.Stage(i, 10 + i);
    CHECK(deque.Size() == 1);
    CHECK(Pop(deque) == 1);
    CHECK(Steal(deque) == 0);
    for (uint64_t i = 0; i < 3; ++i) deque.Stage(i, 20 + i);
    deque.Publish(3);
    CHECK(deque.Size() == 3);
    CHECK(Steal(deque) == 20);
    CHECK(Pop(deque) == 22);
    CHECK(Pop(deque) == 21);
}

TEST_CASE("deque: growth keeps items and their order", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(2));
    for (uint64_t i = 1; i <= 1000; ++i) {
        Push(deque, i);
        if (i % 10 == 0) CHECK(Steal(deque) == i / 10);
    }
    CHECK(deque.Size() == 900);
    for (uint64_t i = 1000; i > 100; --i) REQUIRE(Pop(deque) == i);
    CHECK(Pop(deque) == 0);
    REQUIRE(deque.Reserve(5000));
    CHECK(deque.Size() == 0);
}

TEST_CASE("deque: a Reserve without memory fails and changes nothing", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(4));
    for (uint64_t i = 1; i <= 4; ++i) Push(deque, i);
    {
        const test::FailingAllocation failing(0);
        CHECK(!deque.Reserve(1));
        CHECK(!deque.Push(1));
        CHECK(failing.HasFailed());
    }
    CHECK(deque.Size() == 4);
    CHECK(Steal(deque) == 1);
    CHECK(Pop(deque) == 4);
    Push(deque, 5);
    CHECK(Pop(deque) == 5);
    Deque none;
    const test::FailingAllocation failing(0);
    CHECK(!none.Acquire(4));
}

TEST_CASE("fault: index wrap. The deque works across index 2^64", "[deque]") {
    for (uint64_t before = 0; before < 12; ++before) {
        INFO("first index 2^64 - " << before);
        Deque deque;
        REQUIRE(deque.Acquire(4, 0 - before));
        CHECK(deque.LooksEmpty());
        CHECK(Pop(deque) == 0);
        for (uint64_t i = 1; i <= 3; ++i) Push(deque, i);
        CHECK(deque.Size() == 3);
        uint64_t item = 0;
        CHECK(!deque.PopIf(item, [](uint64_t) { return false; }));
        CHECK(item == 3);
        CHECK(Steal(deque) == 1);
        for (uint64_t i = 4; i <= 20; ++i) Push(deque, i);  // the deque grows
        for (uint64_t i = 2; i <= 10; ++i) CHECK(Steal(deque) == i);
        for (uint64_t i = 20; i > 10; --i) CHECK(Pop(deque) == i);
        CHECK(Steal(deque) == 0);
        CHECK(Pop(deque) == 0);
        CHECK(deque.Size() == 0);
    }
}

// One owner and three thieves. The owner pushes in bulk and pops, and the deque runs empty again
// and again.
TEST_CASE("fault: item lost, taken twice or torn. Owner and thieves take each item once",
          "[deque]") {
    for (uint64_t firstIndex : {uint64_t{0}, 0 - uint64_t{5000}}) {
        constexpr uint64_t kItems = 60000;
        WorkStealingDeque<Wide> deque;
        REQUIRE(deque.Acquire(2, firstIndex));
        std::vector<std::atomic<uint32_t>> taken(kItems);
        std::atomic<uint64_t> stolen{0}, torn{0};
        std::atomic<bool> finished{false};
        const auto take = [&](const Wide &item) {
            if (!item.IsWhole() || item.Value() >= kItems)
                torn.fetch_add(1);
            else
                taken[item.Value()].fetch_add(1);
        };
        std::vector<std::thread> thieves;
        for (int i = 0; i < 3; ++i) {
            thieves.emplace_back([&] {
                while (!finished.load()) {
                    Wide item;
                    const StealResult result = deque.Steal(item);
                    if (result == StealResult::Taken) {
                        take(item);
                        stolen.fetch_add(1);
                    } else if (result == StealResult::Empty) {
                        std::this_thread::yield();
                    }
                }
            });
        }
        for (uint64_t next = 0; next < kItems;) {
            const uint64_t count = std::min<uint64_t>(1 + next % 7, kItems - next);
            REQUIRE(deque.Reserve(count));
            for (uint64_t i = 0; i < count; ++i) deque.Stage(i, Wide(next + i));
            deque.Publish(count);
            next += count;
            Wide item;
            // Sometimes the owner pops more than it has pushed. Then owner and thieves compete for
            // the last item.
            for (uint64_t pops = next % 5; pops != 0 && deque.Pop(item); --pops) take(item);
            if (next % 97 == 0) {
                while (deque.Pop(item)) take(item);
            }
        }
        Wide item;
        while (deque.Pop(item)) take(item);
        while (deque.Size() != 0) std::this_thread::yield();
        finished.store(true);
        for (std::thread &thief : thieves) thief.join();
        uint64_t wrong = 0;
        for (auto &count : taken) wrong += count.load() != 1;
        CHECK(wrong == 0);
        CHECK(torn.load() == 0);
    }
}

// ThreadSanitizer checks that publishing an item also publishes the data that it stands for.
TEST_CASE("deque: a thief sees what the owner wrote before it published the item", "[deque]") {
    for (bool single : {false, true}) {
        constexpr uint64_t kItems = 4000;
        Deque deque;
        REQUIRE(deque.Acquire(4096));  // without growth, which would publish, too
        std::vector<uint64_t> values(kItems, 0);
        uint64_t wrong = 0;
        std::thread thief([&] {
            for (uint64_t stolen = 0; stolen < kItems;) {
                uint64_t item;
                if (deque.Steal(item) != StealResult::Taken) continue;
                wrong += values[item] != item + 1;
                ++stolen;
            }
        });
        for (uint64_t i = 0; i < kItems; ++i) {
            values[i] = i + 1;
            if (single) {
                REQUIRE(deque.Push(i));
            } else {
                deque.Stage(0, i);
                deque.Publish(1);
            }
        }
        thief.join();
        CHECK(wrong == 0);
    }
}

// Owner and thief start together and compete for one item, again and again.
TEST_CASE("deque: exactly one of owner and thief takes the last item", "[deque]") {
    Deque deque;
    REQUIRE(deque.Acquire(2));
    constexpr uint64_t kRounds = 20000;
    test::SpinBarrier barrier(2);
    std::atomic<uint64_t> byThief{0};
    std::thread thief([&] {
        for (uint64_t round = 0; round < kRounds; ++round) {
            barrier.Wait();
            uint64_t item;
            if (deque.Steal(item) == StealResult::Taken) byThief.fetch_add(1);
            barrier.Wait();
        }
    });
    uint64_t byOwner = 0, wrong = 0;
    for (uint64_t round = 0; round < kRounds; ++round) {
        REQUIRE(deque.Reserve(1));
        deque.Stage(0, round);
        deque.Publish(1);
        const uint64_t before = byOwner + byThief.load();
        barrier.Wait();
        uint64_t item;
        byOwner += deque.Pop(item);
        barrier.Wait();
        // Both may fail only if the thief lost against an attempt of the owner that failed, too.
        // Then the item is still there.
        byOwner += deque.Pop(item);
        wrong += byOwner + byThief.load() != before + 1;
    }
    thief.join();
    CHECK(wrong == 0);
    CHECK(byOwner + byThief.load() == kRounds);
}
