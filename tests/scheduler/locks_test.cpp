// What SchedulerOptions::lockHolders leaves behind.
#include "scheduler/state/fiber.h"

#include "support/scheduler_run.h"

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("lockHolders: locks are watched during the run only", "[locks]") {
    SchedulerOptions options = test::Options(1);
    options.lockHolders = true;
    test::Runner runner(options);
    bool isWatched = false;
    CHECK(runner.Run([&](TaskScheduler &) { isWatched = internal::AnyLocksWatched(); }) ==
          Status::Ok);
    CHECK(isWatched);
    CHECK_FALSE(internal::AnyLocksWatched());
}
