// AddTasksAfter, and AddTaskAfter with several counters.
#include "support/failing_allocation.h"
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "weft/deferred.h"

#include <atomic>
#include <cstring>
#include <memory>
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
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
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
        }) == Status::Ok);
        CHECK(ran.load() == 10 * kTasks);
        CHECK(wrong.load() == 0);
        CHECK(runner.log.Text() == "");
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
            test::Runner runner(test::Options(workers));
            test::Batch batch(40, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
            test::Batch empty(1, [](TaskScheduler &, uint32_t) {});
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
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
            }) == Status::Ok);
            CHECK(pending == 40);
            CHECK(early == 0);
            CHECK(ran.load() == 40);
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("AddTasksAfter: counters that are reached already, that repeat, or none at all",
          "[deferred]") {
    for (uint32_t workers : {1u, 2u}) {
        std::atomic<uint32_t> ran{0};
        uint32_t wrong = 0;
        test::Runner runner(test::Options(workers));
        test::Batch batch(33, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
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
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(ran.load() == 40);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddTasksAfter: a chain of batches holds no fibers", "[deferred]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        constexpr uint32_t kLength = 200, kWidth = 32;
        test::Runner runner(test::Options(workers, 3));
        std::vector<Counter> links(kLength + 1);
        std::atomic<uint32_t> ran{0}, wrong{0};
        test::Batch steps(kLength * kWidth, [&](TaskScheduler &, uint32_t i) {
            // all tasks of the batches before have run
            const uint32_t before = ran.fetch_add(1);
            if (before / kWidth != i / kWidth) wrong.fetch_add(1);
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.IncrementCounter(&links[0]);
            for (uint32_t i = 0; i < kLength; ++i) {
                AddTasksAfter(scheduler, &links[i], 0, kWidth, steps.Tasks() + i * kWidth,
                              &links[i + 1]);
            }
            scheduler.DecrementCounter(&links[0]);
            scheduler.WaitForCounter(&links[kLength]);
        }) == Status::Ok);
        CHECK(ran.load() == kLength * kWidth);
        CHECK(wrong.load() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddTasksAfter: by an external thread, pinned, in the order of the batch", "[deferred]") {
    test::Runner runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    Counter counters[2] = {Counter(1), Counter(1)}, done;
    std::atomic<uint32_t> elsewhere{0};
    std::vector<uint32_t> order, expected;
    test::Batch batch(100, [&](TaskScheduler &running, uint32_t i) {
        if (running.CurrentWorker() != 1) elsewhere.fetch_add(1);
        order.push_back(i);
    });
    TaskOptions pinned;
    pinned.worker = 1;
    const CounterTarget after[] = {{&counters[0]}, {&counters[1]}};
    CHECK(AddTasksAfter(scheduler, 2, after, 100, batch.Tasks(), &done, pinned));
    for (Counter &counter : counters) scheduler.DecrementCounter(&counter);
    scheduler.WaitForCounter(&done);
    scheduler.Stop();
    for (uint32_t i = 0; i < 100; ++i) expected.push_back(i);
    CHECK(order == expected);
    CHECK(elsewhere.load() == 0);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("AddTasksAfter: without memory for a wait record the submitter waits", "[deferred]") {
    test::Runner runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    Counter counter(1), other(1), done;
    std::atomic<uint32_t> ran{0};
    test::Batch leaf(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    std::thread late([&] {
        while (runner.log.CountOf(ReportCode::OutOfMemory) == 0) std::this_thread::yield();
        scheduler.DecrementCounter(&counter);
        scheduler.DecrementCounter(&other);
    });
    {
        const test::FailingAllocation failing(0);
        // there are 64 wait records at first, two for each of these
        const CounterTarget after[] = {{&counter}, {&other}};
        for (uint32_t i = 0; i < 40; ++i) AddTaskAfter(scheduler, 2, after, leaf[0], &done);
    }
    late.join();
    scheduler.WaitForCounter(&done);
    scheduler.Stop();
    CHECK(ran.load() == 40);
    CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).what,
                      "AddTasksAfter: there is no memory for another wait record"));
    CHECK(runner.log.Count() == 1 + runner.log.CountOf(ReportCode::Stalled));
}

TEST_CASE("report OutOfMemory: without memory for a wait record a hook submits no deferred batch",
          "[deferred][hooks][one_worker]") {
    test::TraceLog trace;
    SchedulerOptions options = test::Options(1);
    trace.AttachTo(options);
    test::Runner runner(options);
    Counter done;
    auto counters = std::make_unique<Counter[]>(3);
    uint32_t ran = 0, accepted = 0, refused = 0;
    test::Batch leaf(2, [&](TaskScheduler &, uint32_t) { ++ran; });
    test::Batch last(1, [](TaskScheduler &, uint32_t) {});
    trace.also = [&](test::Traced kind, const TraceEvent &event) {
        if (kind != test::Traced::TaskEnd || event.task == nullptr ||
            std::strcmp(event.task, "last") != 0)
            return;
        const test::FailingAllocation failing(0);
        for (uint32_t i = 0; i < 30; ++i) {
            // there are 64 wait records at first, so the second counter of the 22nd gets none
            const CounterTarget after[] = {{&counters[0]}, {&counters[1]}, {&counters[2]}};
            const bool isAccepted =
                AddTasksAfter(runner.scheduler, 3, after, 2, leaf.Tasks(), &done);
            accepted += isAccepted;
            refused += !isAccepted;
        }
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < 3; ++i) scheduler.IncrementCounter(&counters[i]);
        scheduler.AddTasksAndWait(1, last.Tasks(), test::Named("last"));
        scheduler.WaitForCounter(&done, 2 * accepted);  // those that were refused run at once
        for (uint32_t i = 0; i < 3; ++i) scheduler.DecrementCounter(&counters[i]);
        scheduler.WaitForCounter(&done);
    }) == Status::Ok);
    CHECK(accepted < 30);
    CHECK(accepted + refused == 30);
    CHECK(ran == 2 * accepted);
    CHECK(runner.log.CountOf(ReportCode::OutOfMemory) == refused);
    CHECK(runner.log.Count() == refused);
    CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).what, "a hook cannot wait"));
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
    test::Runner runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
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
