#include "weft/sync/ticket_queue.h"

#include "sync/mix.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("TicketQueue: whatever the order of the tasks, the turns are in the tickets' order", "[sync][ticket][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        constexpr uint32_t kAll = 43;
        std::vector<uint32_t> order;  // plain: the turns order it
        std::unique_ptr<TicketQueue> queue;
        std::vector<Ticket> tickets(kAll);
        std::once_flag once;
        CHECK(test::RunMixed(point, kAll - 3, 3, [&](TaskScheduler &scheduler, uint32_t index) {
            std::call_once(once, [&] {
                queue = std::make_unique<TicketQueue>(scheduler);
                for (Ticket &ticket : tickets) ticket = queue->Take();
            });
            const uint32_t mine = (index * 17) % kAll;
            if (index % 3 != 0) tickets[mine].Wait();
            if (index % 3 == 0) {
                const Ticket copy = tickets[mine];
                copy.Wait();
            }
            order.push_back(mine);
            tickets[mine].Done();
        }));
        REQUIRE(order.size() == kAll);
        CHECK(std::is_sorted(order.begin(), order.end()));
    }
}

TEST_CASE("TicketQueue: all copies of a ticket wait for the same turn", "[sync][ticket][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TicketQueue queue(one.Scheduler());
    const Ticket first = queue.Take(), second = queue.Take(), third = queue.Take();
    std::string order;
    auto early = [&](TaskScheduler *) { third.Wait(), order += 'c'; };
    auto late = [&](TaskScheduler *) { second.Wait(), order += 'b'; };
    one.RunUntilItWaits(early);
    one.RunUntilItWaits(late);
    one.RunUntilItWaits(late);
    CHECK(first.IsTurn());
    CHECK(!second.IsTurn());
    first.Done();
    one.Settle();
    CHECK(order == "bb");
    CHECK(second.IsTurn());
    second.Done();
    one.Settle();
    CHECK(order == "bbc");
    CHECK(first.IsTurn());  // it has been
    third.Done();
}

TEST_CASE("TicketQueue: Done waits for its turn", "[sync][ticket][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TicketQueue queue(one.Scheduler());
    const Ticket first = queue.Take(), second = queue.Take(), third = queue.Take();
    bool isDone = false;
    auto skip = [&](TaskScheduler *) {
        second.Done();
        isDone = true;
    };
    one.RunUntilItWaits(skip);
    CHECK(!isDone);
    first.Done();
    one.Settle();
    CHECK(isDone);
    CHECK(third.IsTurn());
    third.Done();
}

TEST_CASE("report WrongThread: a ticket that is done twice; it has no effect", "[sync][ticket][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TicketQueue queue(one.Scheduler());
    const Ticket first = queue.Take(), second = queue.Take(), third = queue.Take();
    first.Done();
    first.Done();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 1);
    CHECK(second.IsTurn());
    CHECK(!third.IsTurn());
    second.Done();
    third.Done();
    CHECK(one.Log().Count() == 1);
    const Ticket none;
    CHECK(none.IsTurn());
    none.Wait();
    none.Done();
}
