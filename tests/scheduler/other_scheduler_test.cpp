// Tasks that wait for counters of another scheduler.

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("other scheduler: two schedulers wait for each other in a circle", "[other]") {
    for (const uint32_t workers : {1u, 2u}) {
        test::Runner one(test::Options(workers)), two(test::Options(workers));
        REQUIRE(one.scheduler.Start() == Status::Ok);
        REQUIRE(two.scheduler.Start() == Status::Ok);
        std::atomic<uint32_t> ran{0};
        test::Batch leaf(4, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        const auto nest = [&](TaskScheduler &to) { to.AddTasksAndWait(4, leaf.Tasks()); };
        test::Batch inTwo(8, [&](TaskScheduler &, uint32_t) { nest(one.scheduler); });
        test::Batch inOne(
            8, [&](TaskScheduler &, uint32_t) { two.scheduler.AddTasksAndWait(8, inTwo.Tasks()); });
        one.scheduler.AddTasksAndWait(8, inOne.Tasks());
        CHECK(ran.load() == 8 * 8 * 4);
        one.scheduler.Stop();
        two.scheduler.Stop();
        CHECK(one.log.Text() == "");
        CHECK(two.log.Text() == "");
    }
}
