// Tickets: turns in a fixed order.
#include "fuzz/script.h"
#include "fuzz/shared.h"

#include <mutex>

namespace fuzz {

using namespace weft;

namespace {

struct Turn {
    Ticket ticket;
    uint32_t number;
    std::atomic<uint32_t> *done;
};

void TakingTurn(TaskScheduler *scheduler, void *arg) {
    const Turn turn = *static_cast<Turn *>(static_cast<Cell *>(arg)->target);
    Leaf(scheduler, arg);
    turn.ticket.Wait();
    Require(turn.done->fetch_add(1) == turn.number, "a ticket's turn came too early");
    turn.ticket.Done();
}

}  // namespace

// Takes a ticket of the queue that all scripts share.
void Script::UseTickets() {
    const uint32_t how = m_bytes.Below(3);
    if (!m_mayWait) return Require(Ticket().IsTurn(), "no ticket has to wait");
    if (how == 2) return UseOwnTickets();
    Shared &shared = *m_world.shared;
    Ticket ticket;
    uint32_t number;
    {
        const std::lock_guard<std::mutex> lock(shared.ticketOrder);
        ticket = shared.tickets.Take();
        number = shared.taken++;
    }
    Inside();
    if (how == 1) ticket.Wait();
    ticket.Wait();
    Require(ticket.IsTurn() && shared.done == number, "a ticket's turn came too early");
    Inside();
    Require(shared.done++ == number, "two tickets had their turn");
    ticket.Done();
}

// A queue of the script's own. The script has the first and the last ticket. Tasks, which are
// submitted in another order, have the others.
void Script::UseOwnTickets() {
    const Spares spares(m_world, 3);
    const uint32_t count = spares.Count(), order = m_bytes.Next();
    Cell *cells = m_world.NewCells(count);
    if (cells == nullptr) return;
    Turn turns[3];
    std::atomic<uint32_t> done{0};
    Counter counter;
    {
        TicketQueue queue(m_scheduler);
        const Ticket first = queue.Take();
        for (uint32_t i = 0; i < count; ++i) {
            turns[i] = {queue.Take(), i, &done};
            cells[i].accepted = true;
            cells[i].target = &turns[i];
        }
        const Ticket last = queue.Take();
        const TaskOptions options = Options();
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t which =
                (order & 4) != 0 ? (i + order) % count : (count - 1 - i + order) % count;
            m_scheduler.AddTask({TakingTurn, &cells[which]}, &counter, options);
        }
        Inside();
        Require(!last.IsTurn() && done.load() == 0, "a ticket's turn came too early");
        first.Done();
        last.Wait();
        Require(done.load() == count, "a ticket's turn came too early");
        last.Done();
    }
    m_scheduler.WaitForCounter(&counter);
}

}  // namespace fuzz
