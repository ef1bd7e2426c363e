// Counters without a scheduler: a waiter is a number, and it is woken when its number is told.
#include "core/counters.h"

#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/spin.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;
using weft::Priority;

namespace {

using Registration = Counters::Registration;
using Owners = std::vector<uint32_t>;

constexpr uint32_t kTag = 5, kOther = 1000;  // an owner that is no fiber

CounterWord WordOf(const CounterStorage &counter) { return {counter.load()}; }

CounterStorage NewCounter(uint32_t count, uint32_t tag = kTag) {
    return CounterStorage(CounterWord{0}.WithCount(count).WithTag(tag).bits);
}

// Counters of one scheduler with `fibers` fibers.
struct Fixture {
    explicit Fixture(uint32_t fibers = 4) {
        REQUIRE(counters.Acquire(fibers, kTag, {}, 0, &notices));
    }
    // Returns the owners that the decrement has made ready, in order of their numbers.
    Owners Lower(CounterStorage &counter, uint32_t n) {
        Owners ready;
        CHECK(counters.Lower(counter, n, kNoCache,
                             [&](uint32_t owner) { ready.push_back(owner); }) == CounterResult::Ok);
        std::sort(ready.begin(), ready.end());
        return ready;
    }
    void Wait(CounterStorage &counter, uint32_t fiber, uint32_t target,
              Priority priority = Priority::Normal) {
        CHECK(counters.Register(counter, fiber, target, priority) == Registration::Waiting);
    }

    Notices notices;
    Counters counters;
};

}  // namespace

TEST_CASE("counters: what is refused changes nothing", "[counters]") {
    Fixture of;
    Counters &counters = of.counters;
    const auto lower = [&](CounterStorage &counter, uint32_t n) {
        return counters.Lower(counter, n, kNoCache, [](uint32_t) { FAIL("nobody waits"); });
    };
    CounterStorage counter = NewCounter(~0u);
    const uint64_t full = counter.load();
    CHECK(counters.Add(counter, 1) == CounterResult::Overflow);
    CHECK(counter.load() == full);
    CounterStorage two = NewCounter(2);
    CHECK(lower(two, 3) == CounterResult::Underflow);
    CHECK_FALSE(counters.LowerPlain(two, 3));
    CHECK(two.load() == NewCounter(2).load());
    CounterStorage others = NewCounter(2, kTag + 1);
    CHECK(counters.Add(others, 1) == CounterResult::OtherScheduler);
    CHECK(lower(others, 1) == CounterResult::OtherScheduler);
    CHECK(counters.Register(others, 0, 1, Priority::High) == Registration::OtherScheduler);
    CHECK_FALSE(counters.LowerPlain(others, 1));
    CHECK(others.load() == NewCounter(2, kTag + 1).load());
    CHECK(counters.Register(others, 0, 2, Priority::High) == Registration::Satisfied);
    // A counter that is not in use belongs to nobody, also if it still has a tag.
    CounterStorage unused = NewCounter(0, kTag + 1);
    CHECK(counters.Add(unused, 2) == CounterResult::Ok);
    CHECK(unused.load() == NewCounter(2).load());
    CHECK(counters.LowerPlain(unused, 1));
    CHECK(lower(unused, 1) == CounterResult::Ok);
    CHECK_FALSE(WordOf(unused).InUse());
}

TEST_CASE("counters: LowerPlain leaves a counter with a waiter to Lower", "[counters]") {
    Fixture of;
    CounterStorage counter = NewCounter(2);
    of.Wait(counter, 0, 0);
    const uint64_t before = counter.load();
    CHECK_FALSE(of.counters.LowerPlain(counter, 1));
    CHECK(counter.load() == before);
    CHECK(of.Lower(counter, 2) == Owners{0});
}

TEST_CASE("counters: waiters are ready once their value is reached, and not before", "[counters]") {
    Fixture of;
    CounterStorage counter = NewCounter(5);
    of.Wait(counter, 0, 0);
    of.Wait(counter, 1, 3);
    of.Wait(counter, 2, 1);
    of.Wait(counter, 3, 0);
    CHECK(of.counters.Register(counter, 0, 5, Priority::High) == Registration::Satisfied);
    CHECK(of.Lower(counter, 1) == Owners{});
    CHECK(of.counters.Add(counter, 1) == CounterResult::Ok);
    CHECK(of.Lower(counter, 1) == Owners{});
    CHECK(of.Lower(counter, 2) == Owners{1});
    CHECK(of.Lower(counter, 2) == Owners{0, 2, 3});
    CHECK(counter.load() == NewCounter(0).load());
}

// All targets, in random order, beside a simple list. The heap takes several shapes.
TEST_CASE("counters: many waiters with random values", "[counters]") {
    constexpr uint32_t kFibers = 40;
    std::minstd_rand random(1);
    for (int round = 0; round < 200; ++round) {
        Fixture of(kFibers);
        CounterStorage counter = NewCounter(30);
        std::vector<uint32_t> targets(kFibers, ~0u);  // ~0u: it does not wait
        Owners ready, expected;
        for (uint32_t next = 0; next < kFibers || WordOf(counter).Count() != 0;) {
            const uint32_t count = WordOf(counter).Count();
            const uint32_t choice = random() % 5;
            if (choice <= 2 && next < kFibers) {
                const uint32_t target = random() % 3 == 0 ? 0 : random() % 32;
                const Registration result =
                    of.counters.Register(counter, next, target, Priority::Normal);
                REQUIRE((result == Registration::Satisfied) == (count <= target));
                if (result == Registration::Waiting) targets[next] = target;
                ++next;
            } else if (choice == 3 && next < kFibers && count < 30) {
                REQUIRE(of.counters.Add(counter, 1) == CounterResult::Ok);
            } else if (count != 0) {
                const uint32_t n = 1 + random() % std::min(count, 3u);
                expected.clear();
                for (uint32_t i = 0; i < kFibers; ++i) {
                    if (targets[i] == ~0u || targets[i] < count - n) continue;
                    expected.push_back(i);
                    targets[i] = ~0u;
                }
                REQUIRE(of.Lower(counter, n) == expected);
            }
        }
        REQUIRE(counter.load() == NewCounter(0).load());
    }
}

TEST_CASE("counters: RemoveIf takes one waiter, and the others stay", "[counters]") {
    Fixture of(6);
    CounterStorage counter = NewCounter(9);
    const uint32_t targets[6] = {0, 4, 2, 7, 0, 2};
    for (uint32_t i = 0; i < 6; ++i) of.Wait(counter, i, targets[i]);
    CHECK(of.Lower(counter, 1) == Owners{});  // makes a heap
    CHECK(of.counters.Remove(counter, 3));
    CHECK_FALSE(of.counters.Remove(counter, 3));
    const auto isForTwo = [](uint32_t, uint32_t target) { return target == 2; };
    const uint32_t first = of.counters.RemoveIf(counter, kNoCache, isForTwo);
    CHECK((first == 2 || first == 5));
    CHECK(of.counters.RemoveIf(counter, kNoCache, isForTwo) == 7 - first);
    CHECK(of.counters.RemoveIf(counter, kNoCache, isForTwo) == Counters::kNobody);
    CHECK(WordOf(counter).IsEager());
    CHECK(of.Lower(counter, 4) == Owners{1});
    CHECK_FALSE(WordOf(counter).IsEager());  // only waiters for zero are left
    CHECK(of.counters.Remove(counter, 0));
    CHECK(of.Lower(counter, 4) == Owners{4});
    CHECK_FALSE(of.counters.Remove(counter, 4));
}

TEST_CASE("counters: the word has the highest priority of its waiters", "[counters]") {
    Fixture of;
    CounterStorage counter = NewCounter(3);
    of.Wait(counter, 0, 0, Priority::Low);
    CHECK(WordOf(counter).HighestWaiter() == Priority::Low);
    of.Wait(counter, 1, 0, Priority::High);
    of.Wait(counter, 2, 1, Priority::Normal);
    CHECK(WordOf(counter).HighestWaiter() == Priority::High);
    CHECK(of.counters.Remove(counter, 1));
    CHECK(WordOf(counter).HighestWaiter() == Priority::Normal);
    CHECK(of.Lower(counter, 3) == Owners{0, 2});
    CHECK(WordOf(counter).HighestWaiter() == Priority::Low);
}

TEST_CASE("counters: while a counter is locked, it can be incremented, and RemoveIf may give up",
          "[counters]") {
    Fixture of;
    CounterStorage counter = NewCounter(1);
    of.Wait(counter, 0, 0);
    bool wasAsked = false;
    const uint32_t found = of.counters.RemoveIf(counter, kNoCache, [&](uint32_t, uint32_t) {
        wasAsked = true;
        CHECK(WordOf(counter).IsLocked());
        CHECK(of.counters.Add(counter, 2) == CounterResult::Ok);
        CHECK_FALSE(of.counters.LowerPlain(counter, 1));
        CHECK(of.counters.RemoveIf(
                  counter, kNoCache, [](uint32_t, uint32_t) { return true; }, true) ==
              Counters::kNobody);
        return false;
    });
    CHECK(wasAsked);
    CHECK(found == Counters::kNobody);
    CHECK_FALSE(WordOf(counter).IsLocked());
    CHECK(of.Lower(counter, 2) == Owners{});
    CHECK(of.Lower(counter, 1) == Owners{0});
}

TEST_CASE("counters: waiters that are no fibers, with spare records that return", "[counters]") {
    Fixture of;
    CounterStorage counter = NewCounter(1), zero = NewCounter(0);
    const auto wait = [&](CounterStorage &its, uint32_t owner) {
        return of.counters.Register(its, owner, 0, Priority::Normal);
    };
    const test::FailingAllocation failing(0);  // there are 64 records, and no more memory
    for (uint32_t round = 0; round < 3; ++round) {
        Owners owners;
        for (uint32_t i = 0; i < 64; ++i) {
            REQUIRE(wait(counter, kOther + i) == Registration::Waiting);
            owners.push_back(kOther + i);
        }
        CHECK(wait(counter, kOther) == Registration::NoRecord);
        CHECK(of.counters.Remove(counter, kOther + 7));
        CHECK(wait(zero, kOther) == Registration::Satisfied);  // gives the record back
        REQUIRE(wait(counter, kOther + 7) == Registration::Waiting);
        CHECK(of.Lower(counter, 1) == owners);
        CHECK(of.counters.Add(counter, 1) == CounterResult::Ok);
    }
}

TEST_CASE("counters: a waiter for a value above zero has a notice while it waits", "[counters]") {
    Fixture of;
    const auto isShown = [&] {
        of.counters.HideForValue();
        return of.notices.Has(Notices::kForValue);
    };
    CounterStorage counter = NewCounter(2);
    of.Wait(counter, 0, 0);
    CHECK_FALSE(of.notices.Has(Notices::kForValue));
    of.Wait(counter, 1, 1);
    CHECK(isShown());
    CHECK(of.counters.Register(counter, 2, 2, Priority::High) == Registration::Satisfied);
    CHECK(isShown());
    CHECK(of.Lower(counter, 1) == Owners{1});
    CHECK_FALSE(isShown());
    of.Wait(counter, 1, 0);
    CHECK(of.counters.Register(counter, 2, 1, Priority::High) == Registration::Satisfied);
    CHECK_FALSE(isShown());
}

TEST_CASE("counters: a counter that was overwritten ends the process", "[counters]") {
    const test::ChildResult child = test::RunInChild([] {
        Counters counters;
        if (!counters.Acquire(4, kTag)) return;
        CounterStorage counter(NewCounter(1).load() | CounterWord{0}.WithHead(500'000).bits);
        counters.Lower(counter, 1, kNoCache, [](uint32_t) {});
    });
    CHECK(child.Died());
    CHECK(child.output.find("a counter names only waiters that there are") != std::string::npos);
}

// Waiters with targets from 0 to 2 register while two threads decrement the counter and a third
// one removes some of them. Each must be woken or removed exactly once.
TEST_CASE("counters: several threads, and each waiter is woken or removed once", "[counters]") {
    constexpr uint32_t kFibers = 4, kRounds = 5000;
    Fixture of(kFibers);
    CounterStorage counter = NewCounter(0);
    test::SpinBarrier barrier(3);
    std::atomic<uint32_t> ended[kFibers]{};
    std::atomic<uint32_t> wrong{0};
    const auto lower = [&] {
        if (of.counters.LowerPlain(counter, 1)) return;
        if (of.counters.Lower(counter, 1, kNoCache, [&](uint32_t owner) {
                ended[owner].fetch_add(1);
            }) != CounterResult::Ok)
            wrong.fetch_add(1);
    };
    const auto wait = [&](uint32_t fiber, uint32_t target) {
        if (of.counters.Register(counter, fiber, target, Priority::Normal) ==
            Registration::Satisfied)
            ended[fiber].fetch_add(1);
    };
    const auto act = [&](uint32_t thread) {
        if (thread == 0) {
            wait(2, 1);
            if (of.counters.Remove(counter, 0)) ended[0].fetch_add(1);
            wait(3, 0);
        } else {
            if (of.counters.Add(counter, 1) != CounterResult::Ok) wrong.fetch_add(1);
            lower();
            lower();
        }
    };
    std::vector<std::thread> threads;
    for (uint32_t thread = 1; thread < 3; ++thread) {
        threads.emplace_back([&, thread] {
            for (uint32_t round = 0; round < kRounds; ++round) {
                barrier.Wait();
                act(thread);
                barrier.Wait();
            }
        });
    }
    for (uint32_t round = 0; round < kRounds; ++round) {
        if (of.counters.Add(counter, 2) != CounterResult::Ok) wrong.fetch_add(1);
        wait(0, round % 2);
        wait(1, 1);
        barrier.Wait();
        act(0);
        barrier.Wait();
        for (std::atomic<uint32_t> &times : ended) wrong.fetch_add(times.exchange(0) != 1);
        if (WordOf(counter).InUse()) wrong.fetch_add(1);
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong.load() == 0);
    of.counters.HideForValue();
    CHECK_FALSE(of.notices.Has(Notices::kForValue));
}
