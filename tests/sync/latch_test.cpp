#include "weft/sync/latch.h"

#include "sync/mix.h"

#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("Latch: waiters pass when all have arrived, and see all writes", "[sync][latch][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        constexpr uint32_t kAll = 23;
        std::unique_ptr<Latch> latch;
        std::once_flag once;
        std::vector<uint32_t> plain(kAll);
        std::atomic<uint32_t> missing{0};
        CHECK(test::RunMixed(point, kAll - 3, 3, [&](TaskScheduler &scheduler, uint32_t index) {
            std::call_once(once, [&] { latch = std::make_unique<Latch>(scheduler, kAll); });
            plain[index] = 1;
            if (index % 2 == 0) {
                latch->arrive_and_wait();
            } else {
                latch->count_down();
                latch->wait();
            }
            for (const uint32_t value : plain) missing.fetch_add(1 - value);
        }));
        CHECK(missing.load() == 0);
        CHECK(latch != nullptr);
    }
}

TEST_CASE("report NotRunning: Latch::arrive_and_wait reports once, and has no effect",
          "[sync][latch]") {
    test::Runner runner(test::Options(1));
    Latch latch(runner.scheduler, 1);
    latch.arrive_and_wait();
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);
    CHECK(!latch.try_wait());
}

TEST_CASE("Latch: counts down by several, by none, and too far", "[sync][latch][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Latch latch(one.Scheduler(), 3);
    latch.count_down(2);
    CHECK(!latch.try_wait());
    latch.count_down(0);
    CHECK(!latch.try_wait());
    latch.count_down();
    CHECK(latch.try_wait());
    latch.wait();
    CHECK(one.Log().Count() == 0);
    latch.count_down();
    CHECK(one.Log().CountOf(ReportCode::CounterUnderflow) == 1);
    CHECK(latch.try_wait());
    Latch none(one.Scheduler(), 0);
    none.wait();
}
