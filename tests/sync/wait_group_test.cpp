#include "weft/sync/wait_group.h"

#include "sync/mix.h"

#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WaitGroup: a waiter sees all writes, and handles may be destroyed in any order",
          "[sync][wait_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        constexpr uint32_t kTasks = 20;
        test::Runner runner(point);
        uint32_t missing = 0;
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  for (int round = 0; round < 10; ++round) {
                      std::vector<uint32_t> plain(kTasks + 2);
                      Counter ended;
                      {
                          std::vector<WaitGroup> handles(kTasks, WaitGroup(scheduler));
                          const WaitGroup group = handles[0];
                          group.Add(kTasks + 2);
                          test::Batch batch(kTasks, [&](TaskScheduler &, uint32_t index) {
                              plain[index] = 1;
                              handles[index].Done();
                          });
                          test::Threads others(2, [=, own = group, &plain](uint32_t index) {
                              plain[kTasks + index] = 1;
                              own.Done();
                          });
                          scheduler.AddTasks(kTasks, batch.Tasks(), &ended);
                          group.Wait();
                          for (const uint32_t value : plain) missing += 1 - value;
                          if (!group.IsDone()) ++missing;
                          scheduler.WaitForCounter(&ended);
                      }
                  }
              }) == Status::Ok);
        CHECK(missing == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("WaitGroup: one handle keeps the group alive", "[sync][wait_group][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    bool passed = false;
    std::unique_ptr<WaitGroup> last;
    auto waiter = [&](TaskScheduler *scheduler) {
        const WaitGroup group(*scheduler, 1);
        last = std::make_unique<WaitGroup>(group);
        group.Wait();
        passed = true;
    };
    one.RunUntilItWaits(waiter);
    CHECK(!passed);
    last->Done();
    one.Settle();
    CHECK(passed);
    CHECK(last->IsDone());
    last.reset();
}

TEST_CASE("WaitGroup: the last handle may be destroyed on any thread", "[sync][wait_group]") {
    test::Runner runner(test::Options(1));
    constexpr uint32_t kThreads = 3, kGroups = 300;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              std::vector<std::unique_ptr<WaitGroup>> handles[kThreads];
              for (uint32_t i = 0; i < kGroups; ++i) {
                  const WaitGroup group(scheduler, kThreads);
                  for (auto &own : handles) own.push_back(std::make_unique<WaitGroup>(group));
              }
              test::SpinBarrier together(kThreads);
              test::Threads others(kThreads, [&](uint32_t index) {
                  for (std::unique_ptr<WaitGroup> &handle : handles[index]) {
                      together.Wait();
                      handle->Done();
                      handle.reset();
                  }
              });
          }) == Status::Ok);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("WaitGroup: copies are the same group, which can be reused",
          "[sync][wait_group][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    WaitGroup first(one.Scheduler(), 1), second(one.Scheduler());
    CHECK(!first.IsDone());
    CHECK(second.IsDone());
    second = first;
    CHECK(!second.IsDone());
    const WaitGroup &self = second;
    second = self;
    second.Done();
    CHECK(first.IsDone());
    first.Add();
    CHECK(!second.IsDone());
    second.Done();
    second.Wait();
    CHECK(one.Log().Count() == 0);
    first.Done();
    CHECK(one.Log().CountOf(ReportCode::CounterUnderflow) == 1);
}

TEST_CASE("WaitGroup: its memory comes from the host", "[sync][wait_group]") {
    SchedulerOptions options = test::Options(1);
    static std::atomic<int> live;
    live.store(0);
    options.memory.allocate = [](size_t bytes, size_t alignment, void *) -> void * {
        live.fetch_add(1);
        return ::operator new(bytes, std::align_val_t(alignment));
    };
    options.memory.release = [](void *memory, size_t, size_t alignment, void *) {
        live.fetch_sub(1);
        ::operator delete(memory, std::align_val_t(alignment));
    };
    TaskScheduler scheduler(options);
    {
        const WaitGroup group(scheduler);
        const WaitGroup copy = group;
        CHECK(live.load() == 1);
    }
    CHECK(live.load() == 0);
}
