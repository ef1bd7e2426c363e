#include "weft/sync/gates.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("OrderedGate: visitors pass in the order of their numbers", "[gates]") {
    TaskScheduler scheduler;
    OrderedGate gate(scheduler);
    Waiter first, second, third, fourth;
    CHECK(!gate.Enter(third, 2));
    CHECK(!gate.Enter(second, 1));
    CHECK(gate.Enter(first, 0));
    CHECK(!gate.Enter(fourth, 3));
    CHECK(gate.Leave(0) == &second);
    CHECK(gate.Leave(1) == &third);
    CHECK(gate.Leave(2) == &fourth);
    CHECK(gate.Leave(3) == nullptr);
    CHECK(gate.Enter(first, 4));
    CHECK(!gate.Enter(second, 6));
    CHECK(gate.Leave(4) == nullptr);  // the visitor 5 has not come
    CHECK(gate.Enter(third, 5));
    CHECK(gate.Leave(5) == &second);
    CHECK(gate.Leave(6) == nullptr);
}

TEST_CASE("OrderedGate: gives out numbers in order", "[gates]") {
    TaskScheduler scheduler;
    OrderedGate gate(scheduler);
    for (uint32_t i = 0; i < 10; ++i) CHECK(gate.TakeNumber() == i);
}

TEST_CASE("OrderedGate: threads pass one at a time, and nobody is lost", "[gates]") {
    TaskScheduler scheduler;
    OrderedGate gate(scheduler);
    constexpr uint32_t kEach = 20000;
    std::vector<Waiter> visitors(2 * kEach);
    uint32_t passed = 0;  // plain: ThreadSanitizer reports two threads inside
    std::atomic<uint32_t> wrong{0};
    {
        test::Threads threads(2, [&](uint32_t) {
            for (uint32_t i = 0; i < kEach; ++i) {
                uint32_t number = gate.TakeNumber();
                if (!gate.Enter(visitors[number], number)) continue;
                for (;;) {
                    wrong += passed++ != number;
                    const Waiter *next = gate.Leave(number);
                    if (next == nullptr) break;
                    number = static_cast<uint32_t>(next - visitors.data());
                }
            }
        });
    }
    CHECK(wrong == 0);
    CHECK(passed == 2 * kEach);
}

TEST_CASE("FreePlaces: the reader comes to the next task that asks", "[gates]") {
    TaskScheduler scheduler;
    FreePlaces places(scheduler);
    Waiter first, second;
    CHECK(!places.GiveBack(first));         // no mark: the place is free
    CHECK(places.OfferReader());            // a helper is to be submitted
    CHECK(places.GiveBack(second));         // this task comes before the helper
    CHECK(!places.OfferReader());           // that helper has not begun
    CHECK(places.BeginHelper() == &first);  // no place is free now
    CHECK(!places.OfferReader());
    CHECK(places.GiveBack(first));
    CHECK(!places.GiveBack(second));
    CHECK(places.OfferReader());
    CHECK(places.GiveBack(first));
    CHECK(places.BeginHelper() == nullptr);  // another task is the reader
    CHECK(places.OfferReader());
}

TEST_CASE("Seats: the reader that found no seat comes with the next one", "[gates]") {
    Seats seats(1);
    CHECK(seats.Take());
    CHECK(!seats.Take());
    CHECK(seats.GiveBack());
    CHECK(!seats.GiveBack());
    CHECK(!seats.GiveBack());
    CHECK(seats.Take());
    CHECK(seats.Take());
    CHECK(!seats.Take());
}

TEST_CASE("SlotLists: each slot is given out once, to any worker", "[gates]") {
    test::Runner runner(test::Options(3));
    constexpr uint32_t kSlots = 50;
    FreeSlot slots[kSlots];
    uint32_t found = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        SlotLists lists(scheduler);
        CHECK(lists.TakeOwn() == nullptr);
        CHECK(lists.TakeAny() == nullptr);
        test::Batch give(kSlots, [&](TaskScheduler &, uint32_t i) { lists.GiveBack(slots[i]); });
        scheduler.AddTasksAndWait(give.Count(), give.Tasks());
        std::vector<uint32_t> taken(kSlots);
        while (FreeSlot *slot = lists.TakeAny()) found += ++taken[slot - slots] == 1;
        lists.GiveBack(slots[7]);
        CHECK(lists.TakeOwn() == &slots[7]);
    }) == Status::Ok);
    CHECK(found == kSlots);
}
