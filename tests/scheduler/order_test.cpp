// Runs with an order (SchedulerOptions::order), and the search for an order that fails.
#include "weft/testing/explore_orders.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "weft/algorithms/parallel_for.h"
#include "weft/closure.h"
#include "weft/deferred.h"
#include "weft/external_work.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

namespace {

SchedulerOptions OrderOptions(uint32_t fibers = 18) { return test::Options(0, fibers); }

// Passes the time, so that a run which depends on the clock differs.
void Spin(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// Writes a letter for each step of tasks that use most of weft, with the virtual time of some.
class Mixture {
public:
    explicit Mixture(uint32_t delay) : m_delay(delay) {}

    bool operator()(TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        Event event(scheduler);
        Counter all, slow(1), pinned;
        test::Batch inner(3, [&](TaskScheduler &, uint32_t i) { Note('a', i); });
        test::Batch batch(20, [&](TaskScheduler &running, uint32_t i) {
            Note('b', i);
            if (i % 4 == 0) running.AddTasksAndWait(3, inner.Tasks());
            if (i % 4 == 1) running.Yield();
            if (i % 4 == 2) SleepFor(running, std::chrono::milliseconds(i));
            if (i % 4 == 3) {
                const std::lock_guard<Mutex> lock(mutex);
                Note('m', i);
            }
            Note('e', i);
        });
        scheduler.AddTasks(20, batch.Tasks(), &all);
        scheduler.AddTasks(3, inner.Tasks(), &all, test::kHigh);
        scheduler.AddTasks(3, inner.Tasks(), &all, test::kLow);
        scheduler.AddTasks(3, inner.Tasks(), &all);
        scheduler.AddTasks(3, inner.Tasks(), &pinned, {Priority::Normal, 0});
        auto set = [&](TaskScheduler *) { event.Set(); };
        AddTask(
            scheduler, [&] { Note('c', 0); }, &all);
        scheduler.AddTask(MakeTask(set), &all);
        AddTaskAt(scheduler, Now() + 5ms, inner[0], &all);
        AddTaskAfter(scheduler, &pinned, 0, inner[1], &all);
        Note(WaitForCounterFor(scheduler, &slow, 3ms) ? 'S' : 'T', 0);
        event.Wait();
        Note('w', 0);
        scheduler.WaitForCounter(&pinned, Meanwhile::OwnTasks);
        Note('p', 0);
        ParallelFor(scheduler, 0, 40, [&](int i) {
            if (i % 10 == 0) Note('f', static_cast<uint32_t>(i));
        });
        Note(WaitForCounterFor(scheduler, &slow, 1ms, Meanwhile::Nothing) ? 'S' : 'T', 1);
        scheduler.WaitForCounter(&all);
        m_log += std::to_string(Now().time_since_epoch().count());
        return true;
    }

    const std::string &Log() const { return m_log; }

private:
    void Note(char what, uint32_t number) {
        m_log += what;
        m_log += static_cast<char>('A' + number);
        if (m_delay != 0) Spin(std::chrono::microseconds((m_log.size() * m_delay) % 23));
    }
    uint32_t m_delay;
    std::string m_log;
};

// The event kinds, fibers and names of a run.
std::string EventsOf(uint64_t order, uint32_t delay) {
    std::string events;
    SchedulerOptions options = OrderOptions(32);
    options.trace.user = &events;
    options.trace.event = [](const TraceEvent &event, void *user) {
        std::string &log = *static_cast<std::string *>(user);
        log += static_cast<char>('a' + static_cast<int>(event.kind));
        log += std::to_string(event.fiber) + (event.task != nullptr ? event.task : "");
    };
    Mixture mixture(delay);
    const OrderResult result = RunInOrder(order, mixture, options);
    return result.passed ? events + mixture.Log() + std::to_string(result.choices) : "failed";
}

// Runs `test` in the orders from 1 to `count`, and returns its results.
template <class Test>
auto ResultsOf(uint64_t count, const Test &test) {
    std::set<decltype(test(std::declval<TaskScheduler &>()))> results;
    const auto note = [&](TaskScheduler &scheduler) {
        results.insert(test(scheduler));
        return true;
    };
    for (uint64_t order = 1; order <= count; ++order) {
        INFO(order);
        CHECK(RunInOrder(order, note, OrderOptions()).passed);
    }
    return results;
}

// Runs four tasks, and returns the order in which they have begun.
std::string FourTasks(uint64_t order) {
    std::string begun;
    test::Batch batch(4, [&](TaskScheduler &, uint32_t i) { begun += static_cast<char>('0' + i); });
    RunInOrder(
        order,
        [&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(4, batch.Tasks());
            return true;
        },
        OrderOptions());
    return begun;
}

}  // namespace

TEST_CASE("order: the same number gives the same run, whatever the time", "[order]") {
    for (uint64_t order = 1; order <= 100; ++order) {
        const std::string first = EventsOf(order, 0);
        INFO(order);
        REQUIRE(first != "failed");
        REQUIRE(EventsOf(order, order % 10 == 0 ? 7 : 0) == first);
    }
}

TEST_CASE("order: two processes run the same order", "[order][fork]") {
    const auto print = [] {
        for (const uint64_t order : {3u, 4u, 5u, 6u})
            std::fprintf(stderr, "%s\n", EventsOf(order, 0).c_str());
    };
    const test::ChildResult one = test::RunInChild(print), other = test::RunInChild(print);
    CHECK(one.output.size() > 1000);
    CHECK(one.output == other.output);
}

TEST_CASE("order: each order of four tasks comes", "[order]") {
    std::set<std::string> orders;
    uint64_t order = 0;
    while (orders.size() < 24 && order < 2000) orders.insert(FourTasks(++order));
    INFO(order);
    CHECK(orders.size() == 24);
}

TEST_CASE("order: each task of a large batch may be the next one", "[order]") {
    const auto test = [](TaskScheduler &scheduler) {
        std::vector<uint32_t> begun;
        test::Batch batch(40, [&](TaskScheduler &, uint32_t i) { begun.push_back(i); });
        Counter counter;
        scheduler.AddTasks(40, batch.Tasks(), &counter);
        scheduler.WaitForCounter(&counter);
        return begun;
    };
    std::set<uint32_t> first;
    for (const std::vector<uint32_t> &begun : ResultsOf(400, test)) {
        CHECK(begun.size() == 40);
        first.insert(begun[0]);
    }
    CHECK(first.size() == 40);
}

TEST_CASE("order: without drawn choices the run is the usual one", "[order]") {
    for (uint64_t seed = 1; seed <= 50; ++seed)
        REQUIRE(FourTasks(internal::ShortOrder(seed, 0)) == "0123");
}

TEST_CASE("order: a priority gives no order", "[order]") {
    const auto test = [](TaskScheduler &scheduler) {
        std::string begun;
        Counter counter;
        AddTask(
            scheduler, [&] { begun += 'l'; }, &counter, test::kLow);
        AddTask(
            scheduler, [&] { begun += 'h'; }, &counter, test::kHigh);
        scheduler.WaitForCounter(&counter);
        return begun;
    };
    CHECK(ResultsOf(100, test) == std::set<std::string>{"lh", "hl"});
}

TEST_CASE("order: pinned tasks keep their order, and others go between", "[order]") {
    const auto test = [](TaskScheduler &scheduler) {
        std::string begun;
        test::Batch pinned(
            3, [&](TaskScheduler &, uint32_t i) { begun += static_cast<char>('0' + i); });
        Counter counter;
        scheduler.AddTasks(3, pinned.Tasks(), &counter, {Priority::Normal, 0});
        AddTask(
            scheduler, [&] { begun += 'x'; }, &counter);
        scheduler.WaitForCounter(&counter);
        return begun;
    };
    CHECK(ResultsOf(200, test) == std::set<std::string>{"x012", "0x12", "01x2", "012x"});
}

TEST_CASE("order: a waiter runs its task inline, or not", "[order]") {
    const auto isInline = [](TaskScheduler &scheduler) {
        const uint32_t waiter = scheduler.CurrentFiber();
        uint32_t fiber = waiter;
        auto note = [&](TaskScheduler *running) { fiber = running->CurrentFiber(); };
        const Task task = MakeTask(note);
        scheduler.AddTasksAndWait(1, &task);
        return fiber == waiter;  // an inline task has the waiter's fiber
    };
    CHECK(ResultsOf(50, isInline).size() == 2);
}

TEST_CASE("order: a wait that is over and a free lock let others go first", "[order]") {
    for (const bool locks : {false, true}) {
        const auto othersGoFirst = [&](TaskScheduler &scheduler) {
            bool hasRun = false;
            Counter zero, counter;
            Mutex mutex(scheduler);
            AddTask(
                scheduler, [&] { hasRun = true; }, &counter);
            if (locks) {
                const std::lock_guard<Mutex> lock(mutex);
            } else {
                scheduler.WaitForCounter(&zero);
            }
            const bool before = hasRun;
            scheduler.WaitForCounter(&counter);
            return before;
        };
        CHECK(ResultsOf(200, othersGoFirst).size() == 2);
    }
}

TEST_CASE("order: time is virtual, and never goes back", "[order]") {
    const auto begin = std::chrono::steady_clock::now();
    uint32_t wrong = 0;
    const auto isEarly = [&](TaskScheduler &scheduler) {
        Clock::time_point last{};
        bool hasRun = false;
        const auto look = [&] {
            const Clock::time_point now = Now();
            wrong += now <= last;
            last = now;
        };
        Counter counter;
        AddTask(
            scheduler, [&] { hasRun = true; }, &counter);
        const Clock::time_point longEnd = Now() + 1h;
        AddTask(
            scheduler,
            [&](TaskScheduler *running) {
                const Clock::time_point end = Now() + 2ms;
                SleepFor(*running, 2ms);
                look();
                wrong += Now() < end;
            },
            &counter);
        SleepFor(scheduler, 1ms);
        look();
        const bool early = !hasRun;
        SleepUntil(scheduler, longEnd);
        look();
        // A far deadline comes only when nothing else can run.
        wrong += Now() < longEnd || !hasRun || !counter.IsZero();
        scheduler.WaitForCounter(&counter);
        return early;
    };
    CHECK(ResultsOf(100, isEarly).size() == 2);
    CHECK(wrong == 0);
    CHECK(std::chrono::steady_clock::now() - begin < 1h);
}

TEST_CASE("order: a deadline may fall due before other work begins", "[order]") {
    test::Batch task(1, [](TaskScheduler &, uint32_t) {});
    for (const bool sleeps : {true, false}) {
        // fails if the task has not begun at the deadline
        const auto test = [&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTask(task[0], &counter);
            if (sleeps)
                SleepFor(scheduler, 1ms);
            else
                static_cast<void>(WaitForCounterFor(scheduler, &counter, 1ms));
            const bool hasRun = scheduler.PollCounter(&counter);
            scheduler.WaitForCounter(&counter);
            return hasRun;
        };
        CHECK(ExploreOrders(1000, test, OrderOptions()).order != 0);
    }
}

TEST_CASE("order: a loop that looks at the time or yields ends", "[order]") {
    for (uint64_t order = 1; order <= 20; ++order) {
        const auto test = [&](TaskScheduler &scheduler) {
            bool isDone = false;
            Counter counter;
            AddTask(
                scheduler,
                [&](TaskScheduler *running) {
                    SleepFor(*running, 1ms);
                    isDone = true;
                },
                &counter);
            for (const Clock::time_point end = Now() + 1ms; Now() < end;) {
            }
            while (!isDone) scheduler.Yield();
            scheduler.WaitForCounter(&counter);
            return true;
        };
        CHECK(RunInOrder(internal::ShortOrder(order, order - 1), test, OrderOptions()).passed);
        CHECK(RunInOrder(order, test, OrderOptions()).passed);
    }
}

TEST_CASE("order: few fibers suffice", "[order]") {
    for (const uint32_t fibers : {1u, 2u, 3u}) {
        for (uint64_t order = 1; order <= 50; ++order) {
            test::ReportLog log;
            SchedulerOptions options = OrderOptions(fibers);
            log.AttachTo(options);
            uint32_t ran = 0;
            test::Batch leaves(3, [&](TaskScheduler &, uint32_t) { ++ran; });
            test::Batch batch(20, [&](TaskScheduler &running, uint32_t i) {
                if (i % 3 == 0) running.Yield();
                running.AddTasksAndWait(3, leaves.Tasks());
            });
            const auto test = [&](TaskScheduler &scheduler) {
                scheduler.AddTasksAndWait(20, batch.Tasks());
                return ran == 60;
            };
            INFO(fibers << " " << order << log.Text());
            REQUIRE(RunInOrder(order, test, options).passed);
        }
    }
}

TEST_CASE("report Stalled: an order that stalls is given up", "[order]") {
    test::ReportLog log;
    SchedulerOptions options = OrderOptions();
    log.AttachTo(options);
    uint32_t stalls = 0;
    const auto test = [&](TaskScheduler &scheduler) {
        Mutex one(scheduler), other(scheduler);
        const auto lock = [](Mutex &first, Mutex &second) {
            const std::lock_guard<Mutex> outer(first);
            const std::lock_guard<Mutex> inner(second);
        };
        Counter counter;
        AddTask(
            scheduler, [&] { lock(one, other); }, &counter);
        AddTask(
            scheduler, [&] { lock(other, one); }, &counter);
        scheduler.WaitForCounter(&counter);
        return true;
    };
    const ExploredOrders explored = ExploreOrders(1000, test, options);
    REQUIRE(explored.order != 0);
    CHECK(explored.failure.stalled);
    CHECK_FALSE(explored.failure.passed);
    REQUIRE(log.CountOf(ReportCode::Stalled) == 2);  // the waiters, and the order
    char number[32];
    std::snprintf(number, sizeof number, "order %#llx ends in a stall",
                  static_cast<unsigned long long>(explored.order));
    CHECK(test::Names(log.Text(), number));
    for (uint32_t i = 0; i < 50; ++i) stalls += RunInOrder(explored.order, test, options).stalled;
    CHECK(stalls == 50);
}

TEST_CASE("report Stalled: tasks that are left when the test returns count, too", "[order]") {
    test::ReportLog log;
    SchedulerOptions options = OrderOptions();
    log.AttachTo(options);
    for (const Meanwhile meanwhile :
         {Meanwhile::AnyTask, Meanwhile::Nothing, Meanwhile::OwnTasks}) {
        Counter never(1);
        const auto test = [&](TaskScheduler &scheduler) {
            AddTask(scheduler,
                    [&](TaskScheduler *running) { running->WaitForCounter(&never, meanwhile); });
            return true;
        };
        for (uint64_t order = 1; order <= 10; ++order) {
            const OrderResult result = RunInOrder(order, test, options);
            CHECK(result.stalled);
            CHECK_FALSE(result.passed);
        }
        // The run has left its wait record on the counter.
        new (&never) Counter;
    }
}

TEST_CASE("report Stalled: an order that does not end is given up", "[order][long]") {
    test::ReportLog log;
    SchedulerOptions options = OrderOptions();
    log.AttachTo(options);
    const auto test = [](TaskScheduler &scheduler) {
        AddTask(scheduler, [](TaskScheduler *running) {
            for (;;) running->Yield();
        });
        return true;
    };
    const OrderResult result = RunInOrder(3, test, options);
    CHECK(result.stalled);
    CHECK(test::Names(log.First(ReportCode::Stalled).what, "order 0x3 does not end"));
    CHECK(RunInOrder(
              3, [](TaskScheduler &) { return true; }, options)
              .passed);
}

TEST_CASE("report Stalled: a run without the search ends the process at once", "[order][fork]") {
    const test::ChildResult child = test::RunInChild([] {
        SchedulerOptions options;
        options.workers = 0;
        options.order = 0x11;
        TaskScheduler scheduler(options);
        Counter never(1);
        if (scheduler.Start() != Status::Ok || scheduler.AttachThread() != Status::Ok) return;
        scheduler.WaitForCounter(&never);
    });
    CHECK(child.Died());
    CHECK(test::Names(child.output, "all workers sleep and 1 fiber waits"));
    CHECK(test::Names(child.output, "fatal: order 0x11 ends in a stall, after 0 choices"));
    CHECK(test::Names(child.output, "SchedulerOptions::order"));
}

TEST_CASE("order: external work may end a wait", "[order]") {
    const auto test = [](TaskScheduler &scheduler) {
        Counter answered(1);
        std::thread thread;
        {
            const ExternalWork request(scheduler);
            thread = std::thread([&] {
                Spin(2ms);
                scheduler.DecrementCounter(&answered);
            });
            scheduler.WaitForCounter(&answered);
        }
        thread.join();
        return true;
    };
    CHECK(RunInOrder(1, test, OrderOptions()).passed);
}

TEST_CASE("report BadOption: an order needs 0 workers", "[order]") {
    test::ReportLog log;
    SchedulerOptions options = test::Options(2);
    options.order = 5;
    log.AttachTo(options);
    CHECK(TaskScheduler(options).Start() == Status::BadOption);
    CHECK(TaskScheduler(options).Run([](TaskScheduler *, void *) {}) == Status::BadOption);
    CHECK(log.CountOf(ReportCode::BadOption) == 2);
    CHECK(test::Names(log.First(ReportCode::BadOption).what, "SchedulerOptions::order is 5"));
    options.stackBytes = 1;
    const ExploredOrders explored = ExploreOrders(
        10, [](TaskScheduler &) { return true; }, options);
    CHECK(explored.status == Status::BadOption);
    CHECK(explored.tried == 0);
}

TEST_CASE("order: the search begins where it is told, and counts its orders", "[order]") {
    const auto passes = [](TaskScheduler &) { return true; };
    const ExploredOrders none = ExploreOrders(7, passes, OrderOptions());
    CHECK(none.order == 0);
    CHECK(none.tried == 7);
    uint32_t runs = 0;
    const auto fails = [&](TaskScheduler &) { return ++runs == 0; };
    SchedulerOptions options = OrderOptions();
    options.order = 40;
    const ExploredOrders first = ExploreOrders(7, fails, options);
    CHECK(first.tried == 1);
    // It fails without any choice, so the shortest order has none.
    CHECK(first.order == internal::ShortOrder(40, 0));
}

TEST_CASE("order: the shortened order has the fewest choices that fail", "[order]") {
    // fails if the last of four tasks begins first
    std::string begun;
    test::Batch batch(4, [&](TaskScheduler &, uint32_t i) { begun += static_cast<char>('0' + i); });
    const auto test = [&](TaskScheduler &scheduler) {
        begun.clear();
        scheduler.AddTasksAndWait(4, batch.Tasks());
        return begun[0] != '3';
    };
    const ExploredOrders explored = ExploreOrders(1000, test, OrderOptions());
    REQUIRE(explored.order != 0);
    const uint64_t choices = (explored.order >> 32) - 1;
    CHECK(choices >= 1);
    CHECK_FALSE(RunInOrder(explored.order, test, OrderOptions()).passed);
    CHECK(
        RunInOrder(internal::ShortOrder(explored.order, choices - 1), test, OrderOptions()).passed);
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("report TaskThrew: a test that throws has not passed", "[order]") {
    test::ReportLog log;
    SchedulerOptions options = OrderOptions();
    log.AttachTo(options);
    const auto test = [](TaskScheduler &) -> bool { throw std::runtime_error("no"); };
    const OrderResult result = RunInOrder(1, test, options);
    CHECK_FALSE(result.passed);
    CHECK_FALSE(result.stalled);
    CHECK(log.CountOf(ReportCode::TaskThrew) == 1);
}
#endif

TEST_CASE("order: pumped tasks and waits with Nothing", "[order]") {
    for (uint64_t order = 1; order <= 50; ++order) {
        const auto test = [](TaskScheduler &scheduler) {
            uint32_t ran = 0;
            bool isRight = true;
            Counter counter;
            test::Batch batch(5, [&](TaskScheduler &running, uint32_t i) {
                if (i == 2) running.Yield();
                ++ran;
            });
            scheduler.AddTasks(5, batch.Tasks(), &counter, {Priority::Normal, 0});
            scheduler.RunPinnedTasks();
            isRight = ran <= 5;
            scheduler.WaitForCounter(&counter);
            const Clock::time_point end = Now() + 3ms;
            Counter never(1);
            isRight = isRight && !WaitForCounterUntil(scheduler, &never, end, Meanwhile::Nothing) &&
                      Now() >= end;
            return isRight && ran == 5;
        };
        INFO(order);
        REQUIRE(RunInOrder(order, test, OrderOptions()).passed);
    }
}
