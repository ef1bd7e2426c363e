#include "weft/task_scheduler.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("worker loop: Large tasks run on large fibers, Small ones run, too",
          "[worker_loop][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> large{0}, small{0}, onSmallFiber{0};
        test::Batch largeTasks(40, [&](TaskScheduler &scheduler, uint32_t) {
            if (scheduler.CurrentFiber() < point.smallFibers) onSmallFiber.fetch_add(1);
            large.fetch_add(1);
        });
        test::Batch smallTasks(40, [&](TaskScheduler &, uint32_t) { small.fetch_add(1); });
        test::Runner runner(point);
        CHECK(runner.Run(
                  [&](TaskScheduler &scheduler) {
                      for (int round = 0; round < 5; ++round) {
                          Counter counter;
                          for (uint32_t i = 0; i < 20; ++i) {
                              scheduler.AddTask(largeTasks[i], &counter, test::kLarge);
                              scheduler.AddTask(smallTasks[i], &counter);
                          }
                          scheduler.AddTasks(20, largeTasks.Tasks(), &counter, test::kLarge);
                          scheduler.AddTasks(20, smallTasks.Tasks(), &counter);
                          scheduler.WaitForCounter(&counter);
                      }
                  },
                  StackClass::Small) == Status::Ok);
        CHECK(large.load() == 200);
        CHECK(small.load() == 200);
        CHECK(onSmallFiber.load() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("worker loop: with too few large fibers, Large tasks queue up and run later",
          "[worker_loop][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        const uint32_t count = point.largeFibers * 3 + 2;
        std::atomic<uint32_t> finished{0}, waiting{0}, most{0};
        std::vector<Counter> gates(count);
        test::Batch openers(count, [&](TaskScheduler &scheduler, uint32_t i) {
            scheduler.DecrementCounter(&gates[i]);
        });
        test::Batch largeTasks(count, [&](TaskScheduler &scheduler, uint32_t i) {
            const uint32_t now = waiting.fetch_add(1) + 1;
            uint32_t seen = most.load();
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            scheduler.Yield();
            scheduler.IncrementCounter(&gates[i]);
            scheduler.AddTask(openers[i]);
            scheduler.WaitForCounter(&gates[i]);
            waiting.fetch_sub(1);
            finished.fetch_add(1);
        });
        test::Runner runner(point);
        CHECK(runner.Run(
                  [&](TaskScheduler &scheduler) {
                      Counter counter;
                      scheduler.AddTasks(count, largeTasks.Tasks(), &counter, test::kLarge);
                      scheduler.WaitForCounter(&counter);
                  },
                  StackClass::Small) == Status::Ok);
        CHECK(finished.load() == count);
        CHECK(most.load() <= point.largeFibers);
        CHECK(runner.log.CountOf(ReportCode::OutOfSmallFibers) == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("fault: fiber pool empty. Tasks run when the first waiters continue",
          "[worker_loop][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        if (point.smallFibers > 3 || (point.idle == IdlePolicy::Spin && point.workers > 2))
            continue;
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> finished{0}, started{0};
        Counter gate(1);
        bool blocked = false;
        test::Batch waiters(20, [&](TaskScheduler &scheduler, uint32_t) {
            started.fetch_add(1);
            scheduler.WaitForCounter(&gate);
            finished.fetch_add(1);
        });
        std::thread external([&] {
            // Every small fiber waits. At least seventeen tasks have no fiber. A scheduler with
            // one class of fibers has more of them.
            blocked = test::SpinUntil([&] { return started.load() >= point.smallFibers; });
            test::Linger(300);
            runner.scheduler.DecrementCounter(&gate);
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasks(20, waiters.Tasks());
            // Another counter than that of the tasks, so none runs inline.
            scheduler.WaitForCounter(&gate);
        }) == Status::Ok);
        external.join();
        CHECK(blocked);
        CHECK(finished.load() == 20);
    }
}

// The loop on the only small fiber continues on a large fiber and frees the small one. The other
// worker had no fiber and must be woken: the Large task does not end before a Small task has run.
TEST_CASE("worker loop: a freed fiber wakes a worker that sleeps because it had none",
          "[worker_loop]") {
    for (IdlePolicy idle : {IdlePolicy::Sleep, IdlePolicy::Balanced}) {
        for (int round = 0; round < 10; ++round) {
            test::Runner runner(test::Options(2, 1, 2, idle));
            std::atomic<bool> started{false}, ran{false}, met{false};
            Counter gate(1);
            test::Batch small(1, [&](TaskScheduler &, uint32_t) { ran.store(true); });
            test::Batch large(1, [&](TaskScheduler &scheduler, uint32_t) {
                met.store(test::SpinUntil([&] { return ran.load(); }));
                scheduler.DecrementCounter(&gate);
            });
            test::Batch first(1, [&](TaskScheduler &scheduler, uint32_t) {
                started.store(true);
                // Most likely the main task waits now, and its worker sleeps without a fiber.
                test::Linger(2000);
                scheduler.AddTask(small[0], nullptr, test::kLow);
                scheduler.AddTask(large[0], nullptr, test::kLarge);
            });
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTask(first[0]);
                if (test::SpinUntil([&] { return started.load(); }))
                    scheduler.WaitForCounter(&gate);
            }) == Status::Ok);
            REQUIRE(met.load());
        }
    }
}

namespace {

void ExpectPoolEmpty(std::initializer_list<IdlePolicy> policies, bool hasDeadline = false) {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (IdlePolicy idle : policies) {
            test::Runner runner(test::Options(workers, 2, 2, idle));
            INFO(workers << " workers, policy " << static_cast<int>(idle));
            std::atomic<uint32_t> finished{0};
            Counter gate(1);
            bool reported = false;
            test::Batch waiters(5, [&](TaskScheduler &scheduler, uint32_t) {
                scheduler.WaitForCounter(&gate);
                finished.fetch_add(1);
            });
            std::thread external([&] {
                reported = test::SpinUntil(
                    [&] { return runner.log.CountOf(ReportCode::OutOfSmallFibers) != 0; });
                runner.scheduler.DecrementCounter(&gate);
            });
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                scheduler.AddTasks(5, waiters.Tasks());
                hasDeadline
                    ? static_cast<void>(WaitForCounterFor(scheduler, &gate, std::chrono::hours(1)))
                    : scheduler.WaitForCounter(&gate);
            }) == Status::Ok);
            external.join();
            CHECK(reported);
            CHECK(finished.load() == 5);
            const test::LoggedReport report = runner.log.First(ReportCode::OutOfSmallFibers);
            CHECK(test::Names(report.what, "all 2 small fibers wait"));
            CHECK(test::Names(report.hint, "SchedulerOptions::smallFibers"));
            CHECK(!report.fatal);
            CHECK(runner.log.CountOf(ReportCode::OutOfSmallFibers) <= 1);
        }
    }
}

void ExpectLargePoolEmpty(std::initializer_list<IdlePolicy> policies) {
    for (uint32_t workers : {1u, 2u, 8u}) {
        for (IdlePolicy idle : policies) {
            test::Runner runner(test::Options(workers, 32, 2, idle));
            INFO(workers << " workers, policy " << static_cast<int>(idle));
            std::atomic<uint32_t> finished{0};
            Counter gate(1);
            bool reported = false;
            test::Batch waiters(5, [&](TaskScheduler &scheduler, uint32_t) {
                scheduler.WaitForCounter(&gate);
                finished.fetch_add(1);
            });
            std::thread external([&] {
                reported = test::SpinUntil(
                    [&] { return runner.log.CountOf(ReportCode::OutOfLargeFibers) != 0; });
                runner.scheduler.DecrementCounter(&gate);
            });
            CHECK(runner.Run(
                      [&](TaskScheduler &scheduler) {
                          Counter counter;
                          scheduler.AddTasks(5, waiters.Tasks(), &counter, test::kLarge);
                          scheduler.WaitForCounter(&counter);
                      },
                      StackClass::Small) == Status::Ok);
            external.join();
            CHECK(reported);
            CHECK(finished.load() == 5);
            const test::LoggedReport report = runner.log.First(ReportCode::OutOfLargeFibers);
            CHECK(test::Names(report.what, "all 2 large fibers wait"));
            CHECK(test::Names(report.hint, "SchedulerOptions::largeFibers"));
            CHECK(!report.fatal);
        }
    }
}

}  // namespace

TEST_CASE("report OutOfSmallFibers: names smallFibers, and the run continues",
          "[worker_loop][grid]") {
    ExpectPoolEmpty({IdlePolicy::Balanced, IdlePolicy::Sleep});
}

TEST_CASE("report OutOfSmallFibers: with workers that never sleep", "[worker_loop][grid]") {
    ExpectPoolEmpty({IdlePolicy::Spin});
}

TEST_CASE("report OutOfSmallFibers: also while a deadline is pending", "[worker_loop]") {
    ExpectPoolEmpty({IdlePolicy::Balanced, IdlePolicy::Sleep}, true);
}

// Each of three links submits leaves and then the next link. So the newest task is not one that the
// link waits for, and soon all fibers wait. Then the waiting tasks get their leaves one by one.
// Meanwhile the Low task stays in its lane.
TEST_CASE("report OutOfSmallFibers: not while waiting tasks run others inline",
          "[worker_loop][one_worker]") {
    constexpr uint32_t kLeaves = 5000;
    SchedulerOptions options = test::Options(0, 3, 2, IdlePolicy::Sleep);
    options.stallMilliseconds = 1;
    test::Runner runner(options);
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    uint32_t ran = 0;
    Counter counter;
    test::Batch leaf(kLeaves, [&](TaskScheduler &, uint32_t) { ++ran; });
    test::Batch link(4, [&](TaskScheduler &inside, uint32_t i) {
        if (i == 3) return;
        Counter mine;
        inside.AddTasks(kLeaves, leaf.Tasks(), &mine);
        inside.AddTask(link[i + 1], &counter);
        inside.WaitForCounter(&mine);
    });
    scheduler.AddTasks(1, leaf.Tasks(), &counter, test::kLow);
    scheduler.AddTask(link[0], &counter);
    scheduler.WaitForCounter(&counter);
    CHECK(ran == 3 * kLeaves + 1);
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(runner.log.CountOf(ReportCode::OutOfSmallFibers) == 0);
}

TEST_CASE("report OutOfLargeFibers: names largeFibers, and the run continues",
          "[worker_loop][grid]") {
    ExpectLargePoolEmpty({IdlePolicy::Balanced, IdlePolicy::Sleep});
}

TEST_CASE("report OutOfLargeFibers: with workers that never sleep", "[worker_loop][grid]") {
    ExpectLargePoolEmpty({IdlePolicy::Spin});
}
