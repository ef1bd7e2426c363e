#include "weft/sync/semaphore.h"

#include "sync/mix.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/shared_mutex.h"

#include <limits>
#include <memory>
#include <mutex>
#include <type_traits>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("Semaphore: never more owners than permits", "[sync][semaphore][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> inside{0}, tooMany{0}, passed{0};
        std::unique_ptr<Semaphore> semaphore;
        std::once_flag once;
        CHECK(test::RunMixed(point, 20, 2, [&](TaskScheduler &scheduler, uint32_t) {
            std::call_once(once, [&] { semaphore = std::make_unique<Semaphore>(scheduler, 3); });
            for (uint32_t i = 0; i < 30; ++i) {
                semaphore->acquire();
                if (inside.fetch_add(1) >= 3) tooMany.fetch_add(1);
                if (scheduler.CurrentWorker() != kAnyWorker) scheduler.Yield();
                inside.fetch_sub(1);
                passed.fetch_add(1);
                semaphore->release();
            }
        }));
        CHECK(tooMany.load() == 0);
        CHECK(passed.load() == 22 * 30);
    }
}

TEST_CASE("Semaphore: writes before release are visible after acquire", "[sync][semaphore]") {
    for (int round = 0; round < 50; ++round) {
        int plain = 0;
        std::unique_ptr<Semaphore> full, empty;
        std::once_flag once;
        CHECK(test::RunMixed({2, 128, 32, IdlePolicy::Balanced}, 1, 1,
                             [&](TaskScheduler &scheduler, uint32_t index) {
                                 std::call_once(once, [&] {
                                     full = std::make_unique<Semaphore>(scheduler);
                                     empty = std::make_unique<Semaphore>(scheduler, 1);
                                 });
                                 for (int i = 0; i < 50; ++i) {
                                     (index == 0 ? *empty : *full).acquire();
                                     ++plain;
                                     (index == 0 ? *full : *empty).release();
                                 }
                             }));
        CHECK(plain == 100);
    }
}

TEST_CASE("Semaphore: several permits wake as many waiters, in order",
          "[sync][semaphore][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Semaphore semaphore(one.Scheduler());
    std::string order;
    const auto pass = [&](char name) {
        semaphore.acquire();
        order += name;
    };
    auto a = [&](TaskScheduler *) { pass('a'); };
    auto b = [&](TaskScheduler *) { pass('b'); };
    auto c = [&](TaskScheduler *) { pass('c'); };
    one.RunUntilItWaits(a);
    one.RunUntilItWaits(b);
    one.RunUntilItWaits(c);
    semaphore.release(2);
    one.Settle();
    CHECK(order == "ab");
    semaphore.release(0);
    one.Settle();
    CHECK(order == "ab");
    semaphore.release(3);
    one.Settle();
    CHECK(order == "abc");
    CHECK(semaphore.try_acquire());
    CHECK(semaphore.try_acquire_for(1ms));
    CHECK(!semaphore.try_acquire());
    CHECK(!semaphore.try_acquire_for(1us));
    CHECK(!semaphore.try_acquire_until(std::chrono::system_clock::now()));
}

TEST_CASE("deadlines beyond the range of the clock become its end, or have passed",
          "[sync][time]") {
    using internal::DeadlineAfter, internal::DeadlineAt;
    using std::chrono::hours, std::chrono::system_clock, std::chrono::time_point;
    constexpr Clock::time_point kEnd = Clock::time_point::max();
    const Clock::time_point soon = Now() + hours(1);
    CHECK(DeadlineAfter(hours::max()) == kEnd);
    CHECK(DeadlineAfter(Clock::duration::max()) == kEnd);
    CHECK(DeadlineAfter(hours::min()) < soon);
    CHECK(DeadlineAt(system_clock::time_point::max()) == kEnd);
    CHECK(DeadlineAt(system_clock::time_point::min()) < soon);
    CHECK(DeadlineAt(time_point<system_clock, hours>::max()) == kEnd);
    CHECK(DeadlineAt(time_point<system_clock, hours>::min()) < soon);
    CHECK(DeadlineAt(time_point<Clock, hours>::max()) == kEnd);
    CHECK(DeadlineAt(time_point<Clock, hours>::min()) < soon);
    CHECK(DeadlineAt(kEnd) == kEnd);
    CHECK(DeadlineAt(soon) == soon);
    const auto later = DeadlineAt(system_clock::now() + hours(1));
    CHECK(later > soon - std::chrono::minutes(30));
    CHECK(later < soon + std::chrono::minutes(30));
}

TEST_CASE("report BadOption: a wait for a time that is not a number does not wait",
          "[sync][time]") {
    using Seconds = std::chrono::duration<double>;
    using Later = std::chrono::time_point<std::chrono::system_clock, Seconds>;
    using Soon = std::chrono::time_point<Clock, std::chrono::duration<float>>;
    const Seconds nan(std::numeric_limits<double>::quiet_NaN());
    test::Runner runner(test::Options(1));
    size_t waits = 0, wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Semaphore semaphore(scheduler);
        Event event(scheduler);
        Mutex mutex(scheduler);
        SharedMutex shared(scheduler);
        ConditionVariable changed(scheduler);
        mutex.lock();
        shared.lock();
        const auto check = [&](bool passed) {
            ++waits;
            wrong += passed || runner.log.CountOf(ReportCode::BadOption) != waits;
        };
        check(semaphore.try_acquire_for(nan));
        check(semaphore.try_acquire_until(Later(nan)));
        check(event.WaitFor(nan));
        check(event.WaitUntil(Later(nan)));
        check(event.WaitUntil(Soon(std::chrono::duration<float>(nan))));
        check(mutex.try_lock_for(-nan));
        check(mutex.try_lock_until(Later(nan)));
        check(shared.try_lock_for(nan));
        check(shared.try_lock_until(Later(nan)));
        check(shared.try_lock_shared_for(nan));
        check(shared.try_lock_shared_until(Later(nan)));
        check(changed.wait_for(mutex, nan) == std::cv_status::no_timeout);
        check(changed.wait_until(mutex, Later(nan), [] { return false; }));
        shared.unlock();
        mutex.unlock();
    }) == Status::Ok);
    CHECK(waits == 13);
    CHECK(wrong == 0);
    CHECK(runner.log.Count() == waits);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "NaN"));
}

TEST_CASE("deadlines: infinity never comes, and minus infinity has passed", "[sync][time]") {
    using Seconds = std::chrono::duration<double>;
    const Seconds infinite(std::numeric_limits<double>::infinity());
    test::Runner runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    const Clock::time_point end = Clock::time_point::max(), soon = Now() + 1h;
    using internal::DeadlineAfter, internal::DeadlineAt;
    CHECK(DeadlineAfter(scheduler, infinite) == end);
    CHECK(DeadlineAfter(scheduler, -infinite) < soon);
    CHECK(DeadlineAt(scheduler, std::chrono::time_point<Clock, Seconds>(infinite)) == end);
    CHECK(DeadlineAt(scheduler, std::chrono::time_point<Clock, Seconds>(-infinite)) < soon);
    using Later = std::chrono::time_point<std::chrono::system_clock, Seconds>;
    CHECK(DeadlineAt(scheduler, Later(infinite)) == end);
    CHECK(DeadlineAt(scheduler, Later(-infinite)) < soon);
    bool passed = false, atOnce = true;
    CHECK(runner.Run([&](TaskScheduler &running) {
        Event event(running);
        atOnce = event.WaitFor(-infinite);
        auto set = [&](TaskScheduler *) { event.Set(); };
        running.AddTask(MakeTask(set));
        passed = event.WaitFor(infinite);
    }) == Status::Ok);
    CHECK(passed);
    CHECK(!atOnce);
    // weft/time.h takes whole numbers only
    CHECK(!std::is_convertible_v<Seconds, Clock::duration>);
}

TEST_CASE("Semaphore: a waiter is overtaken exactly kMaxOvertakes times",
          "[sync][semaphore][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Semaphore semaphore(one.Scheduler());
    bool passed = false;
    auto waiter = [&](TaskScheduler *) {
        semaphore.acquire();
        passed = true;
    };
    one.RunUntilItWaits(waiter);
    uint32_t overtakings = 0;
    semaphore.release();
    while (overtakings <= Semaphore::kMaxOvertakes && semaphore.try_acquire()) {
        ++overtakings;
        semaphore.release();
    }
    CHECK(overtakings == Semaphore::kMaxOvertakes);
    CHECK(!passed);
    one.Settle();
    CHECK(passed);
    CHECK(!semaphore.try_acquire());
}

TEST_CASE("Semaphore: the second waiter gets the permit that the first one has left",
          "[sync][semaphore][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Semaphore semaphore(one.Scheduler());
    bool passed = false;
    auto waiter = [&](TaskScheduler *) {
        semaphore.acquire();
        passed = true;
    };
    one.RunUntilItWaits(waiter);
    semaphore.release(2);
    for (uint32_t i = 0; i < Semaphore::kMaxOvertakes; ++i) {
        REQUIRE(semaphore.try_acquire());
        semaphore.release();
    }
    CHECK(!semaphore.try_acquire());
    bool got = false;
    // On its own thread. This thread runs no task meanwhile.
    std::thread([&] { got = semaphore.try_acquire_for(10s); }).join();
    CHECK(got);
    CHECK(!passed);
    one.Settle();
    CHECK(passed);
}

TEST_CASE("report BadOption: a semaphore with more than kMax permits",
          "[sync][semaphore][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Semaphore full(one.Scheduler(), Semaphore::kMax);
    CHECK(one.Log().Count() == 0);
    full.release();
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 1);
    CHECK(full.try_acquire());
    full.release(2);
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 2);
    full.release(~0u);
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 3);
    full.release();
    Semaphore over(one.Scheduler(), Semaphore::kMax + 1);
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 4);
}
