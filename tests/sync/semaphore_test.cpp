#include "weft/sync/semaphore.h"

#include "sync/mix.h"
#include "weft/data/task_group.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/shared_mutex.h"

#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

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
        CHECK(test::RunMixed({2, 160, IdlePolicy::Balanced}, 1, 1,
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

TEST_CASE("Semaphore: a wait for the first of several takes one permit",
          "[sync][semaphore][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TaskScheduler &scheduler = one.Scheduler();
    Semaphore a(scheduler), b(scheduler, 1), c(scheduler, 1);
    Semaphore *const all[] = {&a, &b, &c};
    // permits already: of the first one, and only one
    CHECK(WaitForAny(scheduler, all) == 1);
    CHECK(!b.try_acquire());
    CHECK(WaitForAny(scheduler, all) == 2);
    CHECK(WaitForAnyFor(scheduler, all, 0s) == 3);
    CHECK(WaitForAnyFor(scheduler, all, 1us) == 3);
    CHECK(WaitForAnyUntil(scheduler, all, std::chrono::system_clock::now()) == 3);
    // permits later
    uint32_t got = 9;
    auto wait = [&](TaskScheduler *) { got = WaitForAny(scheduler, all); };
    for (uint32_t i : {0u, 1u, 2u}) {
        one.RunUntilItWaits(wait);
        all[i]->release();
        CHECK(!all[i]->try_acquire());  // it is given away at once
        all[(i + 1) % 3]->release();    // too late
        one.Settle();
        CHECK(got == i);
        CHECK(!all[i]->try_acquire());
        CHECK(all[(i + 1) % 3]->try_acquire());
        CHECK(!all[(i + 1) % 3]->try_acquire());
    }
    CHECK(one.Log().Text() == "");
}

TEST_CASE("Semaphore: a waiter behind a wait for several gets the permit that it does not take",
          "[sync][semaphore][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TaskScheduler &scheduler = one.Scheduler();
    Semaphore a(scheduler), b(scheduler);
    Semaphore *const both[] = {&a, &b};
    std::string order;
    auto any = [&](TaskScheduler *) { order += WaitForAny(scheduler, both) == 0 ? 'a' : 'b'; };
    auto later = [&](TaskScheduler *) { b.acquire(), order += 'B'; };
    one.RunUntilItWaits(any);
    one.RunUntilItWaits(later);
    a.release();
    b.release();  // the first in line has been told by `a` and does not take it
    one.Settle();
    CHECK((order == "aB" || order == "Ba"));
    b.release();  // if the check has failed: so that the test ends
    CHECK(b.try_acquire());
    CHECK(one.Log().Text() == "");
}

TEST_CASE("Semaphore: overtakings of a wait that is over do not count against the next waiter",
          "[sync][semaphore][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TaskScheduler &scheduler = one.Scheduler();
    Semaphore a(scheduler), b(scheduler);
    Semaphore *const both[] = {&a, &b};
    auto any = [&](TaskScheduler *) { WaitForAny(scheduler, both); };
    auto later = [&](TaskScheduler *) { b.acquire(); };
    one.RunUntilItWaits(any);
    a.release();  // ends the wait, but it is still in line for b
    b.release();
    for (uint32_t i = 0; i < 10; ++i) {
        REQUIRE(b.try_acquire());
        b.release();
    }
    CHECK(b.try_acquire());
    one.Settle();
    one.RunUntilItWaits(later);
    b.release();
    uint32_t overtakings = 0;
    while (overtakings <= Semaphore::kMaxOvertakes && b.try_acquire()) {
        ++overtakings;
        b.release();
    }
    CHECK(overtakings == Semaphore::kMaxOvertakes);
    one.Settle();
    CHECK(one.Log().Text() == "");
}

TEST_CASE("Semaphore: permits of waits for several, of single waits and of tasks are not lost",
          "[sync][semaphore][grid]") {
    constexpr uint32_t kPermits = 2, kRounds = 30;
    struct Tasks {
        QueuedTask places[kRounds];
    };
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::unique_ptr<Semaphore> semaphores[2];
        std::unique_ptr<Tasks[]> tasks(new Tasks[20]);
        std::once_flag once;
        std::atomic<int> inside[2] = {{0}, {0}};
        std::atomic<uint32_t> tooMany{0}, passed{0}, late{0};
        const auto use = [&](uint32_t which) {
            if (inside[which].fetch_add(1) >= static_cast<int>(kPermits)) tooMany.fetch_add(1);
            passed.fetch_add(1);
            inside[which].fetch_sub(1);
            semaphores[which]->release();
        };
        test::Batch queued(2, [&](TaskScheduler &, uint32_t which) { use(which); });
        CHECK(test::RunMixed(point, 18, 2, [&](TaskScheduler &scheduler, uint32_t index) {
            std::call_once(once, [&] {
                for (auto &each : semaphores)
                    each = std::make_unique<Semaphore>(scheduler, kPermits);
            });
            Semaphore *const both[] = {semaphores[0].get(), semaphores[1].get()};
            Counter done;
            for (uint32_t i = 0; i < kRounds; ++i) {
                const uint32_t which = (index + i) % 2;
                switch (index % 3) {
                    case 0:
                        both[which]->acquire();
                        use(which);
                        break;
                    case 1:
                        both[which]->AddTask(tasks[index].places[i], queued[which], &done);
                        break;
                    default: {
                        uint32_t got = 2;
                        while (i % 4 == 0 && got == 2) {
                            got = WaitForAnyFor(scheduler, both, 20us);
                            late.fetch_add(got == 2);
                        }
                        if (got == 2) got = WaitForAny(scheduler, both);
                        use(got);
                    }
                }
            }
            scheduler.WaitForCounter(&done);
        }));
        CHECK(tooMany.load() == 0);
        CHECK(passed.load() == 20 * kRounds);
        for (const auto &semaphore : semaphores) {
            for (uint32_t i = 0; i < kPermits; ++i) CHECK(semaphore->try_acquire());
            CHECK(!semaphore->try_acquire());
        }
    }
}

TEST_CASE("Semaphore: ten thousand tasks wait for permits without a stack", "[sync][semaphore]") {
    constexpr uint32_t kTasks = 10000, kPermits = 3;
    const uint32_t workers = GENERATE(1u, 2u);
    SchedulerOptions options = test::Options(workers);
    options.fibers = workers + 2;
    test::Runner runner(options);
    Semaphore semaphore(runner.scheduler);
    std::vector<QueuedTask> places(kTasks);
    std::atomic<uint32_t> inside{0}, tooMany{0}, accepted{0}, done{0};
    test::Batch batch(kTasks, [&](TaskScheduler &, uint32_t) {
        if (inside.fetch_add(1) >= kPermits) tooMany.fetch_add(1);
        done.fetch_add(1);
        inside.fetch_sub(1);
        semaphore.release();
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter all;
        for (uint32_t i = 0; i < kTasks; ++i)
            accepted += semaphore.AddTask(places[i], batch[i], &all);
        CHECK(all.Value() == kTasks);
        CHECK(done.load() == 0);
        semaphore.release(kPermits);
        scheduler.WaitForCounter(&all);
    }) == Status::Ok);
    CHECK(accepted.load() == kTasks);
    CHECK(done.load() == kTasks);
    CHECK(tooMany.load() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Semaphore: tasks and waits get permits in the order in which they came",
          "[sync][semaphore][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TaskScheduler &scheduler = one.Scheduler();
    Semaphore semaphore(scheduler);
    QueuedTask places[2];
    std::string order;
    auto first = [&](TaskScheduler *) { order += 'a'; };
    auto second = [&](TaskScheduler *) { semaphore.acquire(), order += 'b'; };
    auto third = [&](TaskScheduler *) { order += 'c'; };
    CHECK(semaphore.AddTask(places[0], MakeTask(first)));
    one.RunUntilItWaits(second);
    CHECK(semaphore.AddTask(places[1], MakeTask(third)));
    for (const char *expected : {"a", "ab", "abc"}) {
        semaphore.release();
        one.Settle();
        CHECK(order == expected);
    }
    // a permit is free: the task takes it
    semaphore.release();
    CHECK(semaphore.AddTask(places[0], MakeTask(first)));
    CHECK(!semaphore.try_acquire());
    one.Settle();
    CHECK(order == "abca");
    CHECK(one.Log().Text() == "");
}

TEST_CASE("Semaphore: a refused task takes no permit and leaves the line",
          "[sync][semaphore][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TaskScheduler &scheduler = one.Scheduler();
    Semaphore semaphore(scheduler);
    QueuedTask place, other;
    TaskGroup group(scheduler);
    TaskOptions grouped;
    grouped.taskGroup = &group;
    uint32_t ran = 0;
    auto task = [&](TaskScheduler *) { ++ran; };
    CHECK(!semaphore.AddTask(place, MakeTask(task), nullptr, grouped));
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 1);
    CHECK(!semaphore.AddTask(place, Task{}));
    CHECK(one.Log().CountOf(ReportCode::NullTask) == 1);
    semaphore.release();
    CHECK(!semaphore.AddTask(place, Task{}));
    CHECK(one.Log().CountOf(ReportCode::NullTask) == 2);
    CHECK(semaphore.try_acquire());
    CHECK(!semaphore.try_acquire());
    // a place that is in use, and the same place after that
    CHECK(semaphore.AddTask(place, MakeTask(task)));
    CHECK(!semaphore.AddTask(place, MakeTask(task)));
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 2);
    semaphore.release();
    one.Settle();
    CHECK(ran == 1);
    CHECK(semaphore.AddTask(place, MakeTask(task)));
    one.Settle();
    CHECK(ran == 1);
    semaphore.release();
    one.Settle();
    CHECK(ran == 2);
    CHECK(one.Log().Count() == 4);
}

TEST_CASE("report NotRunning: a task for a permit before the run, and its place is used again",
          "[sync][semaphore]") {
    test::Runner runner(test::Options(1));
    Semaphore semaphore(runner.scheduler, 1);
    QueuedTask place;
    uint32_t ran = 0;
    auto task = [&](TaskScheduler *) { ++ran, semaphore.release(); };
    CHECK(!semaphore.AddTask(place, MakeTask(task)));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) > 0);
    CHECK(semaphore.try_acquire());
    CHECK(!semaphore.AddTask(place, MakeTask(task)));
    semaphore.release();
    const uint32_t reports = runner.log.Count();
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        for (uint32_t i = 0; i < 2; ++i) {
            CHECK(semaphore.AddTask(place, MakeTask(task), &counter));
            scheduler.WaitForCounter(&counter);
        }
    }) == Status::Ok);
    CHECK(ran == 2);
    CHECK(semaphore.try_acquire());
    CHECK(runner.log.Count() == reports);
}

TEST_CASE("report BadOption, WrongScheduler: a wait for several semaphores that cannot be right",
          "[sync][semaphore]") {
    test::Runner runner(test::Options(1)), other(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    Semaphore good(scheduler, 1), foreign(other.scheduler);
    CHECK(WaitForAny(scheduler, {&good, nullptr}) == 2);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
    CHECK(WaitForAny(scheduler, {&good, &foreign}) == 2);
    CHECK(runner.log.CountOf(ReportCode::WrongScheduler) == 1);
    CHECK(runner.log.Count() == 2);
    // not running: it does not wait, or polls
    CHECK(WaitForAny(scheduler, {&good}) == 0);
    CHECK(WaitForAnyFor(scheduler, {&good}, 1us) == 1);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
}
