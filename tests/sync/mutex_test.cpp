#include "weft/sync/mutex.h"

#include "sync/mix.h"

#include <memory>
#include <mutex>
#include <type_traits>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<Mutex> && !std::is_copy_assignable_v<Mutex>);
static_assert(
    noexcept(std::declval<Mutex &>().lock()) &&noexcept(std::declval<Mutex &>().unlock()));

TEST_CASE("Mutex: tasks and threads exclude each other, and see earlier writes",
          "[sync][mutex][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        uint64_t plain = 0;
        constexpr uint32_t kTasks = 20, kThreads = 2, kTimes = 50;
        std::unique_ptr<Mutex> mutex;
        std::once_flag once;
        CHECK(
            test::RunMixed(point, kTasks, kThreads, [&](TaskScheduler &scheduler, uint32_t index) {
                std::call_once(once, [&] { mutex = std::make_unique<Mutex>(scheduler); });
                for (uint32_t i = 0; i < kTimes; ++i) {
                    const std::lock_guard<Mutex> lock(*mutex);
                    ++plain;
                    // The task yields with the lock held.
                    if ((i + index) % 16 == 0 && scheduler.CurrentWorker() != kAnyWorker)
                        scheduler.Yield();
                }
            }));
        CHECK(plain == uint64_t{kTasks + kThreads} * kTimes);
    }
}

TEST_CASE("Mutex: std::unique_lock and std::scoped_lock", "[sync][mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex first(one.Scheduler()), second(one.Scheduler());
    {
        const std::scoped_lock both(first, second);
        CHECK(!first.try_lock());
        CHECK(!second.try_lock());
        const std::unique_lock<Mutex> lock(first, std::try_to_lock);
        CHECK(!lock.owns_lock());
    }
    std::unique_lock<Mutex> lock(first, std::defer_lock);
    CHECK(lock.try_lock_for(1ms));
    lock.unlock();
    CHECK(lock.try_lock_until(std::chrono::system_clock::now() + 1h));
    lock.unlock();
    CHECK(lock.try_lock_until(std::chrono::steady_clock::now() - 1h));  // the mutex is free
    lock.unlock();
    CHECK(lock.try_lock_for(std::chrono::hours::max()));
}

TEST_CASE("Mutex: a timed lock that gives up lets the waiters behind it continue",
          "[sync][mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    mutex.lock();
    int timedOut = 0, got = 0;
    auto timed = [&](TaskScheduler *) { timedOut += mutex.try_lock_for(1us) ? 0 : 1; };
    auto untimed = [&](TaskScheduler *) {
        const std::lock_guard<Mutex> lock(mutex);
        ++got;
    };
    one.RunUntilItWaits(timed);
    one.RunUntilItWaits(untimed);
    one.RunUntilItWaits(timed);
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return timedOut == 2; }));
    CHECK(got == 0);
    mutex.unlock();
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return got == 1; }));
    CHECK(mutex.try_lock());
    mutex.unlock();
}

TEST_CASE("Mutex: each first waiter is overtaken exactly kMaxOvertakes times",
          "[sync][mutex][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    uint32_t got = 0, mayUnlock = 0;
    auto waiter = [&](TaskScheduler *scheduler) {
        const std::lock_guard<Mutex> lock(mutex);
        const uint32_t turn = ++got;
        while (mayUnlock < turn) scheduler->Yield();
    };
    mutex.lock();
    for (int i = 0; i < 3; ++i) one.RunUntilItWaits(waiter);
    mutex.unlock();
    for (uint32_t turn = 1; turn <= 3; ++turn) {
        uint32_t overtakings = 0;
        while (overtakings <= Mutex::kMaxOvertakes && mutex.try_lock()) {
            ++overtakings;
            mutex.unlock();
        }
        CHECK(overtakings == Mutex::kMaxOvertakes);
        CHECK(got == turn - 1);
        one.Settle();
        CHECK(got == turn);
        // Within one step of this thread, the waiter unlocks the mutex and the next waiter is
        // notified.
        mayUnlock = turn;
        if (turn == 3) break;
        one.Scheduler().Yield();
    }
    one.Settle();
    CHECK(mutex.try_lock());
    mutex.unlock();
}

TEST_CASE("Mutex: the first waiter is woken in vain exactly kMaxVainWakes times",
          "[sync][mutex][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    bool got = false;
    auto waiter = [&](TaskScheduler *) {
        const std::lock_guard<Mutex> lock(mutex);
        got = true;
    };
    mutex.lock();
    one.RunUntilItWaits(waiter);
    mutex.unlock();
    uint32_t inVain = 0;
    while (inVain <= Mutex::kMaxVainWakes && mutex.try_lock()) {
        ++inVain;
        one.Settle();
        mutex.unlock();
    }
    CHECK(inVain == Mutex::kMaxVainWakes);
    CHECK(!got);
    one.Settle();
    CHECK(got);
}

TEST_CASE("Mutex: waiters get it in the order in which they came",
          "[sync][mutex][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    std::string order;
    const auto enter = [&](char name) {
        const std::lock_guard<Mutex> lock(mutex);
        order += name;
    };
    auto a = [&](TaskScheduler *) { enter('a'); };
    auto b = [&](TaskScheduler *) { enter('b'); };
    auto c = [&](TaskScheduler *) { enter('c'); };
    mutex.lock();
    one.RunUntilItWaits(a);
    one.RunUntilItWaits(b);
    one.RunUntilItWaits(c);
    mutex.unlock();
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return order.size() == 3; }));
    CHECK(order == "abc");
}

TEST_CASE("Mutex: its last owner may destroy it while an earlier one is still in unlock",
          "[sync][mutex]") {
    for (int round = 0; round < 200; ++round) {
        test::Runner runner(test::Options(2));
        const Status status =
            test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                for (int i = 0; i < 20; ++i) {
                    auto mutex = std::make_unique<Mutex>(scheduler);
                    mutex->lock();
                    auto last = [&](TaskScheduler *) {
                        mutex->lock();
                        mutex->unlock();
                        mutex.reset();
                    };
                    Counter counter;
                    scheduler.AddTask(MakeTask(last), &counter);
                    test::Linger(i % 3);
                    mutex->unlock();
                    scheduler.WaitForCounter(&counter);
                }
            });
        REQUIRE(status == Status::Ok);
        if (round == 0) CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("report WrongThread: Mutex::unlock of a mutex that is not locked; it has no effect",
          "[sync][mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    mutex.unlock();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 1);
    CHECK(test::Names(one.Log().First(ReportCode::WrongThread).what, "Mutex::unlock"));
    CHECK(mutex.try_lock());
    CHECK(!mutex.try_lock());
    mutex.unlock();
    CHECK(one.Log().Count() == 1);
}

TEST_CASE("report NotRunning: without a scheduler, Mutex::lock polls", "[sync][mutex]") {
    test::Runner runner(test::Options(1));
    Mutex mutex(runner.scheduler);
    mutex.lock();
    CHECK(runner.log.Count() == 0);
    int plain = 1;
    bool timedOut = false;
    test::Threads other(1, [&](uint32_t) {
        timedOut = !mutex.try_lock_for(1us);
        const std::lock_guard<Mutex> lock(mutex);
        ++plain;
    });
    CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::NotRunning) == 2; }));
    CHECK(plain == 1);
    mutex.unlock();
    other.Join();
    CHECK(timedOut);
    CHECK(plain == 2);
    CHECK(runner.log.Count() == 2);
}

TEST_CASE("report InHook: a lock in a hook that has to wait is reported, but still excludes",
          "[sync][mutex]") {
    SchedulerOptions options = test::Options(2);
    struct Hook {
        std::atomic<Mutex *> mutex{nullptr};
        std::atomic<int> calls{0};
        std::atomic<bool> held{true};
        std::atomic<bool> wrong{false};
    } hook;
    options.trace.user = &hook;
    options.trace.kinds = TraceHooks::Bit(TraceKind::TaskEnd);
    options.trace.event = [](const TraceEvent &event, void *user) {
        Hook &self = *static_cast<Hook *>(user);
        if (event.task == nullptr || std::string(event.task) != "hooked") return;
        self.calls.fetch_add(1);
        self.mutex.load()->lock();
        if (self.held.load()) self.wrong.store(true);
        self.mutex.load()->unlock();
    };
    test::Runner runner(options);
    bool wasReported = false;
    const Status status =
        test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
            Mutex mutex(scheduler);
            hook.mutex.store(&mutex);
            mutex.lock();
            Counter counter;
            auto leaf = [](TaskScheduler *) {};
            scheduler.AddTask(MakeTask(leaf), &counter, test::Named("hooked"));
            wasReported =
                test::SpinUntil([&] { return runner.log.CountOf(ReportCode::InHook) == 1; });
            hook.held.store(false);
            mutex.unlock();
            scheduler.WaitForCounter(&counter);
            scheduler.WaitIdle();
        });
    CHECK(status == Status::Ok);
    CHECK(wasReported);
    CHECK(hook.calls.load() == 1);
    CHECK(!hook.wrong.load());
}

TEST_CASE("report InHook: a lock in a hook is reported once, even if it is woken in vain",
          "[sync][mutex]") {
    struct Hook {
        std::atomic<Mutex *> mutex{nullptr};
        std::atomic<bool> timed{false}, done{false};
        std::atomic<uint32_t> reports{0};
    } hook;
    for (const bool timed : {false, true}) {
        hook.timed.store(timed);
        hook.done.store(false);
        hook.reports.store(0);
        SchedulerOptions options = test::Options(1);
        options.trace.user = &hook;
        options.trace.kinds = TraceHooks::Bit(TraceKind::TaskEnd);
        options.trace.event = [](const TraceEvent &event, void *user) {
            Hook &self = *static_cast<Hook *>(user);
            if (event.task == nullptr || std::string(event.task) != "hooked") return;
            Mutex &mutex = *self.mutex.load();
            if (!self.timed.load()) {
                mutex.lock();
                mutex.unlock();
            } else if (mutex.try_lock_for(std::chrono::hours(1))) {
                mutex.unlock();
            }
            self.done.store(true);
        };
        options.user = &hook;
        options.onReport = [](const Report &report, void *user) {
            if (report.code == ReportCode::InHook) static_cast<Hook *>(user)->reports.fetch_add(1);
        };
        TaskScheduler scheduler(options);
        REQUIRE(scheduler.Start() == Status::Ok);
        {
            Mutex mutex(scheduler);
            hook.mutex.store(&mutex);
            mutex.lock();
            Counter counter;
            auto leaf = [](TaskScheduler *) {};
            scheduler.AddTask(MakeTask(leaf), &counter, test::Named("hooked"));
            CHECK(test::SpinUntil([&] { return hook.reports.load() != 0; }));
            // The hook waits for the lock. Each unlock notifies it, but the next lock comes first.
            for (int i = 0; i < 100 && !hook.done.load(); ++i) {
                test::Linger(50);
                mutex.unlock();
                mutex.lock();
            }
            mutex.unlock();
            scheduler.WaitForCounter(&counter);
            CHECK(test::SpinUntil([&] { return hook.done.load(); }));
            CHECK(hook.reports.load() == 1);
        }
        scheduler.Stop();
    }
}
