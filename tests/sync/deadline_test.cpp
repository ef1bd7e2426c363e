// Waits until a time of a clock that does not run as weft::Clock does. The clock of these tests
// goes on by one step each time it is asked.
#include "weft/sync/deadline.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/data/result.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct SteppedClock {
    using rep = int64_t;
    using period = std::micro;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<SteppedClock>;
    [[maybe_unused]] static constexpr bool is_steady = false;

    static time_point now() noexcept {
        return time_point(duration(s_asked.fetch_add(1, std::memory_order_relaxed) / s_slowness));
    }
    static void Restart(int64_t slowness) {
        s_slowness = slowness;
        s_asked.store(0, std::memory_order_relaxed);
    }
    static int64_t Asked() { return s_asked.load(std::memory_order_relaxed); }

private:
    static inline std::atomic<int64_t> s_asked{0};
    static inline int64_t s_slowness = 1;
};

constexpr SteppedClock::time_point At(int64_t step) {
    return SteppedClock::time_point(SteppedClock::duration(step));
}

constexpr SteppedClock::time_point kFifth = At(5);

// The objects that somebody waits for. Open lets all waits succeed.
struct Objects {
    explicit Objects(TaskScheduler &its)
        : scheduler(its), event(its), semaphore(its), mutex(its), shared(its), changed(its) {
        mutex.lock();
        shared.lock();
    }
    void Open() {
        event.Set();
        semaphore.release(2);
        mutex.unlock();
        shared.unlock();
        isOpen.store(true);
        changed.notify_all();
        result.Set(scheduler, 1);
    }
    TaskScheduler &scheduler;
    Event event;
    Semaphore semaphore;
    Mutex mutex;
    SharedMutex shared;
    ConditionVariable changed;
    Result<int> result;
    std::atomic<bool> isOpen{false};
};

struct Lockable {  // a lock that protects nothing
    void lock() {}
    void unlock() {}
};

struct Wait {
    const char *name;
    bool (*until)(Objects &, SteppedClock::time_point);  // returns false if the time passes first
};
using Time = SteppedClock::time_point;
const Wait kWaits[] = {
    {"Event", [](Objects &all, Time time) { return all.event.WaitUntil(time); }},
    {"events",
     [](Objects &all, Time time) {
         Event *const events[] = {&all.event};
         return WaitForAnyUntil(all.scheduler, events, time) == 0;
     }},
    {"Semaphore", [](Objects &all, Time time) { return all.semaphore.try_acquire_until(time); }},
    {"semaphores",
     [](Objects &all, Time time) {
         Semaphore *const semaphores[] = {&all.semaphore};
         return WaitForAnyUntil(all.scheduler, semaphores, time) == 0;
     }},
    {"Mutex",
     [](Objects &all, Time time) {
         const bool got = all.mutex.try_lock_until(time);
         if (got) all.mutex.unlock();
         return got;
     }},
    {"SharedMutex",
     [](Objects &all, Time time) {
         const bool got = all.shared.try_lock_until(time);
         if (got) all.shared.unlock();
         return got;
     }},
    {"SharedMutex, shared",
     [](Objects &all, Time time) {
         const bool got = all.shared.try_lock_shared_until(time);
         if (got) all.shared.unlock_shared();
         return got;
     }},
    {"ConditionVariable",
     [](Objects &all, Time time) {
         Lockable lock;
         return all.changed.wait_until(lock, time) == std::cv_status::no_timeout;
     }},
    {"ConditionVariable with a condition",
     [](Objects &all, Time time) {
         Lockable lock;
         return all.changed.wait_until(lock, time, [&] { return all.isOpen.load(); });
     }},
    {"Result", [](Objects &all, Time time) { return all.result.WaitUntil(all.scheduler, time); }},
};

}  // namespace

TEST_CASE("deadlines: a wait with another clock times out only when that clock says so",
          "[sync][time][result]") {
    for (const Wait &wait : kWaits) {
        for (bool inTask : {true, false}) {
            INFO(wait.name << (inTask ? ", task" : ", external thread"));
            test::Runner runner(test::Options(1));
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            Objects objects(runner.scheduler);
            SteppedClock::Restart(1);
            bool passed = true;
            auto call = [&](TaskScheduler *) { passed = wait.until(objects, kFifth); };
            if (inTask) {
                Counter done;
                runner.scheduler.AddTask(MakeTask(call), &done);
                runner.scheduler.WaitForCounter(&done);
            } else {
                call(nullptr);
            }
            CHECK(!passed);
            CHECK(SteppedClock::now() > kFifth);
            objects.Open();
            runner.scheduler.Stop();
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("deadlines: a wait with a clock that hardly goes on still ends with its event",
          "[sync][time][result]") {
    for (const Wait &wait : kWaits) {
        for (bool inTask : {true, false}) {
            INFO(wait.name << (inTask ? ", task" : ", external thread"));
            test::Runner runner(test::Options(1));
            REQUIRE(runner.scheduler.Start() == Status::Ok);
            Objects objects(runner.scheduler);
            SteppedClock::Restart(1'000'000'000);
            std::atomic<bool> passed{false};
            auto call = [&](TaskScheduler *) { passed.store(wait.until(objects, At(1))); };
            Counter done;
            test::Threads opener(1, [&](uint32_t) {
                test::SpinUntil([] { return SteppedClock::Asked() >= 4; });
                objects.Open();
            });
            if (inTask) {
                runner.scheduler.AddTask(MakeTask(call), &done);
                runner.scheduler.WaitForCounter(&done);
            } else {
                call(nullptr);
            }
            opener.Join();
            runner.scheduler.Stop();
            CHECK(passed.load());
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("deadlines: a waiter keeps its place in line when it asks its clock again",
          "[sync][time][fair]") {
    SchedulerOptions options = test::Options(1);
    options.stallMilliseconds = 60'000;  // this thread may lose its CPU between two calls
    test::Runner runner(options);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    Semaphore semaphore(runner.scheduler);
    SteppedClock::Restart(1'000'000'000);
    std::atomic<uint32_t> order{0};
    uint32_t firstIs = 0, secondIs = 0;
    auto first = [&](TaskScheduler *) {
        if (semaphore.try_acquire_until(At(1))) firstIs = order.fetch_add(1) + 1;
    };
    auto second = [&](TaskScheduler *) {
        semaphore.acquire();
        secondIs = order.fetch_add(1) + 1;
    };
    Counter done;
    runner.scheduler.AddTask(MakeTask(first), &done);
    CHECK(test::SpinUntil([] { return SteppedClock::Asked() >= 2; }));  // it is in line
    runner.scheduler.AddTask(MakeTask(second), &done);
    const int64_t asked = SteppedClock::Asked();
    CHECK(test::SpinUntil([&] { return SteppedClock::Asked() >= asked + 3; }));
    semaphore.release();
    CHECK(test::SpinUntil([&] { return order.load() == 1; }));
    semaphore.release();
    runner.scheduler.WaitForCounter(&done);
    runner.scheduler.Stop();
    CHECK(firstIs == 1);
    CHECK(secondIs == 2);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("deadlines: a time that another clock has passed already does not wait", "[sync][time]") {
    test::Runner runner(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    Objects objects(runner.scheduler);
    for (const Wait &wait : kWaits) {
        INFO(wait.name);
        SteppedClock::Restart(1);
        CHECK(!wait.until(objects, At(-1)));
        CHECK(!wait.until(objects, Time::min()));
    }
    objects.Open();
    runner.scheduler.Stop();
    CHECK(runner.log.Text() == "");
}
