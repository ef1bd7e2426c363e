// AddTasksAfter, and AddTaskAfter with several counters. The tests of chains and of missing wait
// records are in deferred_test.cpp.
#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "weft/deferred.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("AddTasksAfter: a batch runs after several counters, and sees what they counted",
          "[deferred][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        constexpr uint32_t kWriters = 9, kTasks = 70;  // three blocks of tasks
        std::atomic<uint32_t> wrong{0}, ran{0};
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 10; ++round) {
                uint32_t written[3 * kWriters] = {};
                Counter first[3], second;
                test::Batch writers(3 * kWriters, [&](TaskScheduler &running, uint32_t i) {
                    if (i % 4 == 0) running.Yield();
                    written[i] = round + i;
                });
                test::Batch readers(kTasks, [&](TaskScheduler &, uint32_t) {
                    for (uint32_t i = 0; i < 3 * kWriters; ++i)
                        if (written[i] != round + i) wrong.fetch_add(1);
                    ran.fetch_add(1);
                });
                for (uint32_t i = 0; i < 3; ++i)
                    scheduler.AddTasks(kWriters, writers.Tasks() + i * kWriters, &first[i]);
                // the copies count, not the arrays
                CounterTarget after[] = {{&first[0]}, {&first[1]}, {&first[2]}};
                std::vector<Task> tasks(readers.Tasks(), readers.Tasks() + kTasks);
                if (!AddTasksAfter(scheduler, 3, after, kTasks, tasks.data(), &second))
                    wrong.fetch_add(1);
                for (CounterTarget &target : after) target = {};
                tasks.assign(kTasks, Task{nullptr, nullptr});
                scheduler.WaitForCounter(&second);
                if (ran.load() != (round + 1) * kTasks) wrong.fetch_add(1);
            }
        });
        CHECK(ran.load() == 10 * kTasks);
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("AddTasksAfter: no task begins before the last counter has dropped to its value",
          "[deferred]") {
    for (uint32_t workers : {1u, 2u}) {
        // in each of the orders in which three counters can be reached
        for (const std::vector<uint32_t> &order : std::vector<std::vector<uint32_t>>{
                 {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
            std::atomic<uint32_t> ran{0};
            uint32_t early = 0, pending = 0;
            test::Batch batch(40, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
            test::Batch empty(1, [](TaskScheduler &, uint32_t) {});
            test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
                Counter counters[3] = {Counter(1), Counter(3), Counter(1)}, done;
                const CounterTarget after[] = {{&counters[0]}, {&counters[1], 2}, {&counters[2]}};
                AddTasksAfter(scheduler, 3, after, 40, batch.Tasks(), &done);
                pending = done.Value();
                for (uint32_t i = 0; i < 3; ++i) {
                    // whatever has been submitted runs before this wait for a task is over
                    for (uint32_t each = 0; each < 3; ++each)
                        scheduler.AddTasksAndWait(1, empty.Tasks());
                    early += ran.load();
                    scheduler.DecrementCounter(&counters[order[i]]);
                    // reached once is enough
                    if (i < 2) scheduler.IncrementCounter(&counters[order[i]]);
                }
                scheduler.WaitForCounter(&done);
                for (uint32_t i = 0; i < 2; ++i) scheduler.DecrementCounter(&counters[order[i]]);
            });
            CHECK(pending == 40);
            CHECK(early == 0);
            CHECK(ran.load() == 40);
        }
    }
}

TEST_CASE("AddTasksAfter: counters that are reached already, that repeat, or none at all",
          "[deferred]") {
    for (uint32_t workers : {1u, 2u}) {
        std::atomic<uint32_t> ran{0};
        uint32_t wrong = 0;
        test::Batch batch(33, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            Counter zero, one(1), two(1), done;
            const CounterTarget reached[] = {{&zero}, {&one, 1}};
            AddTasksAfter(scheduler, 2, reached, 33, batch.Tasks(), &done);
            scheduler.WaitForCounter(&done);
            wrong += ran.load() != 33;
            const CounterTarget twice[] = {{&one}, {&zero}, {&one}, {&two}, {&one}};
            AddTasksAfter(scheduler, 5, twice, 1, batch.Tasks(), &done);
            AddTaskAfter(scheduler, 2, twice, batch[1], &done);
            scheduler.DecrementCounter(&one);
            scheduler.WaitForCounter(&done, 1);
            scheduler.DecrementCounter(&two);
            scheduler.WaitForCounter(&done);
            wrong += ran.load() != 35;
            AddTasksAfter(scheduler, 0, nullptr, 2, batch.Tasks(), &done);
            AddTasksAfter(scheduler, &zero, 0, 3, batch.Tasks(), &done);
            wrong += !AddTasksAfter(scheduler, &zero, 0, 0, nullptr, &done);
            scheduler.WaitForCounter(&done);
        });
        CHECK(wrong == 0);
        CHECK(ran.load() == 40);
    }
}

TEST_CASE("AddTasksAfter: by an external thread, pinned, in the order of the batch", "[deferred]") {
    Counter counters[2] = {Counter(1), Counter(1)}, done;
    std::atomic<uint32_t> elsewhere{0};
    std::vector<uint32_t> order, expected;
    test::Batch batch(100, [&](TaskScheduler &running, uint32_t i) {
        if (running.CurrentWorker() != 1) elsewhere.fetch_add(1);
        order.push_back(i);
    });
    test::HostMayStall(test::Options(2), [&](TaskScheduler &scheduler) {
        const CounterTarget after[] = {{&counters[0]}, {&counters[1]}};
        CHECK(AddTasksAfter(scheduler, 2, after, 100, batch.Tasks(), &done, test::PinnedTo(1)));
        for (Counter &counter : counters) scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
    });
    for (uint32_t i = 0; i < 100; ++i) expected.push_back(i);
    CHECK(order == expected);
    CHECK(elsewhere.load() == 0);
}

TEST_CASE("report OutOfMemory: there is no memory for another deferred batch", "[deferred]") {
    test::Runner runner(test::Options(1));
    Counter counter(1), done;
    std::atomic<uint32_t> ran{0};
    uint32_t accepted = 0, counted = 0;
    test::Batch leaf(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // single deferred tasks take wait records and blocks, so that there is memory for those
        for (uint32_t i = 0; i < 100; ++i) AddTaskAfter(scheduler, &counter, 0, leaf[0], &done);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
        scheduler.IncrementCounter(&counter);
        {
            const test::FailingAllocation failing(0);
            for (uint32_t i = 0; i < 1000 && accepted == i; ++i)
                accepted += AddTasksAfter(scheduler, &counter, 0, 1, leaf.Tasks(), &done);
        }
        counted = done.Value();
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
    }) == Status::Ok);
    CHECK(accepted >= 64);
    CHECK(accepted < 1000);
    CHECK(counted == accepted);
    CHECK(ran.load() == 100 + accepted);
    CHECK(runner.log.Count() == 1);
    CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).what,
                      "there is no memory for another deferred batch"));
}

TEST_CASE("report Stalled: a deferred batch after counters of which one is never lowered",
          "[deferred]") {
    test::Started runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    Counter counters[2] = {Counter(1), Counter(1)}, done;
    std::atomic<uint32_t> ran{0};
    test::Batch batch(7, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    const CounterTarget after[] = {{&counters[0]}, {&counters[1]}};
    AddTasksAfter(scheduler, 2, after, 7, batch.Tasks(), &done);
    scheduler.DecrementCounter(&counters[0]);
    scheduler.AddTask(batch[0]);  // only a worker that goes to sleep reports a stall
    while (runner.log.Text() == "") std::this_thread::yield();
    CHECK(test::Names(runner.log.Text(), "7 submitted to come after a counter"));
    scheduler.DecrementCounter(&counters[1]);
    scheduler.Stop();
    CHECK(ran.load() == 8);
}

TEST_CASE("report: wrong calls of AddTasksAfter submit nothing", "[deferred][report]") {
    test::Runner runner(test::Options(1)), second(test::Options(1));
    std::atomic<uint32_t> ran{0};
    test::Batch batch(2, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    Counter counter(1), other(1);
    CHECK(!AddTasksAfter(runner.scheduler, &counter, 0, 2, batch.Tasks()));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    REQUIRE(second.scheduler.Start() == Status::Ok);
    second.scheduler.IncrementCounter(&other);
    uint32_t accepted = 0, counted = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter done;
        const CounterTarget withNull[] = {{&counter}, {nullptr}};
        const CounterTarget withOther[] = {{&counter}, {&other}};
        const Task tasks[] = {batch[0], {nullptr, nullptr}};
        TaskOptions wrong;
        wrong.priority = static_cast<Priority>(7);
        accepted += AddTasksAfter(scheduler, 2, withNull, 2, batch.Tasks(), &done);
        accepted += AddTasksAfter(scheduler, 2, nullptr, 2, batch.Tasks(), &done);
        accepted += AddTasksAfter(scheduler, 2, withOther, 2, batch.Tasks(), &done);
        accepted += AddTasksAfter(scheduler, &counter, 0, 2, tasks, &done);
        accepted += AddTasksAfter(scheduler, &counter, 0, 2, nullptr, &done);
        accepted += AddTasksAfter(scheduler, &counter, 0, 2, batch.Tasks(), &done, wrong);
        counted = done.Value();
        // `counter` would count the two tasks as well
        accepted += AddTasksAfter(scheduler, &counter, 1, 2, batch.Tasks(), &counter);
        counted += counter.Value() - 1;
        accepted += AddTasksAfter(scheduler, &counter, 2, 2, batch.Tasks(), &counter);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(accepted == 1);
    CHECK(counted == 0);
    CHECK(ran.load() == 2);
    CHECK(runner.log.CountOf(ReportCode::NullCounter) == 2);
    CHECK(runner.log.CountOf(ReportCode::WrongScheduler) == 1);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 2);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
    CHECK(runner.log.Count() == 8);
    CHECK(test::Names(runner.log.Text(), "the tasks (2) would wait for themselves"));
    second.scheduler.DecrementCounter(&other, 2);
    second.scheduler.Stop();
}
