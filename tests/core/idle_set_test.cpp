#include "core/idle_set.h"

#include "support/spin.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("idle set: a publisher has to wake a sleeper only if no worker searches", "[idle_set]") {
    IdleSet idle;
    REQUIRE(idle.Acquire(3));
    CHECK(!idle.Wanted());
    idle.StartSearching();
    idle.StartSearching();
    idle.Announce(0, WorkerMode::Tasks);
    CHECK(!IdleSet::AllAsleep(idle.Snapshot(), 3));
    CHECK(!idle.Wanted());  // the other worker searches
    idle.Announce(1, WorkerMode::Tasks);
    CHECK(!IdleSet::AllAsleep(idle.Snapshot(), 3));
    CHECK(idle.Wanted());
    CHECK(!IdleSet::AllAsleep(idle.Snapshot(), 3));
    idle.StartSearching();
    idle.Announce(2, WorkerMode::Tasks);
    CHECK(IdleSet::AllAsleep(idle.Snapshot(), 3));  // now all workers sleep
    CHECK(IdleSet::AllAsleep(idle.Snapshot(), 3));
    CHECK(idle.TakeSleeper(0) == 0);
    CHECK(!idle.Wanted());        // a worker is waking up
    CHECK(idle.StopSearching());  // it was the last searcher, and other workers sleep
    CHECK(idle.Wanted());
}

TEST_CASE("idle set: Missing counts the tasks for which a sleeper must be woken", "[idle_set]") {
    IdleSet idle;
    REQUIRE(idle.Acquire(5));
    CHECK(idle.Missing(3) == 0);  // no worker sleeps
    for (uint32_t i = 0; i < 5; ++i) idle.StartSearching();
    for (uint32_t i = 0; i < 4; ++i) idle.Announce(i, WorkerMode::Tasks);
    CHECK(idle.Missing(1) == 0);  // there is a searcher for the task
    CHECK(idle.Missing(3) == 2);
    CHECK(idle.Missing(100) == 4);
    idle.StopSearching();
    CHECK(idle.Missing(0) == 0);
    CHECK(idle.Missing(3) == 3);
    for (uint32_t i = 1; i < 4; ++i) CHECK(idle.Cancel(i, WorkerMode::Tasks));
    for (uint32_t i = 1; i < 4; ++i) idle.StopSearching();
    idle.Announce(4, WorkerMode::HigherTasks);
    CHECK(idle.Missing(3) == 2);  // a restricted sleeper counts, too
    CHECK(idle.Cancel(0, WorkerMode::Tasks));
    idle.StopSearching();
    CHECK(idle.Missing(3) == 1);
}

TEST_CASE("idle set: a sleeper is taken once", "[idle_set]") {
    IdleSet idle;
    REQUIRE(idle.Acquire(2));
    idle.StartSearching();
    idle.Announce(1, WorkerMode::Tasks);
    CHECK(!idle.TakeSleeperAt(0));
    CHECK(idle.TakeSleeperAt(1));
    CHECK(!idle.TakeSleeperAt(1));
    CHECK(!idle.Cancel(1, WorkerMode::Tasks));  // an Unpark is on its way
    idle.Announce(1, WorkerMode::Tasks);
    CHECK(idle.Cancel(1, WorkerMode::Tasks));
    CHECK(idle.TakeSleeper(0) == IdleSet::kNone);
    CHECK(!idle.StopSearching());  // it was the last searcher, but no worker sleeps
}

TEST_CASE("idle set: starved workers are not searchers, and are woken separately", "[idle_set]") {
    IdleSet idle;
    REQUIRE(idle.Acquire(2));
    idle.StartSearching();
    idle.Announce(0, WorkerMode::Tasks);
    CHECK(idle.Wanted());  // worker 1 is starved, so it will find no tasks
    idle.Announce(1, WorkerMode::ReadyFibersOnly);
    CHECK(IdleSet::AllAsleep(idle.Snapshot(), 2));
    CHECK(idle.TakeSleeper(1) == 0);
    CHECK(idle.TakeSleeper(1) == IdleSet::kNone);
    CHECK(idle.TakeStarvedSleeper(0) == 1);
    CHECK(idle.TakeStarvedSleeper(0) == IdleSet::kNone);
}

TEST_CASE("idle set: the snapshot changes when a worker wakes up and sleeps again", "[idle_set]") {
    IdleSet idle;
    REQUIRE(idle.Acquire(1));
    idle.StartSearching();
    idle.Announce(0, WorkerMode::Tasks);
    const uint64_t before = idle.Snapshot();
    CHECK(idle.Snapshot() == before);
    CHECK(idle.Cancel(0, WorkerMode::Tasks));
    idle.Announce(0, WorkerMode::Tasks);
    CHECK(IdleSet::AllAsleep(idle.Snapshot(), 1));
    CHECK(idle.Snapshot() != before);
    CHECK(IdleSet::AllAsleep(idle.Snapshot(), 1));
}

// The protocol itself: a publisher and a worker make their critical steps at the same time.
TEST_CASE("invariant 6: a worker that announces its sleep and a publisher do not miss each other",
          "[idle_set]") {
    constexpr uint32_t kRounds = 20000;
    IdleSet idle;
    REQUIRE(idle.Acquire(1));
    weft::env::Atomic<uint32_t> work{0};
    test::SpinBarrier barrier(2);
    std::atomic<bool> publisherWakes{false}, workerFinds{false};
    std::thread publisher([&] {
        for (uint32_t round = 1; round <= kRounds; ++round) {
            barrier.Wait();
            work.exchange(round, kSeqCst);
            publisherWakes.store(idle.Wanted());
            barrier.Wait();
        }
    });
    uint32_t lost = 0;
    for (uint32_t round = 1; round <= kRounds; ++round) {
        idle.StartSearching();
        barrier.Wait();
        idle.Announce(0, WorkerMode::Tasks);
        workerFinds.store(work.load(kSeqCst) == round);
        barrier.Wait();
        lost += !publisherWakes.load() && !workerFinds.load();
        if (idle.Cancel(0, WorkerMode::Tasks)) idle.StopSearching();
    }
    publisher.join();
    CHECK(lost == 0);
}
