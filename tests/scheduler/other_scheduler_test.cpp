// Tasks that wait for counters of another scheduler.
#include "support/quiet_run.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("other scheduler: two schedulers wait for each other in a circle", "[other]") {
    for (const uint32_t workers : {1u, 2u}) {
        test::Started one(test::Options(workers)), two(test::Options(workers));
        std::atomic<uint32_t> ran{0};
        test::Batch leaf(4, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::Batch inTwo(
            8, [&](TaskScheduler &, uint32_t) { one.scheduler.AddTasksAndWait(4, leaf.Tasks()); });
        test::Batch inOne(
            8, [&](TaskScheduler &, uint32_t) { two.scheduler.AddTasksAndWait(8, inTwo.Tasks()); });
        one.scheduler.AddTasksAndWait(8, inOne.Tasks());
        CHECK(ran.load() == 8 * 8 * 4);
        one.StopQuietly();
        two.StopQuietly();
    }
}
