#include "weft/sync/ticket_queue.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include "support/failing_allocation.h"
#include "support/submitters.h"
#include "sync/mix.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("TicketQueue: turns come in the order of the tickets, not of the tasks",
          "[sync][ticket][grid]") {
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

TEST_CASE("TicketQueue: all copies of a ticket wait for the same turn",
          "[sync][ticket][one_worker]") {
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
    CHECK(first.IsTurn());  // its turn has come before
    third.Done();
}

TEST_CASE("TicketQueue: Done waits for the ticket's turn", "[sync][ticket][one_worker]") {
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

TEST_CASE("report WrongThread: Done twice for one ticket; it has no effect",
          "[sync][ticket][one_worker]") {
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

namespace {

// A batch of tasks. Each of them submits a task that waits for its turn.
void CheckTasksInTurn(uint32_t workers, test::Submitter submitter) {
    constexpr uint32_t kTickets = 1000;
    test::ReportLog log;
    SchedulerOptions options = test::Options(workers);
    options.fibers = workers + 2;
    log.AttachTo(options);
    TaskScheduler scheduler(options);
    TicketQueue order(scheduler);
    struct Chunk {
        Ticket ticket;
        QueuedTask turn;
    };
    std::vector<Chunk> chunks(kTickets);
    for (Chunk &chunk : chunks) chunk.ticket = order.Take();
    std::vector<uint32_t> done;  // plain: the turns order it
    Counter written;
    test::Batch write(kTickets, [&](TaskScheduler &, uint32_t i) {
        done.push_back(i);
        chunks[i].ticket.Done();
    });
    std::atomic<uint32_t> refused{0};
    test::Batch batch(kTickets, [&](TaskScheduler &, uint32_t i) {
        if (!order.AddTask(chunks[i].ticket, chunks[i].turn, write[i], &written))
            refused.fetch_add(1);
    });
    test::RunBatch(scheduler, submitter, kTickets, batch.Tasks(), &written);
    CHECK(refused.load() == 0);
    REQUIRE(done.size() == kTickets);
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(log.Text() == "");
}

}  // namespace

TEST_CASE("TicketQueue: a thousand tasks wait for their turns without a stack", "[sync][ticket]") {
    const uint32_t workers = GENERATE(1u, 2u, 8u);
    const test::Submitter submitter =
        GENERATE(test::Submitter::Main, test::Submitter::HeldUp, test::Submitter::Outside);
    INFO(workers << " workers, submitter " << static_cast<int>(submitter));
    CheckTasksInTurn(workers, submitter);
}

TEST_CASE("TicketQueue: without memory for a wait record AddTask waits for the turn itself",
          "[sync][ticket]") {
    constexpr uint32_t kTickets = 70;  // there are 64 wait records at first
    test::Runner runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    TicketQueue queue(scheduler);
    const Ticket first = queue.Take();
    std::vector<Ticket> tickets(kTickets);
    for (Ticket &ticket : tickets) ticket = queue.Take();
    std::vector<QueuedTask> turns(kTickets);
    std::vector<uint32_t> order;  // plain: the turns order it
    order.reserve(kTickets);
    Counter done;
    test::Batch batch(kTickets, [&](TaskScheduler &, uint32_t i) {
        order.push_back(i);
        tickets[i].Done();
    });
    // As many tasks at once as below. So the tasks themselves need no new memory later.
    test::Batch nothing(kTickets, [](TaskScheduler &, uint32_t) {});
    TaskOptions onFirst;
    onFirst.worker = 0;
    std::atomic<bool> isReady{false};
    auto keepBusy = [&](TaskScheduler *) {
        while (!isReady.load()) std::this_thread::yield();
    };
    scheduler.AddTask(MakeTask(keepBusy), &done, onFirst);
    for (uint32_t i = 0; i < 2 * kTickets; ++i)
        scheduler.AddTask(nothing[i % kTickets], &done, onFirst);
    isReady.store(true);
    scheduler.WaitForCounter(&done);
    // Tasks for a time need an object each, but no wait record. So only the records end below.
    std::vector<DeferredHandle> timed(kTickets);
    for (uint32_t i = 0; i < kTickets; ++i)
        REQUIRE(
            AddTaskAt(scheduler, Now() + std::chrono::hours(1), nothing[i], &done, {}, &timed[i]));
    for (const DeferredHandle &handle : timed) REQUIRE(Withdraw(scheduler, handle));
    scheduler.WaitForCounter(&done);

    std::thread late([&] {
        while (runner.log.CountOf(ReportCode::OutOfMemory) == 0) std::this_thread::yield();
        first.Done();
    });
    uint32_t accepted = 0;
    {
        const test::FailingAllocation failing(0);
        for (uint32_t i = 0; i < kTickets; ++i)
            accepted += queue.AddTask(tickets[i], turns[i], batch[i], &done);
    }
    late.join();
    scheduler.WaitForCounter(&done);
    scheduler.Stop();
    CHECK(accepted == kTickets);
    CHECK(order.size() == kTickets);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(runner.log.CountOf(ReportCode::OutOfMemory) == 1);
    // A worker may have reported a stall before.
    CHECK(runner.log.Count() == 1 + runner.log.CountOf(ReportCode::Stalled));
}

TEST_CASE("TicketQueue: a refused task leaves the order as it was", "[sync][ticket][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TicketQueue queue(one.Scheduler());
    const Ticket first = queue.Take(), second = queue.Take(), third = queue.Take();
    QueuedTask turn, last;
    std::string order;
    auto two = [&](TaskScheduler *) { order += 'b', second.Done(); };
    auto three = [&](TaskScheduler *) { order += 'c', third.Done(); };
    for (const bool isTurn : {false, true}) {
        INFO(isTurn);
        if (isTurn) first.Done();
        CHECK(!queue.AddTask(second, turn, Task{}));
        CHECK(one.Log().CountOf(ReportCode::NullTask) == (isTurn ? 2u : 1u));
    }
    CHECK(queue.AddTask(third, last, MakeTask(three)));
    one.Settle();
    CHECK(order == "");
    CHECK(queue.AddTask(second, turn, MakeTask(two)));
    one.Settle();
    CHECK(order == "bc");
    CHECK(one.Log().Count() == 2);
}

TEST_CASE("TicketQueue: a task for another queue's ticket is refused, and a waiter can be reused",
          "[sync][ticket][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    TicketQueue queue(one.Scheduler()), other(one.Scheduler());
    const Ticket first = queue.Take(), second = queue.Take(), third = queue.Take();
    QueuedTask turn;
    std::string order;
    auto early = [&](TaskScheduler *) { order += 'b'; };
    auto late = [&](TaskScheduler *) { order += 'c', third.Done(); };
    CHECK(!other.AddTask(second, turn, MakeTask(early)));
    CHECK(!other.AddTask(Ticket(), turn, MakeTask(early)));
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 2);
    CHECK(queue.AddTask(second, turn, MakeTask(early)));
    CHECK(!queue.AddTask(third, turn, MakeTask(late)));
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 3);
    one.Settle();
    CHECK(order == "");
    first.Done();
    one.Settle();
    CHECK(order == "b");
    CHECK(queue.AddTask(third, turn, MakeTask(late)));
    one.Settle();
    CHECK(order == "b");
    second.Done();
    one.Settle();
    CHECK(order == "bc");
}
