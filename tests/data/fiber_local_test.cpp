#include "weft/data/fiber_local.h"

#include "platform/race_finder.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// A tree of tasks. Each task binds the value to its own number and waits for its children, which
// may run on top of it.
struct Tree {
    FiberLocal<uint32_t> &local;
    std::atomic<uint32_t> wrong{0}, nested{0};

    void Grow(TaskScheduler &scheduler, uint32_t number) {
        const FiberLocal<uint32_t>::Scope scope(local, number);
        uint32_t *const place = local.Get();
        const uint32_t fiber = scheduler.CurrentFiber();
        if (number < 40) {
            test::Batch children(3, [&](TaskScheduler &running, uint32_t i) {
                nested += running.CurrentFiber() == fiber;
                Grow(running, number * 3 + i + 1);
            });
            scheduler.AddTasksAndWait(children.Count(), children.Tasks());
        } else {
            scheduler.Yield();
        }
        wrong += local.Get() != place || *place != number;
        {
            const FiberLocal<uint32_t>::Scope inner(local, 1000000);
            wrong += *local.Get() != 1000000;
        }
        wrong += *place != number;
    }
};

}  // namespace

TEST_CASE("FiberLocal: each fiber has a value if the numbers of fibers are automatic",
          "[fiber_local]") {
    SchedulerOptions options;
    options.workers = 2;
    test::Runner runner(options);
    FiberLocal<uint32_t> local(runner.scheduler, options, 7);
    CHECK(local.Count() == test::FibersOf(test::Options(2)) + options.maxAttached);
    uint32_t inMain = 0, inSmall = 0;
    test::Batch small(1, [&](TaskScheduler &, uint32_t) {
        if (local.Get() != nullptr) inSmall = *local.Get();
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        if (local.Get() != nullptr) inMain = *local.Get();
        Counter counter;
        scheduler.AddTasks(1, small.Tasks(), &counter);
        scheduler.WaitForCounter(&counter, Meanwhile::HighOnly);
    }) == Status::Ok);
    CHECK(inMain == 7);
    CHECK(inSmall == 7);
}

TEST_CASE("FiberLocal: takes the numbers of fibers from the scheduler, before and in the run",
          "[fiber_local]") {
    for (const bool isAutomatic : {false, true}) {
        SchedulerOptions options = test::Options(2, isAutomatic ? 0 : 5);
        options.maxAttached = 2;
        SchedulerOptions effective = options;
        if (isAutomatic) effective.fibers = 160;
        const uint32_t count = test::FibersOf(effective) + 2;
        test::Runner runner(options);
        FiberLocal<uint32_t> before(runner.scheduler, 7);
        CHECK(before.Count() == count);
        uint32_t inRun = 0, value = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            FiberLocal<uint32_t> during(scheduler, 8);
            inRun = during.Count();
            if (before.Get() != nullptr && during.Get() != nullptr)
                value = *before.Get() * 10 + *during.Get();
        }) == Status::Ok);
        CHECK(inRun == count);
        CHECK(value == 78);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("FiberLocal: a task keeps its value while other tasks run on its fiber",
          "[fiber_local][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        FiberLocal<uint32_t> local(runner.scheduler, test::Options(point), 0);
        Tree tree{local};
        uint32_t left = 1;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            tree.Grow(scheduler, 0);
            left = *local.Get();
        }) == Status::Ok);
        CHECK(tree.wrong == 0);
        CHECK(left == 0);
        // otherwise the test shows nothing
        if (point.workers == 1 && !internal::race::kFinder) CHECK(tree.nested > 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("FiberLocal: fibers of both classes and attached threads have values, other threads none",
          "[fiber_local]") {
    const SchedulerOptions options = test::Options(2, 5);
    test::Runner runner(options);
    FiberLocal<int> local(runner.scheduler, options, 4);
    CHECK(local.Count() == test::FibersOf(options) + options.maxAttached);
    CHECK(local.Get() == nullptr);
    std::atomic<int> wrong{0};
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              const auto look = [&](TaskScheduler &, uint32_t) { wrong += local.Get() == nullptr; };
              test::Batch batch(20, look);
              scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
              scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
              test::Threads threads(options.maxAttached, [&](uint32_t i) {
                  const FiberLocal<int>::Scope nothing(local, 9);
                  wrong += local.Get() != nullptr;
                  wrong += scheduler.AttachThread() != Status::Ok;
                  {
                      const FiberLocal<int>::Scope scope(local, static_cast<int>(i));
                      scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
                      wrong += local.Get() == nullptr || *local.Get() != static_cast<int>(i);
                  }
                  wrong += local.Get() == nullptr || *local.Get() != 4;
                  scheduler.DetachThread();
              });
          }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("FiberLocal: an exception that leaves a task ends its scope", "[fiber_local]") {
    test::Runner runner(test::Options(1));
    FiberLocal<std::string> local(runner.scheduler, test::Options(1), "outer");
    std::string during, after;
    CHECK(runner.Run([&](TaskScheduler &) {
        try {
            const FiberLocal<std::string>::Scope scope(
                local, "a name that is too long to lie in the string itself");
            during = *local.Get();
            throw 1;
        } catch (int) {
        }
        after = *local.Get();
    }) == Status::Ok);
    CHECK(during == "a name that is too long to lie in the string itself");
    CHECK(after == "outer");
}
