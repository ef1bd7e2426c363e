#include "weft/data/worker_local.h"

#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/algorithms/parallel_for.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("WorkerLocal: after the wait, the values contain what all tasks have added",
          "[worker_local][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint64_t sum = 0, again = 0;
        WorkerLocal<uint64_t> sums(runner.scheduler, test::Options(point), 0);
        CHECK(sums.Count() == point.workers + test::Options(point).maxAttached);
        for (uint64_t *all : {&sum, &again}) {  // the values stay from run to run
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                test::Batch batch(1000, [&](TaskScheduler &, uint32_t i) { *sums.Get() += i; });
                scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
                ParallelFor(scheduler, 0, 1000u, [&](uint32_t i) { *sums.Get() += i; });
                sums.ForEach([&](uint64_t &each) { *all += each; });
            }) == Status::Ok);
        }
        CHECK(sum == 999000);
        CHECK(again == 2 * 999000);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WorkerLocal: takes the numbers and the memory from the scheduler, before and in the run",
          "[worker_local]") {
    SchedulerOptions options = test::Options(3);
    options.maxAttached = 2;
    size_t calls = 0;
    options.memory.user = &calls;
    options.memory.allocate = [](size_t bytes, size_t alignment, void *user) {
        ++*static_cast<size_t *>(user);  // one thread: the scheduler does not run
        return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    };
    options.memory.release = [](void *memory, size_t, size_t alignment, void *) {
        ::operator delete (memory, std::align_val_t{alignment});
    };
    TaskScheduler idle(options);
    WorkerLocal<int> ofIdle(idle, 4);
    CHECK(calls == 1);
    CHECK(ofIdle.Count() == 5);
    options.memory = {};
    test::Runner runner(options);
    WorkerLocal<std::unique_ptr<int>> before(runner.scheduler);
    CHECK(before.Count() == 5);
    uint32_t inRun = 0, wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        WorkerLocal<std::pair<int, char>> during(scheduler, 4, 'x');
        inRun = during.Count();
        wrong += before.Get() == nullptr || during.Get() == nullptr ||
                 *during.Get() != std::pair<int, char>(4, 'x');
    }) == Status::Ok);
    CHECK(inRun == 5);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("WorkerLocal: each worker has its own value, on its own cache line", "[worker_local]") {
    constexpr uint32_t kWorkers = 3;
    test::Runner runner(test::Options(kWorkers));
    WorkerLocal<char> local(runner.scheduler, test::Options(kWorkers), 'a');
    char *places[kWorkers] = {};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        test::Batch batch(kWorkers, [&](TaskScheduler &, uint32_t i) { places[i] = local.Get(); });
        for (uint32_t i = 0; i < kWorkers; ++i) {
            TaskOptions there;
            there.worker = i;
            scheduler.AddTask(batch[i], &counter, there);
        }
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    std::set<uintptr_t> lines;
    for (char *place : places) {
        REQUIRE(place != nullptr);
        CHECK(*place == 'a');
        lines.insert(reinterpret_cast<uintptr_t>(place) / 64);
    }
    CHECK(lines.size() == kWorkers);
}

TEST_CASE("WorkerLocal: attached threads have values, external threads none", "[worker_local]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        WorkerLocal<int> local(runner.scheduler, test::Options(2), 7);
        CHECK(local.Get() == nullptr);
        int wrong = 0;
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  wrong += local.Get() != nullptr;
                  for (int round = 0; round < 2; ++round) {
                      wrong += scheduler.AttachThread() != Status::Ok;
                      int *const value = local.Get();
                      // The value stays from thread to thread.
                      wrong += value == nullptr || *value != 7 + round;
                      if (value != nullptr) ++*value;
                      scheduler.DetachThread();
                  }
                  wrong += local.Get() != nullptr;
              }) == Status::Ok);
        CHECK(wrong == 0);
        int all = 0;
        local.ForEach([&](int each) { all += each; });
        CHECK(all == 7 * static_cast<int>(local.Count()) + 2);
    }
}

TEST_CASE("WorkerLocal: values that cannot be copied or moved, in the host's memory",
          "[worker_local]") {
    struct Value {
        explicit Value(int from) : number(from) {}
        std::atomic<int> number;
        std::unique_ptr<int> owned = std::make_unique<int>(5);
    };
    struct Host {
        size_t bytes = 0, alignment = 0, calls = 0;
    } host;
    SchedulerOptions options = test::Options(2);
    options.memory.user = &host;
    options.memory.allocate = [](size_t bytes, size_t alignment, void *user) {
        Host &self = *static_cast<Host *>(user);
        ++self.calls;
        self.bytes += bytes;
        self.alignment = alignment;
        return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
    };
    options.memory.release = [](void *memory, size_t bytes, size_t alignment, void *user) {
        static_cast<Host *>(user)->bytes -= bytes;
        ::operator delete (memory, std::align_val_t{alignment});
    };
    TaskScheduler scheduler(options);
    {
        WorkerLocal<Value> local(scheduler, options, 3);
        CHECK(host.calls == 1);
        CHECK(host.bytes >= 64 * local.Count());
        CHECK(host.alignment == 64);
        int sum = 0;
        local.ForEach([&](Value &value) { sum += value.number + *value.owned; });
        CHECK(sum == 8 * static_cast<int>(local.Count()));
    }
    CHECK(host.bytes == 0);
    options.memory.allocate = [](size_t, size_t, void *) -> void * { return nullptr; };
    WorkerLocal<Value> none(scheduler, options, 3);
    CHECK(none.Count() == 0);
    none.ForEach([](Value &) { FAIL("there is none"); });
}
