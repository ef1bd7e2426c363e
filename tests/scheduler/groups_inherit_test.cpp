// Tasks that run on top of a task that waits for them. They keep the group that they name, and the
// tasks that they submit have the same group.
#include "weft/task_scheduler.h"

#include "support/group_layouts.h"
#include "support/quiet_run.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;
using test::Group;
using test::InGroup;

// Group 1 runs Low tasks of no group, and tasks that name group 1. The inner task names group 1. So
// its own tasks must run there, too.
TEST_CASE("groups: a task run inline by a Low one submits into the group that it names itself",
          "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1, true, true)});
    std::atomic<uint32_t> wrong{0}, ran{0};
    test::Batch leaf(1, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(scheduler.CurrentWorker() != 1);
        ran.fetch_add(1);
    });
    test::Batch inner(
        1, [&](TaskScheduler &scheduler, uint32_t) { scheduler.AddTasksAndWait(1, leaf.Tasks()); });
    test::Batch outer(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.AddTasksAndWait(1, inner.Tasks(), InGroup(1, Priority::Low));
    });
    test::RunQuietly(layout.Options(), test::RunsAll(outer, test::kLow));
    CHECK(ran.load() == 1);
    CHECK(wrong.load() == 0);
}

TEST_CASE("groups: SetRunsLow does not move a task that names a group and runs inline",
          "[groups]") {
    const test::GroupLayout layout({Group(1, false, true), Group(1)});
    Counter gate(1);
    std::atomic<uint32_t> wrong{0};
    std::atomic<bool> waits{false};
    test::Batch inner(1, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(scheduler.CurrentWorker() != 0);
        waits.store(true);
        scheduler.WaitForCounter(&gate);
        wrong.fetch_add(scheduler.CurrentWorker() != 0);
    });
    test::Batch outer(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.AddTasksAndWait(1, inner.Tasks(), InGroup(0, Priority::Low));
    });
    bool met = false;
    test::RunMayStall(layout.Options(), [&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTask(outer[0], &counter, test::kLow);
        met = test::YieldUntil(scheduler, [&] { return waits.load(); });
        test::SetRunsLow(scheduler, layout, 2);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
    });
    CHECK(met);
    CHECK(wrong.load() == 0);
}

// The pinned task names no group. So its tasks name none either, and only group 0 may run them.
TEST_CASE("groups: a task pinned to a worker of a namedOnly group runs none of its own tasks there",
          "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1, true)});
    std::atomic<uint32_t> wrong{0};
    test::Batch leaf(1, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(scheduler.CurrentWorker() != 0);
    });
    test::Batch pinned(1, [&](TaskScheduler &scheduler, uint32_t) {
        Counter counter;
        scheduler.AddTask(leaf[0], &counter);
        scheduler.WaitForCounter(&counter, Meanwhile::AnyTask);
    });
    test::RunQuietly(layout.Options(), [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 100; ++round)
            scheduler.AddTasksAndWait(1, pinned.Tasks(), test::PinnedTo(1));
    });
    CHECK(wrong.load() == 0);
}

TEST_CASE("report BadOption: the main task names a worker and a group", "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1)});
    test::Runner runner(layout.Options());
    bool ran = false;
    TaskOptions both = InGroup(0);
    both.worker = 0;
    CHECK(runner.Run([&](TaskScheduler &) { ran = true; }, both) == Status::BadOption);
    CHECK(!ran);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
}

// Runs `body` in a task that is pinned to worker 1, whose group is namedOnly. The task names no
// group.
static void InNamedOnly(TaskScheduler &scheduler, const test::RunBody &body) {
    test::Batch batch(1, [&](TaskScheduler &running, uint32_t) { body(running); });
    scheduler.AddTasksAndWait(1, batch.Tasks(), test::PinnedTo(1));
}

TEST_CASE("groups: tasks that a pinned task submits in a namedOnly group run in other groups",
          "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1, true)});
    std::atomic<uint32_t> wrong{0}, ran{0};
    test::Batch leaves(10, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(scheduler.CurrentWorker() != 0);
        ran.fetch_add(1);
    });
    test::HostQuietly(layout.Options(), [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 100; ++round) {
            Counter counter;
            InNamedOnly(scheduler, [&](TaskScheduler &running) {
                for (uint32_t i = 0; i < 10; ++i) running.AddTask(leaves[i], &counter);
            });
            scheduler.WaitForCounter(&counter);
        }
    });
    CHECK(wrong.load() == 0);
    CHECK(ran.load() == 1000);
}

TEST_CASE("groups: fibers that a pinned task wakes in a namedOnly group continue in other groups",
          "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1, true)});
    std::atomic<uint32_t> wrong{0}, waiting{0};
    Counter gate;
    test::Batch waiters(10, [&](TaskScheduler &scheduler, uint32_t) {
        waiting.fetch_add(1);
        scheduler.WaitForCounter(&gate);
        wrong.fetch_add(scheduler.CurrentWorker() != 0);
    });
    bool met = true;
    test::HostMayStall(layout.Options(), [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 100; ++round) {
            Counter counter;
            waiting.store(0);
            scheduler.IncrementCounter(&gate);
            for (uint32_t i = 0; i < 10; ++i) scheduler.AddTask(waiters[i], &counter);
            met = test::SpinUntil([&] { return waiting.load() == 10; }) && met;
            InNamedOnly(scheduler,
                        [&](TaskScheduler &running) { running.DecrementCounter(&gate); });
            scheduler.WaitForCounter(&counter);
        }
    });
    CHECK(met);
    CHECK(wrong.load() == 0);
}

// The main task waits for both tasks of a counter, and runs the one that names group 0 itself. It
// must not lend its priority to the other one, which is Low and names no group. With the lent
// priority, that task could continue in any group.
TEST_CASE(
    "groups: a Low task of no group stays where runsLow says if its waiter runs others inline",
    "[groups]") {
    const test::GroupLayout layout({Group(1), Group(1, false, true)});
    std::atomic<uint32_t> wrong{0};
    bool met = true;
    test::RunQuietly(layout.Options(), [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 20; ++round) {
            std::atomic<bool> isHeld{false}, isFree{false}, waits{false};
            Counter gate(1), counter, holders;
            test::Batch holder(1, [&](TaskScheduler &, uint32_t) {
                isHeld.store(true);
                test::SpinUntil([&] { return isFree.load(); });
            });
            test::Batch busy(1, [&](TaskScheduler &, uint32_t) { test::Linger(100); });
            test::Batch low(1, [&](TaskScheduler &running, uint32_t) {
                wrong.fetch_add(running.CurrentWorker() != 1);
                waits.store(true);
                running.WaitForCounter(&gate);
                wrong.fetch_add(running.CurrentWorker() != 1);
            });
            test::Batch named(1, [&](TaskScheduler &running, uint32_t) {
                isFree.store(true);
                test::SpinUntil([&] { return waits.load(); });
                // This keeps worker 1 busy, so that worker 0 could take the ready fiber first.
                running.AddTask(busy[0], &holders, InGroup(1, Priority::High));
                running.DecrementCounter(&gate);
            });
            scheduler.AddTask(holder[0], &holders, InGroup(1));
            met = test::YieldUntil(scheduler, [&] { return isHeld.load(); }) && met;
            scheduler.AddTask(low[0], &counter, test::kLow);
            scheduler.AddTask(named[0], &counter, InGroup(0, Priority::Low));
            scheduler.WaitForCounter(&counter);
            scheduler.WaitForCounter(&holders);
        }
    });
    CHECK(met);
    CHECK(wrong.load() == 0);
}
