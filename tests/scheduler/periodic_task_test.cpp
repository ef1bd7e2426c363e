#include "weft/periodic_task.h"

#include "support/scheduler_run.h"
#include "weft/testing/explore_orders.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::milliseconds;

namespace {

// Runs `test` in this many orders. The time is virtual. It may also pass while something else could
// run.
void CheckOrders(uint32_t count, const std::function<bool(TaskScheduler &)> &test) {
    const ExploredOrders explored = ExploreOrders(count, test);
    CHECK(explored.tried == count);
    CHECK(explored.order == 0);
}

}  // namespace

TEST_CASE("PeriodicTask: the runs are due at multiples of the period, without drift",
          "[periodic]") {
    size_t most = 0;  // runs in one order
    CheckOrders(100, [&](TaskScheduler &scheduler) {
        const Clock::time_point first = Now() + milliseconds(10);
        const Clock::duration period = milliseconds(33);
        std::vector<Clock::time_point> begins, ends;
        auto note = [&](TaskScheduler *running) {
            begins.push_back(Now());
            // some of the time between two runs; the third one takes too long
            SleepFor(*running, milliseconds(begins.size() == 3 ? 75 : 20));
            ends.push_back(Now());
        };
        PeriodicTask periodic(scheduler, period, MakeTask(note));
        if (!periodic.Start(first)) return false;
        SleepUntil(scheduler, first + 6 * period + milliseconds(5));
        periodic.Cancel();
        if (periodic.Wait() != GroupResult::Cancelled) return false;
        if (begins.size() != periodic.RunCount()) return false;
        most = std::max(most, begins.size());
        uint64_t missed = 0;
        Clock::time_point due = first;  // of each run: the first one after the end of the last run
        for (size_t i = 0; i < begins.size(); ++i) {
            if (begins[i] < due) return false;
            for (due += period; due <= ends[i]; due += period) ++missed;
        }
        return missed == periodic.MissedCount();
    });
    CHECK((most >= 4 && most <= 7));
}

TEST_CASE("PeriodicTask: its task may cancel it, and the run ends", "[periodic]") {
    CheckOrders(100, [](TaskScheduler &scheduler) {
        PeriodicTask *self = nullptr;
        uint32_t runs = 0;
        auto count = [&](TaskScheduler *) {
            if (++runs == 3) self->Cancel();
        };
        PeriodicTask periodic(scheduler, milliseconds(1), MakeTask(count));
        self = &periodic;
        return periodic.Start() && periodic.Wait() == GroupResult::Cancelled && runs == 3;
    });
}

TEST_CASE("PeriodicTask: the destructor withdraws the next run and waits for the current one",
          "[periodic]") {
    CheckOrders(100, [](TaskScheduler &scheduler) {
        uint32_t begun = 0, ended = 0;
        auto sleep = [&](TaskScheduler *running) {
            ++begun;
            SleepFor(*running, milliseconds(5));
            ++ended;
        };
        {
            PeriodicTask never(scheduler, milliseconds(1), MakeTask(sleep));
            PeriodicTask late(scheduler, milliseconds(1), MakeTask(sleep));
            PeriodicTask periodic(scheduler, milliseconds(10), MakeTask(sleep));
            if (!late.Start(Now() + std::chrono::hours(1)) || !periodic.Start()) return false;
            SleepFor(scheduler, milliseconds(2));
        }
        // In some orders this task goes on late, so that further runs have begun.
        const uint32_t before = begun;
        const bool isOver = ended == begun;
        SleepFor(scheduler, std::chrono::hours(2));
        return isOver && begun == before;
    });
}

TEST_CASE("fault: PeriodicTask: a first time long past, and a period that no clock can show",
          "[periodic]") {
    CheckOrders(20, [](TaskScheduler &scheduler) {
        PeriodicTask *self = nullptr;
        uint32_t runs = 0, most = 2;
        auto count = [&](TaskScheduler *) {
            if (++runs == most) self->Cancel();
        };
        PeriodicTask old(scheduler, std::chrono::hours(24), MakeTask(count));
        self = &old;
        if (!old.Start(Clock::time_point::min()) || old.Wait() != GroupResult::Cancelled)
            return false;
        // 106,751 days before the epoch of the clock, and at most as many after it
        if (runs != 2 || old.MissedCount() < 106751 || old.MissedCount() > 213503) return false;
        runs = 0;
        most = 5;
        PeriodicTask once(scheduler, Clock::duration::max(), MakeTask(count));
        self = &once;
        if (!once.Start()) return false;
        SleepUntil(scheduler, Now() + std::chrono::hours(1));
        once.Cancel();
        return once.Wait() == GroupResult::Cancelled && runs == 1 && once.MissedCount() == 0;
    });
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("PeriodicTask: an exception ends it", "[periodic]") {
    CheckOrders(20, [](TaskScheduler &scheduler) {
        auto fail = [](TaskScheduler *) { throw 5; };
        PeriodicTask periodic(scheduler, milliseconds(10), MakeTask(fail));
        if (!periodic.Start() || periodic.Wait() != GroupResult::Failed) return false;
        return periodic.RunCount() == 1 && periodic.FirstException() != nullptr;
    });
}
#endif

TEST_CASE("PeriodicTask: a period of zero, a group and a second Start are refused",
          "[periodic][report]") {
    test::Runner runner(test::Options(1));
    auto nothing = [](TaskScheduler *) {};
    PeriodicTask early(runner.scheduler, milliseconds(1000), MakeTask(nothing));
    CHECK(!early.Start());  // the scheduler does not run
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK(early.Start(Now() + milliseconds(1000)));
        early.Cancel();
        CHECK(early.Wait() == GroupResult::Cancelled);
        PeriodicTask zero(scheduler, milliseconds(0), MakeTask(nothing));
        CHECK(!zero.Start());
        PeriodicTask twice(scheduler, milliseconds(1000), MakeTask(nothing));
        CHECK(twice.Start(Now() + milliseconds(1000)));
        CHECK(!twice.Start());
        TaskGroup group(scheduler);
        TaskOptions ofGroup;
        ofGroup.taskGroup = &group;
        PeriodicTask grouped(scheduler, milliseconds(1000), MakeTask(nothing), ofGroup);
        CHECK(!grouped.Start());
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 3);
}

TEST_CASE("PeriodicTask: Start reports what AddTaskAt would, and then nothing is submitted",
          "[periodic][report]") {
    test::Runner runner(test::Options(1));
    uint32_t runs = 0;
    auto count = [&](TaskScheduler *) { ++runs; };
    const Task task = MakeTask(count);
    TaskOptions priority, worker, group;
    priority.priority = Priority(7);
    worker.worker = 99;
    group.group = 4;
    bool first = true, started[5] = {}, never = true;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PeriodicTask null(scheduler, milliseconds(1), {nullptr, nullptr});
        PeriodicTask wrong[] = {{scheduler, milliseconds(1), task, priority},
                                {scheduler, milliseconds(1), task, worker},
                                {scheduler, milliseconds(1), task, group}};
        first = null.Start();
        started[0] = null.Start();  // the first call has changed nothing
        for (size_t i = 0; i < 3; ++i) started[i + 1] = wrong[i].Start();
        PeriodicTask late(scheduler, milliseconds(1), task);
        never = late.Start(Clock::time_point::max());
        SleepFor(scheduler, milliseconds(5));
        started[4] = null.Wait() != GroupResult::Finished || null.RunCount() != 0;
    }) == Status::Ok);
    CHECK(!first);
    for (const bool each : started) CHECK(!each);
    CHECK(!never);
    CHECK(runs == 0);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 2);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 4);
    CHECK(runner.log.Count() == 6);
}
