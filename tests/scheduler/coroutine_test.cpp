// This file is compiled as C++20, the others are not.
#include "weft/coroutine.h"

#include "support/failing_allocation.h"
#include "support/group_layouts.h"
#include "support/quiet_run.h"
#include "support/threads.h"
#include "weft/testing/explore_orders.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::microseconds;

namespace {

// Counts the coroutine frames that exist.
struct Alive {
    explicit Alive(std::atomic<int> &count) : m_count(count) { m_count.fetch_add(1); }
    ~Alive() { m_count.fetch_sub(1); }
    Alive(const Alive &) = delete;
    Alive &operator=(const Alive &) = delete;

private:
    std::atomic<int> &m_count;
};

Coroutine<uint64_t> Sum(uint32_t depth) {
    if (depth == 0) co_return 1;
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    uint64_t written = 0;
    auto write = [&](TaskScheduler *) { written = depth; };
    Counter counter;
    scheduler.AddTask(MakeTask(write), &counter);
    co_await counter;
    const uint64_t rest = co_await Sum(depth - 1);
    co_return written + rest;
}

Coroutine<> Add(std::atomic<int> &alive, std::atomic<uint64_t> &total, uint32_t depth) {
    const Alive here(alive);
    total.fetch_add(co_await Sum(depth));
}

}  // namespace

TEST_CASE("coroutines wait for counters and for each other, on few fibers", "[coroutine][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<int> alive{0};
        std::atomic<uint64_t> total{0};
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            for (uint32_t i = 0; i < 100; ++i)
                StartCoroutine(scheduler, Add(alive, total, i % 8), &counter);
            scheduler.WaitForCounter(&counter);
        });
        uint64_t expected = 0;
        for (uint32_t i = 0; i < 100; ++i) expected += 1 + uint64_t{i % 8} * (i % 8 + 1) / 2;
        CHECK(total.load() == expected);
        CHECK(alive.load() == 0);
    }
}

namespace {

Coroutine<> WaitOften(const Counter &own, std::atomic<uint32_t> &wrong, uint32_t waits) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    Event event(scheduler, EventReset::Auto);
    auto set = [&](TaskScheduler *) { event.Set(); };
    for (uint32_t i = 0; i < waits; ++i) {
        Counter counter;
        if (i % 3 == 0) scheduler.AddTask(MakeTask(set), &counter);
        if (i % 3 == 1) scheduler.AddTask(MakeTask(set));
        if (i % 3 == 0) co_await counter;
        if (i % 3 != 2) co_await event;
        if (i % 3 == 2) co_await microseconds(1);
        wrong.fetch_add(own.Value() != 1);
    }
}

}  // namespace

TEST_CASE("a counter counts a coroutine once, however often it waits", "[coroutine][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> wrong{0};
        // Each task of the coroutine submits the next one, and then ends.
        SchedulerOptions options = test::Options(point);
        options.trace.user = &wrong;
        options.trace.kinds = TraceHooks::Bit(TraceKind::TaskEnd);
        options.trace.event = [](const TraceEvent &event, void *user) {
            if (event.counter != nullptr && event.counter->Value() > 1)
                static_cast<std::atomic<uint32_t> *>(user)->fetch_add(1);
        };
        Counter counter;  // lives longer than the tasks, for the hook
        test::RunQuietly(options, [&](TaskScheduler &scheduler) {
            StartCoroutine(scheduler, WaitOften(counter, wrong, 60), &counter);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(wrong.load() == 0);
    }
}

namespace {

Coroutine<> SleepInSteps(std::atomic<uint32_t> &early, std::atomic<uint32_t> &ended,
                         uint32_t steps) {
    for (uint32_t i = 0; i < steps; ++i) {
        const Clock::time_point end = Now() + microseconds(i * 40);
        if (i % 2 == 0) {
            co_await end;
        } else {
            co_await microseconds(i * 40);
        }
        early.fetch_add(Now() < end);
    }
    ended.fetch_add(1);
}

}  // namespace

TEST_CASE("coroutines sleep", "[coroutine]") {
    for (uint32_t workers : {1u, 2u}) {
        std::atomic<uint32_t> early{0}, ended{0};
        test::RunQuietly(test::Options(workers, 3), [&](TaskScheduler &scheduler) {
            for (uint32_t i = 0; i < 50; ++i)
                StartCoroutine(scheduler, SleepInSteps(early, ended, i % 6));
            // The run must not end before all coroutines have ended.
        });
        CHECK(ended.load() == 50);
        CHECK(early.load() == 0);
    }
}

namespace {

struct Deadlines {
    Counter late{1}, high{5};
    std::atomic<uint32_t> reached{0}, missed{0}, early{0};
};

// Waits for a counter that is lowered in time, for one that is not, and for others that need no
// wait.
Coroutine<> WaitWithDeadlines(Deadlines &its, uint32_t index) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    const auto count = [&](bool isReached) { (isReached ? its.reached : its.missed).fetch_add(1); };
    auto leaf = [](TaskScheduler *running) { running->Yield(); };
    Counter inTime;
    scheduler.AddTask(MakeTask(leaf), &inTime);
    count(co_await UntilDeadline{inTime, Clock::time_point::max()});
    scheduler.AddTask(MakeTask(leaf), &inTime);
    count(co_await UntilDeadline{inTime, Now() + std::chrono::hours(1)});
    const Clock::time_point end = Now() + microseconds(index % 4 * 300);
    count(co_await UntilDeadline{its.late, end});
    if (Now() < end) its.early.fetch_add(1);
    count(co_await UntilDeadline{its.late, Clock::time_point()});
    count(co_await UntilDeadline{its.high, end, 5});
    count(co_await UntilDeadline{its.high, Now() + microseconds(1), 4});
}

}  // namespace

TEST_CASE("coroutines wait for a counter until a deadline", "[coroutine][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        Deadlines its;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter ended;
            for (uint32_t i = 0; i < 50; ++i)
                StartCoroutine(scheduler, WaitWithDeadlines(its, i), &ended);
            scheduler.WaitForCounter(&ended);
        });
        CHECK(its.reached.load() == 3 * 50);
        CHECK(its.missed.load() == 3 * 50);
        CHECK(its.early.load() == 0);
        CHECK((its.late.Value() == 1 && its.high.Value() == 5));
    }
}

namespace {

// Uses up the wait records, with tasks that wait for `gate`. Calls `body` while there is no memory
// for more of them.
void WithoutWaitRecords(TaskScheduler &scheduler, Counter &gate, Counter &done,
                        const std::function<void()> &body) {
    static auto nothing = [](TaskScheduler *) {};
    // First as many tasks as below, so that later the tasks themselves need no new memory.
    for (uint32_t i = 0; i <= 70; ++i) AddTaskAt(scheduler, Now(), MakeTask(nothing), &done);
    scheduler.WaitForCounter(&done);
    const test::FailingAllocation failing(0);
    for (uint32_t i = 0; i < 64; ++i)  // there are 64 wait records at first
        AddTaskAfter(scheduler, &gate, 0, MakeTask(nothing), &done);
    body();
    CHECK(failing.HasFailed());
}

}  // namespace

TEST_CASE("coroutines: without a wait record, a wait with a deadline goes on at once",
          "[coroutine][report][one_worker]") {
    test::Runner runner(test::Options(1));
    bool isReached = true, ended = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter gate(1), never(1), done;
        const auto wait = [&]() -> Coroutine<> {
            isReached = co_await UntilDeadline{never, Now() + std::chrono::hours(1)};
            ended = true;
        };
        WithoutWaitRecords(scheduler, gate, done, [&] {
            StartCoroutine(scheduler, wait());
            test::YieldUntil(scheduler, [&] { return ended; });
        });
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&done);
        if (!ended) scheduler.DecrementCounter(&never);
    }) == Status::Ok);
    CHECK(ended);
    CHECK(!isReached);
    test::CheckOnly(runner.log, ReportCode::OutOfMemory, 1);
}

namespace {

Coroutine<uint32_t> One() { co_return 1; }

Coroutine<uint32_t> OneBelow(uint32_t depth) {
    if (depth == 0) co_return co_await One();
    co_return co_await OneBelow(depth - 1);
}

struct Pair {
    uint32_t first = 0, second = 0;
};
Coroutine<Pair> MakePair() { co_return {3, 4}; }

Coroutine<> CallManyTimes(uint64_t &sum) {
    for (uint32_t i = 0; i < 100'000; ++i) sum += co_await One();
    sum += co_await OneBelow(10'000);
    const Pair pair = co_await MakePair();
    sum += pair.first + pair.second;
    co_await std::chrono::hours::min();  // a time in the past
}

}  // namespace

TEST_CASE("coroutines that do not wait need no stack, even for many or deep calls", "[coroutine]") {
    test::Runner runner(test::Options(1));
    uint64_t sum = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter ended;
        StartCoroutine(scheduler, CallManyTimes(sum), &ended);
        scheduler.WaitForCounter(&ended);
    }) == Status::Ok);
    CHECK(sum == 100'008);
}

namespace {

Coroutine<> Follow(Event &event, Counter &counter, uint32_t value, std::atomic<uint32_t> &wrong) {
    co_await event;
    co_await Until{counter, value};
    wrong.fetch_add(counter.Value() > value);
}

Coroutine<> FinishSwitch(Counter &arrived, Event &event) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    scheduler.DecrementCounter(&arrived);
    co_await event;
}

Coroutine<> Pass(Event &turn, uint32_t &passed) {
    co_await turn;
    ++passed;
    turn.Set();
}

}  // namespace

TEST_CASE("coroutines wait for events and for values", "[coroutine]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers << " workers");
        std::atomic<uint32_t> wrong{0};
        uint32_t passed = 0;
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            Event event(scheduler), turn(scheduler, EventReset::Auto);
            Counter counter(3), done;
            for (uint32_t i = 0; i < 30; ++i) {
                StartCoroutine(scheduler, Follow(event, counter, i % 4, wrong), &done);
                StartCoroutine(scheduler, Pass(turn, passed), &done);
            }
            turn.Set();
            scheduler.Yield();
            event.Set();
            for (int i = 0; i < 3; ++i) {
                scheduler.Yield();
                scheduler.DecrementCounter(&counter);
            }
            scheduler.WaitForCounter(&done);
        });
        CHECK(wrong.load() == 0);
        CHECK(passed == 30);
    }
}

TEST_CASE("coroutines: ten thousand wait at once, on eight fibers", "[coroutine]") {
    constexpr uint32_t kWaiters = 10000;
    SchedulerOptions options = test::Options(2);
    options.fibers = 8;
    uint32_t wait = 0;
    test::RunQuietly(options, [&](TaskScheduler &scheduler) {
        Event event(scheduler);
        Counter arrived(kWaiters), done;
        for (uint32_t i = 0; i < kWaiters; ++i)
            StartCoroutine(scheduler, FinishSwitch(arrived, event), &done);
        scheduler.WaitForCounter(&arrived);
        wait = done.Value();
        event.Set();
        scheduler.WaitForCounter(&done);
    });
    CHECK(wait >= kWaiters);
    // On each worker, one coroutine that is just beginning to wait may count twice.
    CHECK(wait <= kWaiters + 2);
}

TEST_CASE("coroutines: started by an external thread, pinned, with move-only results",
          "[coroutine]") {
    test::Started runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    std::atomic<uint32_t> elsewhere{0}, sum{0};
    const auto make = [](uint32_t i) -> Coroutine<std::unique_ptr<uint32_t>> {
        co_await microseconds(i * 10);
        co_return std::make_unique<uint32_t>(i);
    };
    const auto use = [&](uint32_t i) -> Coroutine<> {
        const auto result = co_await make(i);
        sum.fetch_add(*result);
        elsewhere.fetch_add((co_await CurrentScheduler{}).CurrentWorker() != 1);
    };
    Counter counter;
    for (uint32_t i = 0; i < 20; ++i) {
        TaskOptions options;
        options.worker = 1;
        StartCoroutine(scheduler, use(i), &counter, options);
    }
    scheduler.WaitForCounter(&counter);
    scheduler.Stop();
    CHECK(sum.load() == 190);
    CHECK(elsewhere.load() == 0);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("coroutines: a refused wait returns at once", "[coroutine][report]") {
    test::Started runner(test::Options(1)), other(test::Options(1));
    std::atomic<int> alive{0};
    bool ended = false, isReached = true;
    Counter ofOther, counter;
    CHECK(other.scheduler.IncrementCounter(&ofOther));
    const auto wait = [&]() -> Coroutine<> {
        const Alive here(alive);
        co_await ofOther;
        co_await Clock::time_point::max();  // never comes
        isReached = co_await UntilDeadline{ofOther, Clock::time_point::max()};
        ended = true;
    };
    StartCoroutine(runner.scheduler, wait(), &counter);
    runner.scheduler.WaitForCounter(&counter);
    CHECK(ended);
    CHECK(!isReached);
    CHECK(alive.load() == 0);
    CHECK(runner.log.CountOf(ReportCode::WrongScheduler) == 2);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
    const std::string never = runner.log.First(ReportCode::BadOption).what;
    CHECK(never.find("co_await: the time never comes") != std::string::npos);
    other.scheduler.DecrementCounter(&ofOther);
    other.scheduler.Stop();
    runner.scheduler.Stop();
}

TEST_CASE("coroutines: one waits while its thread is attached to another scheduler",
          "[coroutine][attach]") {
    test::Started runner(test::Options(1)), other(test::Options(1));
    uint32_t counted = 0;
    bool attached = false;
    Counter gate(1), counter;
    auto open = [&](TaskScheduler *scheduler) { scheduler->DecrementCounter(&gate); };
    const auto wait = [&]() -> Coroutine<> {
        // There is one worker. It runs this task when the coroutine waits.
        runner.scheduler.AddTask(MakeTask(open));
        attached = other.scheduler.AttachThread() == Status::Ok;
        co_await gate;
        counted = counter.Value();
        other.scheduler.DetachThread();
    };
    StartCoroutine(runner.scheduler, wait(), &counter);
    runner.scheduler.WaitForCounter(&counter);
    CHECK(attached);
    CHECK(counted != 0);
    other.scheduler.Stop();
    runner.scheduler.Stop();
    CHECK(runner.log.Text() + other.log.Text() == "");
}

TEST_CASE(
    "coroutines: without memory for a wait record, one waits with its fiber and stays counted",
    "[coroutine][one_worker]") {
    test::Runner runner(test::Options(1));
    uint32_t counted = 0;
    bool ended = false, othersEnd = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter gate(1), done, own, other;
        auto nothing = [](TaskScheduler *) {};
        const auto wait = [&]() -> Coroutine<> {
            co_await gate;
            counted = own.Value();
            co_await microseconds(1);
            counted += own.Value();
            ended = true;
        };
        WithoutWaitRecords(scheduler, gate, done, [&] {
            StartCoroutine(scheduler, wait(), &own);
            test::YieldUntil(scheduler,
                             [&] { return runner.log.CountOf(ReportCode::OutOfMemory) != 0; });
        });
        scheduler.AddTask(MakeTask(nothing), &other);
        othersEnd = test::YieldUntil(scheduler, [&] { return other.IsZero(); });
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&own);
        scheduler.WaitForCounter(&done);
    }) == Status::Ok);
    CHECK(othersEnd);
    CHECK(ended);
    // The task that waited on its fiber may still be counted when the coroutine continues.
    CHECK((counted == 2 || counted == 3));
    CHECK(runner.log.CountOf(ReportCode::CounterUnderflow) == 0);
    CHECK(runner.log.CountOf(ReportCode::OutOfMemory) == 1);
}

TEST_CASE("coroutines: without a wait record and with a full counter, one is not counted",
          "[coroutine]") {
    test::Runner runner(test::Options(1));
    bool ended = false;
    uint32_t left = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter gate(1), done, own(~0u - 1);
        const auto wait = [&]() -> Coroutine<> {
            co_await gate;
            ended = true;
        };
        WithoutWaitRecords(scheduler, gate, done, [&] {
            StartCoroutine(scheduler, wait(), &own);
            test::YieldUntil(scheduler,
                             [&] { return runner.log.CountOf(ReportCode::OutOfMemory) != 0; });
        });
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&done);
        scheduler.WaitIdle();
        left = own.Value();
        scheduler.DecrementCounter(&own, left);
    }) == Status::Ok);
    CHECK(ended);
    CHECK(left == ~0u - 1);
    CHECK(runner.log.CountOf(ReportCode::CounterUnderflow) == 0);
}

TEST_CASE("coroutines: one that never began is destroyed", "[coroutine]") {
    std::atomic<int> alive{0};
    std::atomic<uint64_t> total{0};
    {
        Coroutine<> one = Add(alive, total, 3);
        Coroutine<> other = std::move(one);
        one = Add(alive, total, 2);
    }
    CHECK(total.load() == 0);
    CHECK(alive.load() == 0);
}

#if !defined(WEFT_NO_EXCEPTIONS)
namespace {

Coroutine<uint32_t> Throws(std::atomic<int> &alive) {
    const Alive here(alive);
    co_await microseconds(50);
    throw std::runtime_error("no path");
    co_return 1;
}

Coroutine<> Catches(std::atomic<int> &alive, std::string &caught) {
    const Alive here(alive);
    try {
        co_await Throws(alive);
    } catch (const std::runtime_error &error) {
        caught = error.what();
    }
    co_await microseconds(10);
}

Coroutine<> Leaves(std::atomic<int> &alive) {
    const Alive here(alive);
    co_await Throws(alive);
}

}  // namespace

TEST_CASE("coroutines: an exception reaches the awaiting coroutine, or is reported",
          "[coroutine]") {
    test::Runner runner(test::Options(2));
    std::atomic<int> alive{0};
    std::string caught;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        StartCoroutine(scheduler, Catches(alive, caught), &counter);
        StartCoroutine(scheduler, Leaves(alive), &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(caught == "no path");
    CHECK(alive.load() == 0);
    CHECK(runner.log.Text().find("an exception left the task") != std::string::npos);
}
#endif

namespace {

struct NoDefault {
    explicit NoDefault(uint32_t given) : value(given) {}
    uint32_t value;
};

Coroutine<> Count(std::atomic<uint32_t> &count) {
    count.fetch_add(1);
    co_return;
}

Coroutine<uint32_t> CountAndGive(std::atomic<uint32_t> &count) { co_return count.fetch_add(1) + 5; }

[[maybe_unused]] Coroutine<NoDefault> GiveNoDefault() { co_return NoDefault(3); }

Coroutine<> AwaitAgain(std::atomic<uint32_t> &count, std::atomic<uint32_t> &wrong) {
    Coroutine<uint32_t> given = CountAndGive(count);
    Coroutine<uint32_t> taken = std::move(given);
    if (co_await given != 0) wrong.fetch_add(1);
    if (co_await taken != 5) wrong.fetch_add(1);
    if (co_await taken != 0) wrong.fetch_add(1);
    Coroutine<> counts = Count(count);
    co_await counts;
    co_await counts;
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    StartCoroutine(scheduler, std::move(counts));
}

}  // namespace

TEST_CASE("report NullTask: a coroutine that was moved from, or has begun, is started",
          "[coroutine][report]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> count{0};
    uint32_t left = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Coroutine<> given = Count(count);
        Coroutine<> taken = std::move(given);
        Counter counter;
        StartCoroutine(scheduler, std::move(given), &counter);
        left = counter.Value();
        StartCoroutine(scheduler, std::move(taken), &counter);
        StartCoroutine(scheduler, std::move(taken), &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(left == 0);
    CHECK(count.load() == 1);
    test::CheckOnly(runner.log, ReportCode::NullTask, 2);
    CHECK(test::Names(runner.log.Text(), "was moved from"));
}

TEST_CASE("report NullTask: a coroutine that was moved from, or has begun, is awaited",
          "[coroutine][report]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> count{0}, wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        StartCoroutine(scheduler, AwaitAgain(count, wrong), &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(count.load() == 2);
    CHECK(wrong.load() == 0);
    // One was moved from, two are awaited twice, one was started.
    test::CheckOnly(runner.log, ReportCode::NullTask, 4);
    CHECK(test::Names(runner.log.Text(), "has begun already"));
}

#if !defined(WEFT_NO_EXCEPTIONS)
namespace {

Coroutine<> AwaitWithoutValue(std::atomic<uint32_t> &caught) {
    Coroutine<NoDefault> given = GiveNoDefault();
    Coroutine<NoDefault> taken = std::move(given);
    try {
        co_await given;
    } catch (const std::bad_optional_access &) {
        caught.fetch_add(1);
    }
    const NoDefault value = co_await taken;
    caught.fetch_add(value.value);
}

}  // namespace

TEST_CASE("coroutines: without a default result, a second await throws", "[coroutine][report]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> caught{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        StartCoroutine(scheduler, AwaitWithoutValue(caught));
    }) == Status::Ok);
    CHECK(caught.load() == 4);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
}
#endif

namespace {

Coroutine<> SeeItsGroup(test::GroupWitness &witness, uint32_t group, Counter &gate) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    witness.See(scheduler, group);
    test::Batch inherits(3, [&](TaskScheduler &running, uint32_t) { witness.See(running, group); });
    Counter counter;
    scheduler.AddTasks(3, inherits.Tasks(), &counter);  // they name no group
    co_await counter;
    witness.See(scheduler, group);
    co_await gate;
    witness.See(scheduler, group);
    co_await microseconds(1);
    witness.See(scheduler, group);
    witness.ran.fetch_add(1);
}

}  // namespace

TEST_CASE("coroutines run in the group that their options name, after waits too",
          "[coroutine][groups]") {
    for (const test::GroupLayout *layout : test::GroupLayouts()) {
        INFO(layout->Text());
        test::GroupWitness witness(*layout);
        test::RunMayStall(layout->Options(layout->Workers() + 1), [&](TaskScheduler &scheduler) {
            for (const uint8_t group : layout->Groups()) {
                Counter gate(1), counter;
                for (int i = 0; i < 20; ++i)
                    StartCoroutine(scheduler, SeeItsGroup(witness, group, gate), &counter,
                                   test::InGroup(group));
                scheduler.DecrementCounter(&gate);
                scheduler.WaitForCounter(&counter);
            }
        });
        CHECK(witness.wrong.load() == 0);
        CHECK(witness.ran.load() == 20 * layout->GroupCount());
    }
}

namespace {

Coroutine<> Letters(std::string &log, Event &event, char name) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    log += name;
    co_await microseconds(100);
    log += name;
    auto note = [&](TaskScheduler *) { log += 't'; };
    Counter counter;
    scheduler.AddTask(MakeTask(note), &counter);
    co_await counter;
    event.Set();
    co_await event;
    log += name;
}

std::string LettersInOrder(uint64_t order) {
    std::string log;
    const auto test = [&](TaskScheduler &scheduler) {
        Event event(scheduler);
        Counter counter;
        for (const char name : {'a', 'b', 'c'})
            StartCoroutine(scheduler, Letters(log, event, name), &counter);
        scheduler.WaitForCounter(&counter);
        return true;
    };
    const OrderResult result = RunInOrder(order, test, test::Options(0, 10));
    return result.passed && log.size() == 12 ? log : "failed";
}

}  // namespace

TEST_CASE("order: coroutines run in drawn orders, the same for the same number",
          "[coroutine][one_worker]") {
    std::set<std::string> logs;
    for (uint64_t order = 1; order <= 50; ++order) {
        const std::string log = LettersInOrder(order);
        REQUIRE(log != "failed");
        REQUIRE(LettersInOrder(order) == log);
        logs.insert(log);
    }
    CHECK(logs.size() > 20);
}
