#include "core/counter_waiting.h"

#include "support/child_process.h"
#include "support/spin.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

using Registration = CounterWaiting::Registration;

struct Fixture {
    CounterWaiting waiting;
    Counter counter;
    explicit Fixture(uint32_t count, uint32_t tag = 1) : counter(count) {
        REQUIRE(waiting.Acquire(1000, tag));
    }

    CounterStorage &Word() { return CounterAccess::Word(counter); }
    Registration Register(uint32_t fiber, uint32_t target) {
        return waiting.Register(Word(), fiber, target);
    }
    std::vector<uint32_t> Decrement(uint32_t n) {
        uint32_t list = ~0u;
        REQUIRE(waiting.Decrement(Word(), n, list) == CounterResult::Ok);
        return Owners(list);
    }
    std::vector<uint32_t> Owners(uint32_t list) {
        std::vector<uint32_t> owners;
        while (list != 0) owners.push_back(waiting.NextOwner(list));
        std::sort(owners.begin(), owners.end());
        return owners;
    }
};

using Fibers = std::vector<uint32_t>;

}  // namespace

TEST_CASE("counter: the decrement to zero returns each waiter once", "[counter_waiting]") {
    Fixture f(3);
    CHECK(f.Register(10, 0) == Registration::Waiting);
    CHECK(f.Register(11, 0) == Registration::Waiting);
    CHECK(f.Decrement(2) == Fibers{});
    CHECK(f.Register(12, 0) == Registration::Waiting);
    CHECK(f.Decrement(1) == Fibers{10, 11, 12});
    CHECK(f.counter.IsZero());
    CHECK(f.Register(13, 0) == Registration::Satisfied);
}

TEST_CASE("counter: targets other than zero", "[counter_waiting]") {
    Fixture f(10);
    CHECK(f.Register(1, 10) == Registration::Satisfied);
    CHECK(f.Register(2, 7) == Registration::Waiting);
    CHECK(f.Register(3, 5) == Registration::Waiting);
    CHECK(f.Register(4, 5) == Registration::Waiting);
    CHECK(f.Register(5, 0) == Registration::Waiting);
    CHECK(f.Decrement(1) == Fibers{});
    CHECK(f.Decrement(2) == Fibers{2});
    CHECK(f.Decrement(1) == Fibers{});
    CHECK(f.Decrement(4) == Fibers{3, 4});  // jumps over 5
    CHECK(f.Decrement(1) == Fibers{});
    CHECK(f.Decrement(1) == Fibers{5});
    CHECK(f.counter.IsZero());
}

TEST_CASE("counter: a waiter stays registered while the count rises", "[counter_waiting]") {
    Fixture f(4);
    CHECK(f.Register(1, 2) == Registration::Waiting);
    CHECK(f.Register(2, 0) == Registration::Waiting);
    CHECK(f.Decrement(1) == Fibers{});
    CHECK(f.waiting.Add(f.Word(), 5) == CounterResult::Ok);
    CHECK(f.counter.Value() == 8);
    CHECK(f.Decrement(6) == Fibers{1});
    CHECK(f.waiting.Add(f.Word(), 1) == CounterResult::Ok);
    CHECK(f.Decrement(3) == Fibers{2});
}

TEST_CASE("fault: counter underflow is refused, and so is overflow", "[counter_waiting]") {
    Fixture f(2);
    uint32_t list = 0;
    CHECK(f.Register(1, 0) == Registration::Waiting);
    CHECK(f.waiting.Decrement(f.Word(), 3, list) == CounterResult::Underflow);
    CHECK(list == 0);
    CHECK(f.counter.Value() == 2);
    CHECK(f.waiting.Add(f.Word(), 0xffffffffu - 1) == CounterResult::Overflow);
    CHECK(f.counter.Value() == 2);
    CHECK(f.waiting.Add(f.Word(), 0xffffffffu - 2) == CounterResult::Ok);
    CHECK(f.counter.Value() == 0xffffffffu);
    CHECK(f.waiting.Add(f.Word(), 1) == CounterResult::Overflow);
    CHECK(f.Decrement(0xffffffffu) == Fibers{1});
    CHECK(f.waiting.Decrement(f.Word(), 1, list) == CounterResult::Underflow);
}

TEST_CASE("counter: TryAdd and TryDecrement refuse all but the simple cases", "[counter_waiting]") {
    Fixture f(2, 3);
    CHECK_FALSE(f.waiting.TryDecrement(f.Word(), 1));  // the counter has no scheduler yet
    CHECK_FALSE(f.waiting.TryAdd(f.Word(), 1));
    CHECK(f.waiting.Add(f.Word(), 1) == CounterResult::Ok);
    CHECK(f.waiting.TryAdd(f.Word(), 3));
    CHECK(f.waiting.TryDecrement(f.Word(), 4));
    CHECK(f.counter.Value() == 2);
    CHECK_FALSE(f.waiting.TryDecrement(f.Word(), 3));
    CHECK_FALSE(f.waiting.TryAdd(f.Word(), 0xffffffffu - 1));
    CHECK(f.Register(7, 0) == Registration::Waiting);
    CHECK(f.waiting.TryDecrement(f.Word(), 1));
    CHECK_FALSE(f.waiting.TryDecrement(f.Word(), 1));  // this would wake a waiter
    CHECK(f.Register(8, 1) == Registration::Satisfied);
    CHECK(f.waiting.TryAdd(f.Word(), 2));
    CHECK(f.Register(9, 1) == Registration::Waiting);
    CHECK_FALSE(f.waiting.TryDecrement(f.Word(), 1));  // this might wake a waiter
    CHECK(f.counter.Value() == 3);
    CounterWaiting other;
    REQUIRE(other.Acquire(10, 4));
    CHECK_FALSE(other.TryDecrement(f.Word(), 1));
    CHECK_FALSE(other.TryAdd(f.Word(), 1));
    CHECK(f.Decrement(3) == Fibers{7, 9});
    CHECK(f.waiting.TryAdd(f.Word(), 1));
    CHECK(f.waiting.TryDecrement(f.Word(), 1));
    // Also at zero: the counter has the tag of `f.waiting`.
    CHECK(other.TryAdd(f.Word(), 1) == false);
}

TEST_CASE("fault: counter used with two schedulers is refused while it is in use",
          "[counter_waiting]") {
    Fixture f(0, 3);
    CounterWaiting other;
    REQUIRE(other.Acquire(10, 4));
    CHECK(f.waiting.Add(f.Word(), 2) == CounterResult::Ok);
    uint32_t list = 0;
    CHECK(other.Add(f.Word(), 1) == CounterResult::OtherScheduler);
    CHECK(other.Decrement(f.Word(), 1, list) == CounterResult::OtherScheduler);
    CHECK(other.Register(f.Word(), 1, 0) == Registration::OtherScheduler);
    CHECK(f.counter.Value() == 2);
    CHECK(f.Decrement(2) == Fibers{});
    CHECK(other.Add(f.Word(), 1) == CounterResult::Ok);  // at zero any scheduler may use it
    CHECK(f.waiting.Decrement(f.Word(), 1, list) == CounterResult::OtherScheduler);
    CHECK(other.Decrement(f.Word(), 1, list) == CounterResult::Ok);
    // A wait sets the tag, too.
    Counter mine(1);
    CHECK(f.waiting.Register(CounterAccess::Word(mine), 1, 0) == Registration::Waiting);
    CHECK(other.Decrement(CounterAccess::Word(mine), 1, list) == CounterResult::OtherScheduler);
}

TEST_CASE("counter: an overwritten counter that names a missing waiter is a broken invariant",
          "[counter_waiting]") {
    // There are 1,000 records of fibers and 64 spare ones. So these two records do not exist.
    for (const uint32_t head : {1065u, CounterWord::kMaxRecords}) {
        const test::ChildResult child = test::RunInChild([head] {
            Fixture f(1);
            const uint64_t forged =
                CounterWord{f.Word().load(std::memory_order_relaxed)}.WithHead(head).bits;
            std::memcpy(static_cast<void *>(&f.counter), &forged, sizeof forged);
            f.Decrement(1);
        });
        INFO("record " << head - 1);
        CHECK(child.Died());
        CHECK(child.output.find("broken invariant: a counter names only waiters that there are") !=
              std::string::npos);
    }
}

TEST_CASE("counter: at zero it has no waiters left, and can be raised again", "[counter_waiting]") {
    Fixture f(1);
    for (uint32_t round = 0; round < 100; ++round) {
        CHECK(f.Register(round, 0) == Registration::Waiting);
        CHECK(f.Register(500 + round, round % 3 == 0 ? 1 : 0) ==
              (round % 3 == 0 ? Registration::Satisfied : Registration::Waiting));
        CHECK(f.Decrement(1) == (round % 3 == 0 ? Fibers{round} : Fibers{round, 500 + round}));
        CHECK(CounterWord{f.Word().load()}.Head() == 0);
        CHECK(!CounterWord{f.Word().load()}.InUse());
        CHECK(f.waiting.Add(f.Word(), 1) == CounterResult::Ok);
    }
}

// The decrement of one thread sorts many waiters. Meanwhile another thread lowers the count below
// the target of a waiter and raises it again. One of the two must return the waiter, and only once.
TEST_CASE("counter: a value passed while another thread sorts the waiters is not missed",
          "[counter_waiting]") {
    constexpr uint32_t kRounds = 20000, kCrowd = 400, kWaiter = 900;
    CounterWaiting waiting;
    REQUIRE(waiting.Acquire(1000, 1));
    Counter counter(1000);
    CounterStorage &word = CounterAccess::Word(counter);
    for (uint32_t fiber = 0; fiber < kCrowd; ++fiber) {
        // These waiters are sorted, but their targets are never reached.
        REQUIRE(waiting.Register(word, fiber, 1 + fiber % 2) == Registration::Waiting);
    }
    test::SpinBarrier barrier(2);
    std::atomic<uint32_t> woken{0}, strangers{0};
    std::atomic<bool> stop{false};
    const auto lower = [&](uint32_t n) {
        uint32_t list = 0;
        if (waiting.Decrement(word, n, list) != CounterResult::Ok) strangers.fetch_add(1);
        while (list != 0) (waiting.NextOwner(list) == kWaiter ? woken : strangers).fetch_add(1);
    };
    std::thread other([&] {
        for (uint32_t round = 0; round < kRounds; ++round) {
            barrier.Wait();
            if (stop.load()) return;
            // So the threads meet at different places of the code.
            for (uint32_t i = 0; i < round % 64; ++i) weft::env::Pause();
            lower(500);  // 1000 or 999 down to 500 or 499: at or below 600
            if (waiting.Add(word, 500) != CounterResult::Ok) strangers.fetch_add(1);
            barrier.Wait();
        }
    });
    uint32_t missed = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
        const uint32_t before = woken.load();
        if (waiting.Register(word, kWaiter, 600) != Registration::Waiting) strangers.fetch_add(1);
        barrier.Wait();
        lower(1);  // detaches the list and sorts it
        barrier.Wait();
        missed = woken.load() != before + 1;
        if (waiting.Add(word, 1) != CounterResult::Ok) strangers.fetch_add(1);
        if (missed != 0) {
            stop.store(true);
            barrier.Wait();
            break;
        }
    }
    other.join();
    CHECK(missed == 0);
    CHECK(strangers.load() == 0);
    CHECK(counter.Value() == 1000);
}

// Threads stand for fibers and wait for random targets while other threads count. Every waiter must
// be returned.
TEST_CASE("fault: lost wake-up in wait. Concurrent decrements return each waiter",
          "[counter_waiting]") {
    constexpr uint32_t kThreads = 4, kRounds = 20000;
    CounterWaiting waiting;
    REQUIRE(waiting.Acquire(kThreads, 1));
    Counter counter(4);
    CounterStorage &word = CounterAccess::Word(counter);
    std::atomic<uint32_t> woken[kThreads]{};
    std::atomic<uint32_t> wrong{0}, finished{0};
    const auto lower = [&](uint32_t n) {
        uint32_t list = 0;
        const CounterResult result = waiting.Decrement(word, n, list);
        while (list != 0) woken[waiting.NextOwner(list)].fetch_add(1);
        return result == CounterResult::Ok;
    };
    std::vector<std::thread> threads;
    for (uint32_t self = 0; self < kThreads; ++self) {
        threads.emplace_back([&, self] {
            uint32_t random = 12345 + self;
            uint32_t waits = 0;
            for (uint32_t round = 0; round < kRounds; ++round) {
                random = random * 1664525 + 1013904223;
                if (self < 2) {
                    // This thread raises the counter, then lowers it by the same number.
                    const uint32_t n = 1 + (random >> 16) % 3;
                    if (waiting.Add(word, n) != CounterResult::Ok) wrong.fetch_add(1);
                    // A waiter may have subtracted 4 for a moment, so the count may be too low.
                    if (!test::SpinUntil([&] { return lower(n); })) wrong.fetch_add(1);
                    continue;
                }
                if (waiting.Register(word, self, (random >> 16) % 4) == Registration::Waiting) {
                    // Each time that a waiter subtracts 4, the count falls to 0 or near it. Then
                    // the other waiters must be returned.
                    ++waits;
                    const bool back = test::SpinUntil([&] {
                        if (woken[self].load() == waits) return true;
                        if (lower(4) && waiting.Add(word, 4) != CounterResult::Ok)
                            wrong.fetch_add(1);
                        return woken[self].load() == waits;
                    });
                    if (back) continue;
                    wrong.fetch_add(1);
                    break;
                }
            }
            finished.fetch_add(1);
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(finished.load() == kThreads);
    CHECK(wrong.load() == 0);
    CHECK(counter.Value() == 4);
    CHECK(CounterWord{word.load()}.Head() == 0);
}
