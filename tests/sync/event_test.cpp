#include "weft/sync/event.h"

#include "sync/mix.h"

#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("Event: manual, earlier and later waiters pass and see earlier writes",
          "[sync][event][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        int plain = 0;
        std::atomic<uint32_t> wrong{0}, passed{0};
        std::unique_ptr<Event> event;
        std::once_flag once;
        CHECK(test::RunMixed(point, 20, 3, [&](TaskScheduler &scheduler, uint32_t index) {
            std::call_once(once, [&] { event = std::make_unique<Event>(scheduler); });
            if (index == 10) {
                plain = 1;
                event->Set();
            }
            event->Wait();
            if (plain != 1) wrong.fetch_add(1);
            passed.fetch_add(1);
        }));
        CHECK(wrong.load() == 0);
        CHECK(passed.load() == 23);
    }
}

TEST_CASE("Event: auto, each Set releases exactly one waiter, in order",
          "[sync][event][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Event event(one.Scheduler(), EventReset::Auto);
    std::string order;
    auto a = [&](TaskScheduler *) { event.Wait(), order += 'a'; };
    auto b = [&](TaskScheduler *) { event.Wait(), order += 'b'; };
    one.RunUntilItWaits(a);
    one.RunUntilItWaits(b);
    event.Set();
    CHECK(!event.IsSet());  // the signal belongs to `a` already
    CHECK(!event.TryWait());
    one.Settle();
    CHECK(order == "a");
    event.Set();
    one.Settle();
    CHECK(order == "ab");
    event.Set();
    event.Set();  // has no effect, because the event is set
    CHECK(event.IsSet());
    CHECK(event.TryWait());
    CHECK(!event.TryWait());
}

TEST_CASE("Event: auto, a producer and a consumer in turns", "[sync][event]") {
    int plain = 0;
    std::unique_ptr<Event> full, empty;
    std::once_flag once;
    CHECK(test::RunMixed({2, 128, 32, IdlePolicy::Balanced}, 1, 1,
                         [&](TaskScheduler &scheduler, uint32_t index) {
                             std::call_once(once, [&] {
                                 full = std::make_unique<Event>(scheduler, EventReset::Auto);
                                 empty = std::make_unique<Event>(scheduler, EventReset::Auto, true);
                             });
                             for (int i = 0; i < 500; ++i) {
                                 (index == 0 ? *empty : *full).Wait();
                                 ++plain;
                                 (index == 0 ? *full : *empty).Set();
                             }
                         }));
    CHECK(plain == 1000);
}

TEST_CASE("Event: Reset, and waits with a time-out", "[sync][event][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    Event event(one.Scheduler(), EventReset::Manual, true);
    CHECK(event.IsSet());
    CHECK(event.WaitFor(0s));
    event.Wait();
    event.Reset();
    CHECK(!event.IsSet());
    CHECK(!event.TryWait());
    CHECK(!event.WaitFor(1us));
    CHECK(!event.WaitUntil(std::chrono::steady_clock::now()));
    CHECK(!event.WaitUntil(std::chrono::system_clock::now() - 1h));
    bool passed = false;
    auto waiter = [&](TaskScheduler *) { passed = event.WaitFor(1h); };
    one.RunUntilItWaits(waiter);
    event.Set();
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return passed; }));
}

TEST_CASE("Event: a waiter may destroy it before Set has returned", "[sync][event]") {
    test::Runner runner(test::Options(2));
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              for (int i = 0; i < 2000; ++i) {
                  auto event = std::make_unique<Event>(scheduler);
                  Event *const set = event.get();
                  auto waiter = [&](TaskScheduler *) {
                      event->Wait();
                      event.reset();
                  };
                  Counter counter;
                  scheduler.AddTask(MakeTask(waiter), &counter);
                  test::Linger(i % 3);
                  set->Set();
                  scheduler.WaitForCounter(&counter);
              }
          }) == Status::Ok);
    CHECK(test::Faults(runner.log) == "");
}
