#include "platform/parker.h"

#include "platform/thread.h"

#include "support/spin.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using weft::env::Parker;
namespace env = weft::env;

TEST_CASE("parker: an Unpark before the Park is kept", "[parker]") {
    Parker parker;
    int parks = 0;
    for (; parks < 1000; ++parks) {
        parker.Unpark();
        parker.Park();
    }
    CHECK(parks == 1000);
}

TEST_CASE("parker: several Unparks count as one", "[parker]") {
    Parker parker;
    std::atomic<int> step{0};
    parker.Unpark();
    parker.Unpark();
    parker.Unpark();
    std::thread sleeper([&] {
        parker.Park();
        step.store(1);
        parker.Park();  // must wait for a new Unpark
        step.store(2);
    });
    CHECK(test::SpinUntil([&] { return step.load() == 1; }));
    test::Linger(2000);
    CHECK(step.load() == 1);
    parker.Unpark();
    CHECK(test::SpinUntil([&] { return step.load() == 2; }));
    sleeper.join();
}

TEST_CASE("parker: no wake-up is lost, and earlier writes are visible after it", "[parker]") {
    constexpr uint32_t kRounds = 4000;
    Parker parkers[2];
    uint32_t ball = 0;  // plain: only Unpark and Park order the accesses
    std::thread second([&] {
        for (uint32_t i = 0; i < kRounds; ++i) {
            parkers[1].Park();
            ++ball;
            parkers[0].Unpark();
        }
    });
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < kRounds; ++i) {
        ++ball;
        parkers[1].Unpark();
        parkers[0].Park();
        wrong += ball != 2 * (i + 1);
    }
    second.join();
    CHECK(wrong == 0);
}

TEST_CASE("parker: Unpark by two threads at once", "[parker]") {
    constexpr uint32_t kRounds = 10000;
    Parker parker;
    std::atomic<uint32_t> sent[2]{};
    std::thread wakers[2];
    for (int which = 0; which < 2; ++which) {
        wakers[which] = std::thread([&, which] {
            for (uint32_t i = 0; i < kRounds; ++i) {
                sent[which].fetch_add(1, std::memory_order_relaxed);
                parker.Unpark();
                if (i % 64 == 0) std::this_thread::yield();
            }
        });
    }
    uint32_t wakes = 0;
    // Each Park is ended by an Unpark that came after the latest look at `sent`. In the end all
    // Unparks have been sent.
    while (sent[0].load() + sent[1].load() < 2 * kRounds) {
        parker.Park();
        ++wakes;
    }
    for (std::thread &waker : wakers) waker.join();
    CHECK(wakes >= 1);
    CHECK(wakes <= 2 * kRounds);
}

TEST_CASE("parker: it knows which CPU the latest Unpark came from", "[parker]") {
    Parker parker;
    CHECK(parker.WakersCpu() == -1);
    for (uint32_t nth : {0u, 1u}) {
        std::thread([&] {
            if (!env::BindThreadToNth(nth)) return;
            parker.Unpark();
            CHECK(parker.WakersCpu() == env::CurrentCpu());
        }).join();
    }
}
