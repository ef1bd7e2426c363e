#include "core/timers.h"

#include "support/private_members.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace test {

struct NotedAt {
    friend constexpr auto Member(NotedAt);
};
template struct Reveal<NotedAt, &Timers::m_notedAt>;

}  // namespace test

namespace {

constexpr uint64_t kHour = 3'600'000'000'000;

void Set(Timers &timers, Timer &timer, uint64_t deadline) {
    timers.SetIf(timer, deadline, [] { return true; });
}
Timer *TakeAnyDue(Timers &timers, uint64_t now) {
    return timers.TakeDue(now, [](const Timer &) { return true; });
}

}  // namespace

TEST_CASE("timers: the earliest deadline comes first, equal ones in the order of Set", "[timers]") {
    Timers timers;
    CHECK(timers.Next() == Timers::kNever);
    CHECK_FALSE(timers.MayBeDue());
    Timer timer[5];
    const uint64_t deadlines[5] = {30, 10, 20, 10, 40}, next[5] = {30, 10, 10, 10, 10};
    for (int i = 0; i < 5; ++i) {
        Set(timers, timer[i], deadlines[i]);
        CHECK(timers.Next() == next[i]);
        CHECK(timers.DeadlineOf(timer[i]) == deadlines[i]);
    }
    CHECK(timers.MayBeDue());  // the clock is past this deadline
    CHECK(TakeAnyDue(timers, 9) == nullptr);
    std::vector<Timer *> order;
    while (Timer *const due = TakeAnyDue(timers, 30)) order.push_back(due);
    CHECK(order == std::vector<Timer *>{&timer[1], &timer[3], &timer[2], &timer[0]});
    CHECK(timers.DeadlineOf(timer[0]) == Timers::kNever);
    CHECK(timers.Next() == 40);
    CHECK(timers.Clear(timer[4]));
    CHECK(timers.Next() == Timers::kNever);
    CHECK_FALSE(timers.MayBeDue());
}

TEST_CASE("timers: a cleared timer is not taken, and a taken one cannot be cleared", "[timers]") {
    Timers timers;
    Timer first, second;
    Set(timers, first, 10);
    Set(timers, second, 20);
    CHECK(timers.Clear(first));
    CHECK_FALSE(timers.Clear(first));
    CHECK(timers.Next() == 20);
    REQUIRE(TakeAnyDue(timers, 100) == &second);
    CHECK_FALSE(timers.Clear(second));
    CHECK(TakeAnyDue(timers, 100) == nullptr);
    Set(timers, second, 5);  // its owner may set it again at once
    CHECK(timers.Next() == 5);
    CHECK(timers.Clear(second));
}

TEST_CASE("timers: SetIf takes the timer back if `begin` fails", "[timers]") {
    Timers timers;
    Timer first, second;
    Set(timers, second, 20);
    CHECK_FALSE(timers.SetIf(first, 10, [&] {
        CHECK(timers.Next() == 10);
        return false;
    }));
    CHECK(timers.Next() == 20);
    CHECK(timers.DeadlineOf(first) == Timers::kNever);
    CHECK(TakeAnyDue(timers, 100) == &second);
    CHECK(TakeAnyDue(timers, 100) == nullptr);
}

TEST_CASE("timers: TakeDue drops timers that nobody claims", "[timers]") {
    Timers timers;
    Timer timer[3];
    for (uint32_t i = 0; i < 3; ++i) {
        timer[i].owner = i;
        Set(timers, timer[i], 10 + 10 * i);
    }
    std::vector<uint32_t> asked;
    CHECK(timers.TakeDue(100, [&](const Timer &due) {
        asked.push_back(due.owner);
        return due.owner == 1;
    }) == &timer[1]);
    CHECK(asked == std::vector<uint32_t>{0, 1});
    CHECK_FALSE(timers.Clear(timer[0]));
    CHECK(timers.Next() == 30);
    CHECK(timers.Clear(timer[2]));
}

TEST_CASE("timers: ForEach visits each timer that is set", "[timers]") {
    Timers timers;
    Timer timer[3];
    for (uint32_t i = 0; i < 3; ++i) Set(timers, timer[i], 1u << i);
    CHECK(timers.Clear(timer[1]));
    uint64_t sum = 0;
    timers.ForEach([&](const Timer &its) { sum += its.deadline; });
    CHECK(sum == 1 + 4);
}

TEST_CASE("timers: MayBeDue is false while all deadlines are in the far future", "[timers]") {
    Timers timers;
    Timer far, farther;
    Set(timers, far, weft::env::Now() + kHour);
    CHECK_FALSE(timers.MayBeDue());
    Set(timers, farther, Timers::kNever - 1);
    CHECK(timers.Clear(far));
    CHECK_FALSE(timers.MayBeDue());  // the estimate ends in an hour, not before
    CHECK(timers.Clear(farther));
}

TEST_CASE("timers: MayBeDue is true after the ticks were reset, until TakeDue notes them again",
          "[timers]") {
    Timers timers;
    Timer timer;
    Set(timers, timer, weft::env::Now() + kHour);
    auto &notedAt = timers.*Member(test::NotedAt());
    notedAt.store(notedAt.load() + 1'000'000'000'000);  // they were far higher before
    CHECK(timers.MayBeDue());
    CHECK(TakeAnyDue(timers, weft::env::Now()) == nullptr);
    CHECK_FALSE(timers.MayBeDue());
    CHECK(timers.Clear(timer));
}

TEST_CASE("timers: with several threads each timer is either taken or cleared", "[timers]") {
    Timers timers;
    std::atomic<uint32_t> taken{0};
    std::atomic<bool> stop{false};
    uint32_t cleared = 0, set = 0;
    std::thread taker([&] {
        while (!stop.load()) {
            if (TakeAnyDue(timers, weft::env::Now()) != nullptr) taken.fetch_add(1);
        }
    });
    for (uint32_t round = 0; round < 2000; ++round) {
        Timer timer[4];
        const uint32_t before = taken.load();
        uint32_t clearedNow = 0;
        for (uint32_t i = 0; i < 4; ++i, ++set)
            Set(timers, timer[i], weft::env::Now() + uint64_t{i} * 100);
        for (Timer &each : timer) clearedNow += timers.Clear(each);
        cleared += clearedNow;
        while (taken.load() - before != 4 - clearedNow) std::this_thread::yield();
    }
    stop.store(true);
    taker.join();
    CHECK(set == 8000);
    CHECK(taken.load() + cleared == set);
    CHECK(timers.Next() == Timers::kNever);
}
