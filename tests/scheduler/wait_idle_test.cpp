#include "support/quiet_run.h"
#include "support/threads.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WaitIdle: several threads, each waits for its own uncounted tasks",
          "[external][wait_idle]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Started runner(point);
        std::atomic<uint32_t> wrong{0};
        runner.scheduler.WaitIdle();  // nothing was ever pending
        test::Threads threads(4, [&](uint32_t self) {
            for (uint32_t round = 0; round < 10; ++round) {
                test::Marks marks(1 + (self * 11 + round * 17) % 65);
                runner.scheduler.AddTasks(marks.Count(), marks.Tasks());
                runner.scheduler.WaitIdle();
                wrong.fetch_add(marks.Wrong());
            }
        });
        threads.Join();
        runner.StopQuietly();
        CHECK(wrong.load() == 0);
    }
}
