#include "support/quiet_run.h"
#include "support/threads.h"
#include "weft/data/task_group.h"
#include "weft/deferred.h"

#include <chrono>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

Clock::time_point InAnHour() { return Now() + std::chrono::hours(1); }

}  // namespace

TEST_CASE("Withdraw: a task that waits for a time does not run, and holds nothing up",
          "[deferred][withdraw][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Marks marks(2);
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            DeferredHandle first, second;
            wrong += !AddTaskAt(scheduler, InAnHour(), marks[0], &counter, {}, &first);
            wrong += !AddTaskAt(scheduler, InAnHour(), marks[1], nullptr, {}, &second);
            wrong += first.IsEmpty() || second.IsEmpty() || counter.Value() != 1;
            wrong += !Withdraw(scheduler, first) || !Withdraw(scheduler, second);
            wrong += Withdraw(scheduler, first);  // it is gone
            scheduler.WaitForCounter(&counter);
        });  // the run does not wait for the second one
        CHECK(wrong == 0);
        CHECK(marks.Wrong(0) == 0);
    }
}

TEST_CASE("Withdraw: tasks that wait for counters do not run, whether these are reached later",
          "[deferred][withdraw][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Marks marks(100), later(1);
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter reached(1), never(1), counter;
            const CounterTarget after[2] = {{&reached, 0}, {&never, 0}};
            DeferredHandle handle;
            wrong += !AddTasksAfter(scheduler, 2, after, 100, marks.Tasks(), &counter, {}, &handle);
            wrong += counter.Value() != 100;
            wrong += !Withdraw(scheduler, handle) || Withdraw(scheduler, handle);
            scheduler.WaitForCounter(&counter);
            // The batch is still known to `reached`.
            DeferredHandle other;
            wrong += !AddTasksAfter(scheduler, &reached, 0, 1, later.Tasks(), &counter, {}, &other);
            scheduler.DecrementCounter(&reached);
            wrong += Withdraw(scheduler, handle);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(wrong == 0);
        CHECK(marks.Wrong(0) == 0);
        CHECK(later.Wrong() == 0);
    }
}

TEST_CASE("Withdraw: too late, and with a handle of other tasks, it has no effect",
          "[deferred][withdraw]") {
    test::Runner runner(test::Options(2));
    test::Marks marks(2);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK(!Withdraw(scheduler, {}));
        CHECK(!Withdraw(scheduler, {5000, 0, 0}));
        Counter gate(1), counter;
        DeferredHandle before, after;
        CHECK(AddTasksAfter(scheduler, &gate, 0, 1, marks.Tasks(), &counter, {}, &before));
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
        CHECK(!Withdraw(scheduler, before));
        CHECK(AddTaskAt(scheduler, InAnHour(), marks[1], &counter, {}, &after));
        CHECK(after.index == before.index);  // the object is in use again
        CHECK(!Withdraw(scheduler, before));
        CHECK(counter.Value() == 1);
        CHECK(Withdraw(scheduler, after));
        scheduler.WaitForCounter(&counter);
        CHECK(!AddTaskAt(scheduler, InAnHour(), {nullptr, nullptr}, nullptr, {}, &after));
        CHECK(after.IsEmpty());
    }) == Status::Ok);
    CHECK(marks.Wrong(1, 1) == 0);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("Withdraw: a task that waits for a time gives its object back", "[deferred][withdraw]") {
    test::Marks marks(1);
    uint32_t wrong = 0;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter counter;
        DeferredHandle before;
        for (uint32_t round = 0; round < 100; ++round) {
            DeferredHandle handle;
            wrong += !AddTaskAt(scheduler, InAnHour(), marks[0], &counter, {}, &handle);
            wrong += !Withdraw(scheduler, handle);
            wrong += round != 0 && handle.index != before.index;  // the same object again
            before = handle;
        }
        scheduler.WaitForCounter(&counter);
    });
    CHECK(wrong == 0);
    CHECK(marks.Wrong(0) == 0);
}

TEST_CASE("Withdraw: a handle of an earlier run, or of another scheduler, has no effect",
          "[deferred][withdraw]") {
    test::Runner runner(test::Options(1)), other(test::Options(1));
    test::Marks marks(3);
    DeferredHandle first;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK(AddTaskAt(scheduler, Now(), marks[0], nullptr, {}, &first));
    }) == Status::Ok);
    uint32_t task = 1;
    for (test::Runner *its : {&runner, &other}) {
        CHECK(its->Run([&](TaskScheduler &scheduler) {
            Counter gate(1);
            DeferredHandle handle;
            CHECK(AddTasksAfter(scheduler, &gate, 0, 1, marks.Tasks() + task++, nullptr, {},
                                &handle));
            CHECK(handle.index == first.index);
            CHECK(!Withdraw(scheduler, first));
            scheduler.DecrementCounter(&gate);
            scheduler.WaitIdle();
        }) == Status::Ok);
        CHECK(its->log.Text() == "");
    }
    CHECK(marks.Wrong() == 0);
}

TEST_CASE("Withdraw: a group withdraws its tasks when it is cancelled",
          "[deferred][withdraw][task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Marks marks(30), others(1);
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler), child(scheduler, &group);
            TaskOptions options;
            options.taskGroup = &group;
            Counter never(1), counter;
            wrong += !AddTaskAt(scheduler, InAnHour(), marks[0], nullptr, options);
            wrong += !AddTaskAfter(scheduler, &never, 0, marks[1], nullptr, options);
            wrong += !AddTasksAfter(scheduler, &never, 0, 8, marks.Tasks() + 2, nullptr, options);
            options.taskGroup = &child;
            wrong += !AddTasksAfter(scheduler, &never, 0, 20, marks.Tasks() + 10, nullptr, options);
            wrong += !AddTaskAfter(scheduler, &never, 0, others[0], &counter);
            group.Cancel();
            wrong += group.Wait() != GroupResult::Cancelled || group.SkippedCount() != 10;
            wrong += child.Wait() != GroupResult::Cancelled || child.SkippedCount() != 20;
            wrong += !AddTaskAt(scheduler, InAnHour(), marks[0], nullptr, options);
            wrong += child.Wait() != GroupResult::Cancelled || child.SkippedCount() != 21;
            scheduler.DecrementCounter(&never);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(wrong == 0);
        CHECK(marks.Wrong(0) == 0);
        CHECK(others.Wrong() == 0);
    }
}
