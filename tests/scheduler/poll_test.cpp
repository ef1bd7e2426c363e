#include "weft/poll.h"

#include "support/quiet_run.h"
#include "support/threads.h"
#include "weft/testing/explore_orders.h"

#include <atomic>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST_CASE("PollUntil: the only worker runs the task that makes the condition true",
          "[poll][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        bool isSet = false;
        std::atomic<bool> set{false};
        uint32_t offTask = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            test::Batch setter(1, [&](TaskScheduler &, uint32_t) { set.store(true); });
            scheduler.AddTask(setter[0]);
            isSet = PollUntil(
                scheduler,
                [&] {
                    offTask += TaskScheduler::Current() != &scheduler;
                    return set.load();
                },
                microseconds(50));
        });
        CHECK(isSet);
        CHECK(offTask == 0);
    }
}

// In virtual time, so that no deadline passes while the test runs.
TEST_CASE("PollUntil: asks at once, and once more at the deadline", "[poll]") {
    uint32_t right = 0;
    const OrderResult result = RunInOrder(7, [&](TaskScheduler &scheduler) {
        uint32_t asks = 0;
        const auto never = [&] { return ++asks == 0; };
        const auto second = [&] { return ++asks == 2; };
        right += PollUntil(
            scheduler, [&] { return ++asks == 1; }, hours(1));
        right += asks == 1;
        for (const Clock::time_point past : {Now() - hours(1), Clock::time_point::min()}) {
            asks = 0;
            right += !PollUntil(scheduler, never, microseconds(50), past) && asks == 1;
        }
        asks = 0;
        const Clock::time_point soon = Now() + milliseconds(2);
        right += !PollUntil(scheduler, never, hours(1), soon) && asks == 2 && Now() >= soon;
        asks = 0;
        right += PollUntil(scheduler, second, hours::max(), Now() + microseconds(100)) && asks == 2;
        return true;
    });
    CHECK(result.status == Status::Ok);
    CHECK(right == 6);
}

TEST_CASE("PollUntil: every interval is defined", "[poll]") {
    using Seconds = std::chrono::duration<double>;
    const auto infinity = std::numeric_limits<double>::infinity();
    const auto least = Clock::duration(kLeastPollInterval);
    CHECK(internal::PollInterval(microseconds(0)) == least);
    CHECK(internal::PollInterval(microseconds(-7)) == least);
    CHECK(internal::PollInterval(hours::min()) == least);
    CHECK(internal::PollInterval(Seconds(std::numeric_limits<double>::quiet_NaN())) == least);
    CHECK(internal::PollInterval(Seconds(-infinity)) == least);
    CHECK(internal::PollInterval(microseconds(20)) == least);
    CHECK(internal::PollInterval(microseconds(21)) == microseconds(21));
    CHECK(internal::PollInterval(Seconds(infinity)) == Clock::duration::max());
    CHECK(internal::PollInterval(hours::max()) == Clock::duration::max());
}

// Virtual time: weft::Now() of a run with an order moves only while all tasks sleep.
TEST_CASE(
    "PollUntil: in virtual time it asks once for each interval, and returns with the first "
    "true answer",
    "[poll]") {
    struct Ask {
        double interval;  // microseconds
        int64_t expected;
    };
    for (const Ask &ask : {Ask{300, 300}, Ask{0, 20}, Ask{-1, 20}, Ask{20.5, 21}}) {
        const OrderResult result = RunInOrder(7, [&](TaskScheduler &scheduler) {
            const Clock::time_point begin = Now(), signalled = begin + microseconds(1000);
            std::vector<Clock::time_point> asked;
            const bool isTrue = PollUntil(
                scheduler,
                [&] {
                    asked.push_back(Now());
                    return Now() >= signalled;
                },
                std::chrono::duration<double, std::micro>(ask.interval));
            bool right = isTrue && asked.front() - begin < microseconds(20) &&
                         Now() - signalled < microseconds(ask.expected + 10);
            for (size_t i = 1; i < asked.size(); ++i) {
                const auto gap = asked[i] - asked[i - 1];
                right &= gap >= std::chrono::nanoseconds(static_cast<int64_t>(
                                    ask.interval > 20 ? ask.interval * 1000 : 20000)) &&
                         gap < microseconds(ask.expected + 10);
            }
            return right;
        });
        INFO("interval " << ask.interval);
        CHECK(result.status == Status::Ok);
        CHECK(result.passed);
    }
}

TEST_CASE("PollUntil: an external thread may poll, also while nothing runs", "[poll]") {
    test::Runner runner(test::Options(1));
    uint32_t asks = 0;
    CHECK(PollUntil(
        runner.scheduler, [&] { return ++asks == 3; }, microseconds(1)));
    CHECK(asks == 3);
    bool inTime = false, tooLate = true;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              inTime = PollUntil(
                  scheduler, [&] { return ++asks == 6; }, microseconds(1));
              tooLate = PollUntil(
                  scheduler, [] { return false; }, hours(1), Now() + microseconds(100));
          }) == Status::Ok);
    CHECK(inTime);
    CHECK(!tooLate);
    CHECK(asks == 6);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("PollUntil: an attached thread runs tasks between two asks", "[poll]") {
    test::Attached runner(test::Options(0u));
    test::Marks marks(1);
    Counter counter;
    runner.scheduler.AddTasks(1, marks.Tasks(), &counter);
    CHECK(PollUntil(
        runner.scheduler, [&] { return counter.IsZero(); }, microseconds(100)));
    CHECK(marks.Wrong() == 0);
    runner.StopQuietly();
}

TEST_CASE("report InHook: PollUntil in a hook asks nothing", "[poll][report]") {
    struct Shared {
        TaskScheduler *scheduler = nullptr;
        std::atomic<uint32_t> calls{0}, asks{0}, refused{0};
    } shared;
    SchedulerOptions options = test::Options(1);
    options.trace.user = &shared;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Submit);
    options.trace.event = [](const TraceEvent &, void *user) {
        Shared &self = *static_cast<Shared *>(user);
        self.calls.fetch_add(1);
        const auto ask = [&] { return self.asks.fetch_add(1) == 1000; };
        self.refused.fetch_add(!PollUntil(*self.scheduler, ask, microseconds(50)));
    };
    test::Runner runner(options);
    test::Marks marks(1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        shared.scheduler = &scheduler;
        scheduler.AddTask(marks[0]);
        scheduler.WaitIdle();
    }) == Status::Ok);
    CHECK(shared.calls.load() == 1);
    CHECK(shared.asks.load() == 0);
    CHECK(shared.refused.load() == 1);
    CHECK(runner.log.CountOf(ReportCode::InHook) == 1);
    CHECK(runner.log.Count() == 1);
}
