#include "core/timers.h"

#include "support/threads.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

void Count(void *, void *owner) { ++*static_cast<uint32_t *>(owner); }

}  // namespace

TEST_CASE("timers: the earliest deadline comes first, equal ones in the order of Set", "[timers]") {
    Timers timers;
    CHECK(timers.Next() == Timers::kNever);
    CHECK_FALSE(timers.MayBeDue());
    Timer timer[5];
    uint32_t owner[5] = {};
    const uint64_t deadlines[5] = {30, 10, 20, 10, 40};
    std::vector<bool> earliest;
    for (int i = 0; i < 5; ++i)
        earliest.push_back(timers.Set(timer[i], deadlines[i], {Count, &owner[i]}));
    CHECK(earliest == std::vector<bool>{true, true, false, false, false});
    CHECK(timers.Next() == 10);
    CHECK(timers.MayBeDue());  // the clock is past this deadline
    Expiry expiry;
    std::vector<void *> order;
    CHECK_FALSE(timers.TakeDue(9, expiry));
    while (timers.TakeDue(30, expiry)) order.push_back(expiry.owner);
    CHECK(order == std::vector<void *>{&owner[1], &owner[3], &owner[2], &owner[0]});
    CHECK(timers.Next() == 40);
    CHECK(timers.Clear(timer[4]));
    CHECK(timers.Next() == Timers::kNever);
    CHECK_FALSE(timers.MayBeDue());
}

TEST_CASE("timers: a cleared timer does not expire, and an expired one cannot be cleared",
          "[timers]") {
    Timers timers;
    Timer first, second;
    uint32_t a = 0, b = 0;
    timers.Set(first, 10, {Count, &a});
    timers.Set(second, 20, {Count, &b});
    CHECK(timers.Clear(first));
    CHECK_FALSE(timers.Clear(first));
    CHECK(timers.Next() == 20);
    Expiry expiry;
    REQUIRE(timers.TakeDue(100, expiry));
    CHECK(expiry.owner == &b);
    CHECK_FALSE(timers.Clear(second));
    CHECK_FALSE(timers.TakeDue(100, expiry));
    CHECK(timers.Set(second, 5, {Count, &a}));  // its owner may set it again at once
    CHECK(timers.Next() == 5);
    CHECK(timers.Clear(second));
}

TEST_CASE("timers: MayBeDue is false while all deadlines are in the far future", "[timers]") {
    Timers timers;
    Timer far, farther;
    const uint64_t hour = 3'600'000'000'000;
    timers.Set(far, weft::env::Now() + hour, {Count, nullptr});
    CHECK_FALSE(timers.MayBeDue());
    timers.Set(farther, Timers::kNever - 1, {Count, nullptr});
    CHECK(timers.Clear(far));
    CHECK_FALSE(timers.MayBeDue());  // the estimate ends in an hour, not before
    CHECK(timers.Clear(farther));
}

TEST_CASE("timers: MayBeDue is true after the ticks were reset", "[timers]") {
    Timers timers;
    Timer timer;
    timers.Set(timer, weft::env::Now() + 1'000'000'000, {Count, nullptr});
    const uint64_t ticks = weft::env::Ticks();
    const auto second = static_cast<uint64_t>(weft::env::TicksPerMicrosecond() * 1e6);
    CHECK_FALSE(timers.MayBeDue(ticks));
    CHECK_FALSE(timers.MayBeDue(ticks + second / 2));
    CHECK(timers.MayBeDue(ticks + second));
    CHECK(timers.MayBeDue(ticks - second));
    CHECK(timers.MayBeDue(0));
    Expiry expiry;
    CHECK_FALSE(timers.TakeDue(weft::env::Now(), expiry));  // notes the ticks again
    CHECK_FALSE(timers.MayBeDue());
    CHECK(timers.Clear(timer));
}

TEST_CASE("timers: TakeIf removes a timer of a kind, and the next deadline is right", "[timers]") {
    Timers timers;
    Timer timer[4];
    const TimerKind kinds[4] = {TimerKind::Task, TimerKind::Sleep, TimerKind::Task,
                                TimerKind::Wait};
    const auto isTask = [](const Timer &its) { return its.expiry.kind == TimerKind::Task; };
    CHECK(timers.TakeIf(isTask) == nullptr);
    for (uint32_t i = 0; i < 4; ++i) timers.Set(timer[i], 10 * i + 10, {Count, nullptr, kinds[i]});
    CHECK(timers.TakeIf(isTask) == &timer[0]);
    CHECK(timers.Next() == 20);
    CHECK(timers.TakeIf(isTask) == &timer[2]);
    CHECK(timers.TakeIf(isTask) == nullptr);
    CHECK_FALSE(timers.Clear(timer[2]));
    uint64_t sum = 0;
    timers.ForEach([&](const Timer &its) { sum += its.deadline; });
    CHECK(sum == 20 + 40);
    CHECK_FALSE(timers.IsOnly(timer[1]));
    CHECK(timers.Clear(timer[1]));
    CHECK(timers.IsOnly(timer[3]));
    CHECK_FALSE(timers.IsOnly(timer[1]));
    CHECK(timers.Clear(timer[3]));
    CHECK_FALSE(timers.IsOnly(timer[3]));
}

TEST_CASE("timers: with several threads each timer either expires or is cleared", "[timers]") {
    Timers timers;
    std::atomic<uint32_t> told{0};
    std::atomic<bool> stop{false};
    uint32_t cleared = 0, set = 0;
    std::thread context([&] {
        Expiry expiry;
        while (!stop.load()) {
            if (timers.TakeDue(weft::env::Now(), expiry))
                static_cast<std::atomic<uint32_t> *>(expiry.owner)->fetch_add(1);
        }
    });
    const auto count = [](void *, void *) {};
    for (uint32_t round = 0; round < 2000; ++round) {
        Timer timer[4];
        const uint32_t before = told.load();
        uint32_t clearedNow = 0;
        for (uint32_t i = 0; i < 4; ++i, ++set)
            timers.Set(timer[i], weft::env::Now() + i * 100, {count, &told});
        for (Timer &each : timer) clearedNow += timers.Clear(each);
        cleared += clearedNow;
        while (told.load() - before != 4 - clearedNow) std::this_thread::yield();
    }
    stop.store(true);
    context.join();
    CHECK(set == 8000);
    CHECK(told.load() + cleared == set);
    CHECK(timers.Next() == Timers::kNever);
}
