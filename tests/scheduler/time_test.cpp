#include "weft/time.h"

#include "core/counter_word.h"
#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/deferred.h"
#include "weft/external_work.h"

#include <atomic>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using weft::internal::CounterAccess;
using weft::internal::CounterWord;

TEST_CASE("SleepFor: never too short, and other tasks run meanwhile", "[time][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> early{0}, slept{0}, ran{0};
        test::Batch sleepers(6, [&](TaskScheduler &scheduler, uint32_t i) {
            const Clock::time_point end = Now() + microseconds(i * 200);
            if (i % 2 == 0) {
                SleepUntil(scheduler, end);
            } else {
                SleepFor(scheduler, microseconds(i * 200));
            }
            if (Now() < end) early.fetch_add(1);
            slept.fetch_add(1);
        });
        test::Batch others(50, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(6, sleepers.Tasks(), &counter);
            scheduler.AddTasks(50, others.Tasks(), &counter);
            SleepFor(scheduler, microseconds(300));
            scheduler.WaitForCounter(&counter);
        });
        CHECK(slept.load() == 6);
        CHECK(ran.load() == 50);
        CHECK(early.load() == 0);
    }
}

TEST_CASE("SleepUntil: times in the past and negative durations return at once", "[time]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        SleepUntil(scheduler, Clock::time_point::min());
        SleepUntil(scheduler, Now() - hours(1));
        SleepFor(scheduler, Clock::duration::min());
        SleepFor(scheduler, Clock::duration::zero());
    }) == Status::Ok);
    SleepFor(runner.scheduler, Clock::duration::min());  // needs no scheduler
    CHECK(runner.log.Text() == "");
}

TEST_CASE("WaitForCounterFor: the deadline comes first", "[time][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter(2);
            for (int round = 0; round < 10; ++round) {
                const Clock::time_point begin = Now();
                if (WaitForCounterFor(scheduler, &counter, microseconds(100), round % 2)) ++wrong;
                if (Now() - begin < microseconds(100)) ++wrong;
            }
            if (counter.Value() != 2) ++wrong;
            if (!WaitForCounterFor(scheduler, &counter, hours(1), 2)) ++wrong;
            scheduler.DecrementCounter(&counter, 2);
            scheduler.WaitForCounter(&counter);  // the timed waits have left no record
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("WaitForCounterUntil: the counter comes first, and all counted writes are visible",
          "[time][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        uint32_t wrong = 0;
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 30; ++round) {
                Counter counter;
                uint32_t sums[8] = {};
                test::Batch batch(8, [&](TaskScheduler &running, uint32_t i) {
                    if (i % 3 == 0) running.Yield();
                    sums[i] = i + round;
                });
                scheduler.AddTasks(8, batch.Tasks(), &counter);
                if (!WaitForCounterUntil(scheduler, &counter, Now() + hours(1))) ++wrong;
                for (uint32_t i = 0; i < 8; ++i) wrong += sums[i] != i + round;
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("WaitForAnyUntil: the deadline comes first, or one of the counters", "[time]") {
    for (const bool byTask : {true, false}) {
        uint32_t answers[5] = {9, 9, 9, 9, 9};
        Clock::time_point deadline, after;
        Counter busy[2] = {Counter(1), Counter(1)}, later(1);
        auto wait = [&](TaskScheduler &scheduler) {
            Counter *const counters[3] = {&busy[0], &busy[1], &later};
            deadline = Now() + milliseconds(3);
            answers[0] = WaitForAnyUntil(scheduler, 3, counters, deadline);
            after = Now();
            auto lower = [&](TaskScheduler *) { scheduler.DecrementCounter(&later); };
            scheduler.AddTask(MakeTask(lower));
            answers[1] = WaitForAnyUntil(scheduler, 3, counters, Now() + hours(1));
            answers[2] = WaitForAnyUntil(scheduler, 3, counters, Clock::time_point::min());
            answers[3] = WaitForAnyUntil(scheduler, 2, counters, Clock::time_point::min());
            std::vector<Counter *> many(2000, &busy[0]);
            Counter soon(1);
            many.back() = &soon;
            auto lowerSoon = [&](TaskScheduler *) {
                const auto isWaitedFor = [&] {
                    return CounterWord{CounterAccess::Word(soon).load(std::memory_order_relaxed)}
                               .Head() != 0;
                };
                test::YieldUntil(scheduler, isWaitedFor);
                scheduler.DecrementCounter(&soon);
            };
            scheduler.AddTask(MakeTask(lowerSoon));
            // After this wait there are 2,048 wait records.
            answers[4] = scheduler.WaitForAny(2000, many.data());
            many.back() = &busy[0];
            std::optional<test::FailingAllocation> failing(0);
            for (int round = 0; round < 4; ++round) {
                if (WaitForAnyUntil(scheduler, 2000, many.data(), Now() + microseconds(50)) != 2000)
                    answers[0] = 8;
            }
            failing.reset();
            for (Counter &counter : busy) scheduler.DecrementCounter(&counter);
        };
        test::RunQuietly(test::Options(2), [&](TaskScheduler &scheduler) {
            if (byTask) return wait(scheduler);
            const ExternalWork outside(scheduler);
            std::thread thread([&] { wait(scheduler); });
            for (Counter &counter : busy) scheduler.WaitForCounter(&counter);
            thread.join();
        });
        CHECK(answers[0] == 3);
        CHECK(after >= deadline);
        CHECK(answers[1] == 2);
        CHECK(answers[2] == 2);
        CHECK(answers[3] == 2);  // neither of the two
        CHECK(answers[4] == 1999);
    }
}

TEST_CASE("WaitForCounterFor gives its records back", "[time]") {
    uint32_t wrong = 0;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter counter(1);
        const test::FailingAllocation failing(0);  // there are 64 wait records
        for (uint32_t round = 0; round < 500; ++round) {
            if (WaitForCounterFor(scheduler, &counter, microseconds(20))) ++wrong;
        }
        scheduler.DecrementCounter(&counter);
    });
    CHECK(wrong == 0);
}

TEST_CASE("WaitForCounterUntil: with a deadline in the past it only polls", "[time]") {
    bool zero = false, one = true;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter counter(1);
        one = WaitForCounterUntil(scheduler, &counter, Clock::time_point::min());
        scheduler.DecrementCounter(&counter);
        zero = WaitForCounterFor(scheduler, &counter, Clock::duration::min());
    });
    CHECK(zero);
    CHECK_FALSE(one);
}

TEST_CASE("WaitForCounterUntil: with a deadline in the past it checks after urgent tasks have run",
          "[time][one_worker]") {
    bool reached = false;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter counter(1), done;
        test::Batch lower(
            1, [&](TaskScheduler &running, uint32_t) { running.DecrementCounter(&counter); });
        scheduler.AddTask(lower[0], &done, test::kHigh);
        reached = WaitForCounterUntil(scheduler, &counter, Clock::time_point::min());
        scheduler.WaitForCounter(&done);
    });
    CHECK(reached);
}

TEST_CASE("WaitForCounterFor: deadlines and decrements at the same time", "[time]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers << " workers");
        std::atomic<uint32_t> ended{0}, inTime{0};
        constexpr uint32_t kRounds = 300, kWaiters = 6;
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < kRounds; ++round) {
                Counter counter(2), done;
                test::Batch waiters(kWaiters, [&](TaskScheduler &running, uint32_t i) {
                    const bool satisfied = WaitForCounterFor(
                        running, &counter, microseconds(5 + (round + i) % 40), i % 2);
                    inTime.fetch_add(satisfied);
                    ended.fetch_add(1);
                });
                test::Batch lowers(2, [&](TaskScheduler &running, uint32_t i) {
                    SleepFor(running, microseconds((round * 7 + i) % 50));
                    running.DecrementCounter(&counter);
                });
                scheduler.AddTasks(kWaiters, waiters.Tasks(), &done);
                scheduler.AddTasks(2, lowers.Tasks(), &done);
                scheduler.WaitForCounter(&done);
            }
        });
        CHECK(ended.load() == kRounds * kWaiters);
        CHECK(inTime.load() <= ended.load());
    }
}

// The thread is held inside the host's allocator. While the worker sleeps, there are not enough
// blocks for so many tasks.
TEST_CASE("deadlines do not wait for a thread that stays inside a call", "[time]") {
    struct Stay {
        std::atomic<std::thread::id> who{};
        std::atomic<bool> inside{false}, due{false}, inTime{false};
    } stay;
    SchedulerOptions options = test::Options(1, 160, IdlePolicy::Sleep);
    options.memory.user = &stay;
    options.memory.allocate = [](size_t bytes, size_t alignment, void *user) {
        Stay &here = *static_cast<Stay *>(user);
        if (here.who.load() == std::this_thread::get_id() && !here.inside.exchange(true)) {
            here.inTime.store(test::SpinUntil([&] { return here.due.load(); }));
        }
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    };
    options.memory.release = [](void *memory, size_t, size_t alignment, void *) {
        ::operator delete(memory, std::align_val_t(alignment));
    };
    test::Started runner(options);
    std::atomic<uint32_t> ran{0};
    uint32_t rounds = 0;  // more than one if the worker did not sleep
    test::Batch many(5000, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    runner.scheduler.WaitIdle();  // now the worker is about to sleep
    test::Threads thread(1, [&](uint32_t) {
        stay.who.store(std::this_thread::get_id());
        for (; rounds < 1000 && !stay.inside.load(); ++rounds)
            runner.scheduler.AddTasks(many.Count(), many.Tasks());
    });
    const bool isInside = test::SpinUntil([&] { return stay.inside.load(); });
    test::Batch due(1, [&](TaskScheduler &, uint32_t) { stay.due.store(true); });
    // Within this time the worker finds nothing and sleeps.
    AddTaskAt(runner.scheduler, Now() + milliseconds(20), due[0]);
    thread.Join();
    runner.StopQuietly();
    CHECK(isInside);
    CHECK(stay.inTime.load());
    CHECK(ran.load() == rounds * 5000);
}

TEST_CASE("time: an external thread waits with a deadline", "[time]") {
    test::Started runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    Counter counter(1);
    Clock::time_point begin = Now();
    CHECK_FALSE(WaitForCounterFor(scheduler, &counter, milliseconds(2)));
    CHECK(Now() - begin >= milliseconds(2));
    begin = Now();
    SleepFor(scheduler, milliseconds(2));
    CHECK(Now() - begin >= milliseconds(2));
    test::Batch lower(1, [&](TaskScheduler &running, uint32_t) {
        SleepFor(running, microseconds(200));
        running.DecrementCounter(&counter);
    });
    scheduler.AddTasks(1, lower.Tasks());
    CHECK(WaitForCounterFor(scheduler, &counter, hours(1)));
    CHECK(counter.IsZero());
    std::atomic<uint32_t> ended{0};
    Counter shared(1);
    test::Threads threads(4, [&](uint32_t i) {
        for (uint32_t round = 0; round < 50; ++round) {
            WaitForCounterFor(scheduler, &shared, microseconds((round + i) % 30), i % 2);
            ended.fetch_add(1);
        }
    });
    for (uint32_t round = 0; round < 200; ++round) {
        scheduler.DecrementCounter(&shared);
        scheduler.IncrementCounter(&shared);
    }
    threads.Join();
    CHECK(ended.load() == 200);
    scheduler.DecrementCounter(&shared);
    scheduler.WaitForCounter(&shared);
    runner.StopQuietly();
}

TEST_CASE("no workers: an attached thread handles deadlines", "[time][single][one_worker]") {
    test::Attached runner(test::Options(0));
    TaskScheduler &scheduler = runner.scheduler;
    std::vector<uint32_t> order;
    test::Batch sleepers(3, [&](TaskScheduler &running, uint32_t i) {
        SleepFor(running, milliseconds(3 - i));
        order.push_back(i);
    });
    Counter counter;
    scheduler.AddTasks(3, sleepers.Tasks(), &counter);
    CHECK_FALSE(WaitForCounterFor(scheduler, &counter, microseconds(10)));
    scheduler.WaitForCounter(&counter);
    CHECK(order.size() == 3);
    SleepFor(scheduler, microseconds(100));
    runner.StopQuietly();
}

TEST_CASE("time: wrong calls are reported", "[time]") {
    test::Runner runner(test::Options(1));
    Counter counter(1);
    CHECK_FALSE(WaitForCounterFor(runner.scheduler, nullptr, microseconds(1)));
    CHECK(test::Names(runner.log.Text(), "WaitForCounterUntil: null counter"));
    CHECK_FALSE(WaitForCounterFor(runner.scheduler, &counter, microseconds(1)));
    CHECK(test::Names(runner.log.Text(),
                      "WaitForCounterUntil was called while the scheduler does not run"));
}

TEST_CASE("WaitForCounterUntil: false for a counter of another scheduler", "[time]") {
    test::Runner outer(test::Options(1)), inner(test::Options(1));
    Counter counter;
    bool byTask = true, byThread = true;
    Status started = Status::BadOption;
    CHECK(outer.Run([&](TaskScheduler &scheduler) {
        scheduler.IncrementCounter(&counter);
        started = inner.scheduler.Start();
        test::Batch task(1, [&](TaskScheduler &other, uint32_t) {
            byTask = WaitForCounterFor(other, &counter, milliseconds(1));
        });
        inner.scheduler.AddTasksAndWait(1, task.Tasks());
        byThread = WaitForCounterFor(inner.scheduler, &counter, milliseconds(1));
        inner.scheduler.Stop();
        scheduler.DecrementCounter(&counter);
    }) == Status::Ok);
    CHECK(started == Status::Ok);
    CHECK_FALSE(byTask);
    CHECK_FALSE(byThread);
    CHECK(inner.log.Count() == 2);
    CHECK(inner.log.CountOf(ReportCode::WrongScheduler) == 2);
    CHECK(outer.log.Text() == "");
}

TEST_CASE("WaitForAny and timed waits do not affect waiters of another scheduler", "[time]") {
    test::Runner ours(test::Options(1)), others(test::Options(1));
    Counter counters[2], zero;
    TaskScheduler *const schedulers[2] = {&ours.scheduler, &others.scheduler};
    std::atomic<uint32_t> began{0}, wentOn{0};
    test::Batch waiters(6, [&](TaskScheduler &scheduler, uint32_t i) {
        began.fetch_add(1);
        scheduler.WaitForCounter(&counters[i / 3]);
        wentOn.fetch_add(1);
    });
    uint32_t first = 9;
    bool reached = true;
    std::optional<ExternalWork> outside[2];
    test::Batch nothing(1, [](TaskScheduler &, uint32_t) {});
    test::Batch wrong(1, [&](TaskScheduler &scheduler, uint32_t) {
        Counter *const any[2] = {&zero, &counters[1]};
        first = scheduler.WaitForAny(2, any);
        reached = WaitForCounterFor(scheduler, &counters[1], milliseconds(1));
    });
    for (uint32_t i = 0; i < 2; ++i) {
        REQUIRE(schedulers[i]->Start() == Status::Ok);
        outside[i].emplace(*schedulers[i]);
        schedulers[i]->IncrementCounter(&counters[i]);
        schedulers[i]->AddTasks(3, waiters.Tasks() + 3 * i);
        CHECK(test::SpinUntil([&] { return began.load() == 3 * (i + 1); }));
        // The only worker runs this task after all three tasks have begun to wait.
        schedulers[i]->AddTasksAndWait(1, nothing.Tasks());
    }
    ours.scheduler.AddTasksAndWait(1, wrong.Tasks());
    for (uint32_t i = 0; i < 2; ++i) {
        schedulers[i]->DecrementCounter(&counters[i]);
        CHECK(test::SpinUntil([&] { return wentOn.load() == 3 * (i + 1); }));
        outside[i].reset();
        schedulers[i]->Stop();
    }
    CHECK(first == 0);
    CHECK_FALSE(reached);
    CHECK(ours.log.CountOf(ReportCode::WrongScheduler) == 1);
    CHECK(ours.log.Count() == 1);
    CHECK(others.log.Text() == "");
}
