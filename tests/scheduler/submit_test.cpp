#include "weft/task_scheduler.h"

#include "support/quiet_run.h"

#include <atomic>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using Flags = std::vector<std::atomic<uint32_t>>;

bool AllAre(const Flags &flags, uint32_t value) {
    for (const auto &flag : flags) {
        if (flag.load() != value) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("invariant 1: each submitted task runs exactly once", "[submit][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        for (uint32_t count : {1u, 4u, 5u, 63u, 64u, 257u, 1500u}) {
            INFO(count << " tasks");
            Flags runs(count);
            test::Batch batch(count, [&](TaskScheduler &, uint32_t i) { runs[i].fetch_add(1); });
            bool waited = false;
            test::RunQuietly(point, [&](TaskScheduler &scheduler) {
                Counter counter;
                scheduler.AddTasks(batch.Count(), batch.Tasks(), &counter);
                scheduler.WaitForCounter(&counter);
                waited = AllAre(runs, 1);
                scheduler.AddTasks(batch.Count(), batch.Tasks());  // Run waits for them
            });
            CHECK(waited);
            CHECK(AllAre(runs, 2));
        }
    }
}

TEST_CASE("tasks that submit tasks: all run, and Run drains them", "[submit][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> leaves{0};
        test::Batch leaf(8, [&](TaskScheduler &, uint32_t) { leaves.fetch_add(1); });
        test::Batch inner(
            20, [&](TaskScheduler &scheduler, uint32_t) { scheduler.AddTasks(8, leaf.Tasks()); });
        test::Batch outer(
            20, [&](TaskScheduler &scheduler, uint32_t) { scheduler.AddTasks(20, inner.Tasks()); });
        test::RunQuietly(point,
                         [&](TaskScheduler &scheduler) { scheduler.AddTasks(20, outer.Tasks()); });
        CHECK(leaves.load() == 20 * 20 * 8);
    }
}

TEST_CASE("a submission copies the tasks", "[submit]") {
    for (uint32_t count : {1u, 3u, 4u, 5u, 200u}) {
        INFO(count << " tasks");
        Flags runs(count);
        std::atomic<uint32_t> wrong{0};
        test::Batch batch(count, [&](TaskScheduler &, uint32_t i) { runs[i].fetch_add(1); });
        test::Batch bad(1, [&](TaskScheduler &, uint32_t) { wrong.fetch_add(1); });
        test::Runner runner(test::Options(2));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter;
            std::vector<Task> copy(batch.Tasks(), batch.Tasks() + count);
            scheduler.AddTasks(count, copy.data(), &counter);
            copy.assign(count, bad[0]);
            std::vector<Task>().swap(copy);  // frees it
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(wrong.load() == 0);
        CHECK(AllAre(runs, 1));
    }
}

TEST_CASE("a submission raises the counter at once, each finished task lowers it by one",
          "[submit]") {
    std::vector<uint32_t> values;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter counter(2);
        test::Batch batch(10, [](TaskScheduler &, uint32_t) {});
        scheduler.AddTasks(10, batch.Tasks(), &counter);
        values.push_back(counter.Value());  // one worker: no task has run yet
        scheduler.AddTask(batch[0], &counter);
        values.push_back(counter.Value());
        scheduler.WaitForCounter(&counter, 2);
        values.push_back(counter.Value());
        scheduler.DecrementCounter(&counter, 2);
        values.push_back(counter.Value());
    });
    CHECK(values == std::vector<uint32_t>{12, 13, 2, 0});
}

TEST_CASE("fault: queue full. Deques and slabs grow under 100,000 outstanding tasks", "[submit]") {
    for (uint32_t workers : {1u, 3u}) {
        INFO(workers << " workers");
        Flags runs(50000);
        test::Batch batch(50000, [&](TaskScheduler &, uint32_t i) { runs[i].fetch_add(1); });
        test::RunQuietly(test::Options(workers, 10), [&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(batch.Count(), batch.Tasks(), &counter);
            for (uint32_t i = 0; i < batch.Count(); ++i) scheduler.AddTask(batch[i], &counter);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(AllAre(runs, 2));
    }
}

TEST_CASE("submit: a submission never runs tasks, even if the queue is full", "[submit]") {
    test::Runner runner(test::Options(1));
    uint32_t early = 0;
    std::atomic<uint32_t> ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch batch(300, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        Counter counter;
        for (int i = 0; i < 30; ++i) {
            scheduler.AddTasks(300, batch.Tasks(), &counter);
            scheduler.AddTask(batch[0], &counter);
        }
        early = ran.load();
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(early == 0);
    CHECK(ran.load() == 30 * 301);
}
