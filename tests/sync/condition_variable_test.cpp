#include "weft/sync/condition_variable.h"

#include "sync/mix.h"
#include "weft/sync/mutex.h"

#include <deque>
#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("ConditionVariable: a bounded queue between tasks and threads loses no item",
          "[sync][condition][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        struct Queue {
            explicit Queue(TaskScheduler &scheduler)
                : mutex(scheduler), notEmpty(scheduler), notFull(scheduler) {}
            Mutex mutex;
            ConditionVariable notEmpty, notFull;
            std::deque<uint32_t> items;
        };
        constexpr uint32_t kEach = 60, kProducers = 6;
        std::unique_ptr<Queue> queue;
        std::once_flag once;
        std::atomic<uint64_t> sum{0};
        CHECK(test::RunMixed(
            point, kProducers * 2 - 2, 2, [&](TaskScheduler &scheduler, uint32_t index) {
                std::call_once(once, [&] { queue = std::make_unique<Queue>(scheduler); });
                for (uint32_t i = 0; i < kEach; ++i) {
                    std::unique_lock<Mutex> lock(queue->mutex);
                    if (index % 2 == 0) {
                        queue->notFull.wait(lock, [&] { return queue->items.size() < 3; });
                        queue->items.push_back(i + 1);
                        lock.unlock();
                        queue->notEmpty.notify_one();
                    } else {
                        queue->notEmpty.wait(lock, [&] { return !queue->items.empty(); });
                        sum.fetch_add(queue->items.front());
                        queue->items.pop_front();
                        queue->notFull.notify_one();
                    }
                }
            }));
        CHECK(sum.load() == kProducers * (kEach * (kEach + 1) / 2));
    }
}

TEST_CASE("ConditionVariable: notify_one wakes the first waiter, notify_all the others",
          "[sync][condition][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    ConditionVariable changed(one.Scheduler());
    std::string order;
    const auto wait = [&](char name) {
        std::unique_lock<Mutex> lock(mutex);
        changed.wait(lock);
        order += name;
    };
    auto a = [&](TaskScheduler *) { wait('a'); };
    auto b = [&](TaskScheduler *) { wait('b'); };
    auto c = [&](TaskScheduler *) { wait('c'); };
    changed.notify_one();  // nobody waits yet
    one.RunUntilItWaits(a);
    one.RunUntilItWaits(b);
    one.RunUntilItWaits(c);
    one.Settle();
    CHECK(order == "");
    changed.notify_one();
    one.Settle();
    CHECK(order == "a");
    changed.notify_all();
    one.Settle();
    CHECK(order == "abc");
    CHECK(mutex.try_lock());
    mutex.unlock();
}

TEST_CASE("ConditionVariable: waits with a time-out", "[sync][condition][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    ConditionVariable changed(one.Scheduler());
    std::unique_lock<Mutex> lock(mutex);
    CHECK(changed.wait_for(lock, 1us) == std::cv_status::timeout);
    CHECK(lock.owns_lock());
    CHECK(!mutex.try_lock());
    CHECK(changed.wait_until(lock, std::chrono::system_clock::now()) == std::cv_status::timeout);
    CHECK(!changed.wait_for(lock, 1us, [] { return false; }));
    CHECK(changed.wait_for(lock, 0us, [] { return true; }));
    bool notified = false;
    auto waiter = [&](TaskScheduler *) {
        std::unique_lock<Mutex> own(mutex);
        notified = changed.wait_for(own, 1h) == std::cv_status::no_timeout;
    };
    lock.unlock();
    one.RunUntilItWaits(waiter);
    changed.notify_one();
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return notified; }));
}

TEST_CASE("ConditionVariable: a waiter that gives up takes no notification",
          "[sync][condition][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Mutex mutex(one.Scheduler());
    ConditionVariable changed(one.Scheduler());
    bool gaveUp = false, notified = false;
    auto first = [&](TaskScheduler *) {
        std::unique_lock<Mutex> lock(mutex);
        gaveUp = changed.wait_for(lock, 1us) == std::cv_status::timeout;
    };
    auto second = [&](TaskScheduler *) {
        std::unique_lock<Mutex> lock(mutex);
        changed.wait(lock);
        notified = true;
    };
    one.RunUntilItWaits(first);
    one.RunUntilItWaits(second);
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return gaveUp; }));
    changed.notify_one();
    one.Settle();
    CHECK(notified);
}

TEST_CASE("ConditionVariable: with another type of lock", "[sync][condition]") {
    test::Runner runner(test::Options(1));
    bool ready = false;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              std::mutex mutex;
              ConditionVariable changed(scheduler);
              test::Threads other(1, [&](uint32_t) {
                  std::unique_lock<std::mutex> lock(mutex);
                  changed.wait(lock, [&] { return ready; });
              });
              {
                  const std::lock_guard<std::mutex> lock(mutex);
                  ready = true;
              }
              changed.notify_all();
              other.Join();
          }) == Status::Ok);
}

TEST_CASE("ConditionVariable: the notifier destroys it before the waiter has begun to wait",
          "[sync][condition]") {
    test::Runner runner(test::Options(1));
    bool returned = false;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              struct Lock {  // its unlock is the moment when others notify
                  std::unique_ptr<ConditionVariable> changed;
                  void lock() {}
                  void unlock() {
                      changed->notify_all();
                      changed.reset();
                  }
              };
              Lock lock{std::make_unique<ConditionVariable>(scheduler)};
              lock.changed->wait(lock);
              returned = true;
          }) == Status::Ok);
    CHECK(returned);
    CHECK(test::Faults(runner.log).empty());
}

TEST_CASE("report NotRunning: a wait without a scheduler returns, and a timed one ends",
          "[sync][condition]") {
    test::Runner runner(test::Options(1));
    Mutex mutex(runner.scheduler);
    ConditionVariable changed(runner.scheduler);
    std::unique_lock<Mutex> lock(mutex);
    changed.wait(lock);
    CHECK(lock.owns_lock());
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(!changed.wait_for(lock, 1us, [] { return false; }));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 2);
    int looks = 0;
    changed.wait(lock, [&] { return ++looks == 10; });
    CHECK(lock.owns_lock());
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
    CHECK(changed.wait_for(lock, 1h, [&] { return ++looks == 20; }));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 4);
    CHECK(runner.log.Count() == 4);
    changed.notify_all();
}

TEST_CASE("report InHook: a wait for a condition in a hook is reported once", "[sync][condition]") {
    struct Hook {
        explicit Hook(TaskScheduler &scheduler) : mutex(scheduler), changed(scheduler) {}
        Mutex mutex;
        ConditionVariable changed;
        std::atomic<int> looks{0};
    };
    static std::atomic<Hook *> s_hook{nullptr};
    SchedulerOptions options = test::Options(1);
    options.trace.kinds = TraceHooks::Bit(TraceKind::TaskEnd);
    options.trace.event = [](const TraceEvent &event, void *) {
        if (event.task == nullptr || std::string(event.task) != "hooked") return;
        Hook &hook = *s_hook.load();
        std::unique_lock<Mutex> lock(hook.mutex);
        hook.changed.wait(lock, [&] { return hook.looks.fetch_add(1) == 5; });
    };
    test::Runner runner(options);
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              Hook hook(scheduler);
              s_hook.store(&hook);
              Counter counter;
              auto leaf = [](TaskScheduler *) {};
              scheduler.AddTask(MakeTask(leaf), &counter, test::Named("hooked"));
              CHECK(test::SpinUntil([&] {
                  hook.changed.notify_all();  // without the mutex, so there is no contention
                  return hook.looks.load() == 6;
              }));
              scheduler.WaitForCounter(&counter);
              const std::lock_guard<Mutex> lock(hook.mutex);  // waits until the hook has returned
          }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::InHook) == 1);
}
