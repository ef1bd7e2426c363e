#include "core/idle.h"

#include "support/spin.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

constexpr uint32_t kLevels = 3;  // bits for levels
constexpr bool kPlain = false, kChoosy = true;

// A worker that has searched announces that it sleeps.
void FallAsleep(Idle &idle, uint32_t worker) {
    idle.StartSearching(kPlain);
    idle.Announce(worker, kLevels, kPlain);
}

}  // namespace

TEST_CASE("idle: a plain sleeper is wanted only if no worker searches", "[sleepers]") {
    Idle idle;
    REQUIRE(idle.Acquire(3));
    CHECK(!idle.AnyIdle());
    CHECK(!idle.Wanted());
    idle.StartSearching(kPlain);
    CHECK(idle.AnyIdle());
    CHECK(!idle.AnySleeper());
    FallAsleep(idle, 0);
    CHECK(idle.AnySleeper());
    CHECK(idle.PlainSleepers() == 1);
    CHECK(!idle.PlainWanted());  // another worker searches
    idle.Announce(1, kLevels, kPlain);
    CHECK(idle.PlainWanted());
    CHECK(idle.Wanted());
    CHECK(idle.PlainSleepers() == 2);
    CHECK(idle.TakeAny(0) == 0);
    CHECK(!idle.PlainWanted());         // a worker is waking up
    CHECK(idle.StopSearching(kPlain));  // it was the last searcher, and another worker sleeps
    CHECK(idle.PlainWanted());
    CHECK(idle.TakeAny(0) == 1);
    CHECK(!idle.StopSearching(kPlain));  // nobody sleeps
    CHECK(!idle.AnyIdle());
}

TEST_CASE("idle: of two searchers only the last one is told to wake others", "[sleepers]") {
    Idle idle;
    REQUIRE(idle.Acquire(3));
    FallAsleep(idle, 0);
    idle.StartSearching(kPlain);
    idle.StartSearching(kPlain);
    CHECK(!idle.StopSearching(kPlain));
    CHECK(idle.StopSearching(kPlain));
}

TEST_CASE("idle: a sleeper is taken once", "[sleepers]") {
    Idle idle;
    REQUIRE(idle.Acquire(2));
    for (const bool isChoosy : {kPlain, kChoosy}) {
        idle.StartSearching(isChoosy);
        idle.Announce(1, kLevels, isChoosy);
        CHECK(idle.IsAsleep(1));
        CHECK(!idle.IsAsleep(0));
        CHECK(!idle.TakeAt(0));
        CHECK(idle.TakeAt(1));
        CHECK(!idle.IsAsleep(1));
        CHECK(!idle.TakeAt(1));
        CHECK(!idle.AnySleeper());
        CHECK(idle.TakeAny(0) == Idle::kNone);
        CHECK(idle.TakeFor(kLevels, 2) == Idle::kNone);
        CHECK(!idle.StopSearching(isChoosy));
        CHECK(!idle.AnyIdle());
    }
}

TEST_CASE("idle: choosy workers are not searchers, and are found by their levels", "[sleepers]") {
    Idle idle;
    REQUIRE(idle.Acquire(4));
    idle.StartSearching(kChoosy);
    CHECK(!idle.AnyIdle());
    CHECK(!idle.StopSearching(kChoosy));
    idle.Announce(1, 4, kChoosy);
    idle.Announce(2, 8 | 16, kChoosy);
    CHECK(idle.AnyChoosy());
    CHECK(idle.Wanted());
    CHECK(!idle.PlainWanted());
    CHECK(idle.PlainSleepers() == 0);
    CHECK(idle.TakeAny(1) == Idle::kNone);
    FallAsleep(idle, 3);
    CHECK(idle.IsFor(2, 16 | 32));
    CHECK(!idle.IsFor(1, 16 | 32));
    CHECK(idle.TakeFor(32, 4) == Idle::kNone);
    CHECK(idle.TakeFor(16, 2) == Idle::kNone);  // only the first two workers
    CHECK(idle.TakeFor(16, 4) == 2);
    CHECK(idle.TakeFor(16, 4) == Idle::kNone);
    CHECK(idle.TakeFor(kLevels, 4) == 3);  // plain workers have levels, too
    CHECK(idle.AnyChoosy());
    CHECK(idle.TakeAt(1));
    CHECK(!idle.AnyChoosy());
}

// Two threads take sleepers that a third one lets fall asleep. No sleeper may be taken twice, and
// none may be lost.
TEST_CASE("idle: wakers that take sleepers at once", "[sleepers]") {
    constexpr uint32_t kWorkers = 3, kRounds = 5000;
    Idle idle;
    REQUIRE(idle.Acquire(kWorkers));
    test::SpinBarrier barrier(2);
    std::atomic<uint32_t> taken{0};
    const auto take = [&] {
        for (uint32_t i = 0; i < kWorkers; ++i) taken.fetch_add(idle.TakeAny(i) != Idle::kNone);
        taken.fetch_add(idle.TakeAt(0));
    };
    std::thread other([&] {
        for (uint32_t round = 0; round < kRounds; ++round) {
            barrier.Wait();
            take();
            barrier.Wait();
        }
    });
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < kRounds; ++round) {
        for (uint32_t i = 0; i < kWorkers; ++i) FallAsleep(idle, i);
        barrier.Wait();
        take();
        barrier.Wait();
        wrong += taken.exchange(0) != kWorkers || idle.AnySleeper();
        for (uint32_t i = 0; i < kWorkers; ++i) idle.StopSearching(kPlain);
        wrong += idle.AnyIdle();
    }
    other.join();
    CHECK(wrong == 0);
}

// The protocol itself: a publisher and a worker make their critical steps at the same time.
TEST_CASE("invariant 6: a worker that announces its sleep and a publisher do not miss each other",
          "[sleepers]") {
    constexpr uint32_t kRounds = 20000;
    Idle idle;
    REQUIRE(idle.Acquire(1));
    weft::env::Atomic<uint32_t> work{0};
    test::SpinBarrier barrier(2);
    std::atomic<bool> publisherWakes{false}, workerFinds{false};
    std::thread publisher([&] {
        for (uint32_t round = 1; round <= kRounds; ++round) {
            barrier.Wait();
            work.exchange(round, kSeqCst);
            publisherWakes.store(idle.PlainWanted());
            barrier.Wait();
        }
    });
    uint32_t lost = 0;
    for (uint32_t round = 1; round <= kRounds; ++round) {
        idle.StartSearching(kPlain);
        barrier.Wait();
        idle.Announce(0, kLevels, kPlain);
        workerFinds.store(work.load(kSeqCst) == round);
        barrier.Wait();
        lost += !publisherWakes.load() && !workerFinds.load();
        if (idle.TakeAt(0)) idle.StopSearching(kPlain);
    }
    publisher.join();
    CHECK(lost == 0);
}
