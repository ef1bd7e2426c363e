// The upper half of the word is the number whose turn it is. The list is sorted by number, so Done
// only checks the front of the list. Several waiters may have the same number, because tickets can
// be copied.
#include "weft/sync/ticket_queue.h"

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/spin.h"
#include "sync/turns.h"
#include "sync/wake_list.h"

namespace weft {

using namespace internal;

void Ticket::Wait() const noexcept {
    if (m_queue != nullptr) m_queue->Wait(m_number);
}

bool Ticket::IsTurn() const noexcept { return m_queue == nullptr || m_queue->IsTurn(m_number); }

void Ticket::Done() const noexcept {
    if (m_queue != nullptr) m_queue->Done(m_number);
}

TicketQueue::TicketQueue(TaskScheduler &scheduler) noexcept : m_queue(scheduler, 0) {}

// relaxed: only the order of the changes to this word matters.
Ticket TicketQueue::Take() noexcept { return Ticket(this, m_taken.fetch_add(1, kRelaxed)); }

// Also true for a ticket that is done. acquire: pairs with the release of Unlock in Done. The
// caller sees what was written in all earlier turns.
bool TicketQueue::IsTurn(uint32_t number) const noexcept {
    if (IsBefore(TurnOf(m_queue.Word(kAcquire)), number)) return false;
    race::SawAll(const_cast<WaitQueue *>(&m_queue));
    return true;
}

void TicketQueue::Wait(uint32_t number) noexcept {
    if (IsTurn(number)) return;
    const bool passed = SpinBriefly(m_queue, [&] {
        if (IsTurn(number)) return Look::Done;
        // If it is not the next number, other turns come before it.
        return TurnOf(m_queue.Word(kRelaxed)) + 1 == number ? Look::Again : Look::Pointless;
    });
    if (passed) return;
    Waiter self;
    if (m_queue.CanWait(self)) return WaitInLine(number, self);
    Poll(nullptr, [&] { return IsTurn(number); });
}

// Returns true if it is the turn of that number. Otherwise the waiter has entered the list.
bool TicketQueue::Passes(uint32_t number, Waiter &waiter) noexcept {
    waiter.wanted = number;
    const uint64_t word = m_queue.Lock();
    const bool passes = !IsBefore(TurnOf(word), number);
    if (!passes) {
        waiter.notified = false;  // it may have been used before
        InsertByNumber(m_queue, waiter);
    } else {
        race::SawAll(&m_queue);
    }
    m_queue.Unlock(word);
    return passes;
}

void TicketQueue::WaitInLine(uint32_t number, Waiter &self) noexcept {
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (!Passes(number, self)) m_queue.WaitInLine(scheduler, self, nullptr);
    race::SawAll(&m_queue);
}

bool TicketQueue::AddTask(const Ticket &ticket, QueuedTask &turn, Task task, Counter *counter,
                          const TaskOptions &options) noexcept {
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (ticket.m_queue != this) {
        ReportMisuse(scheduler, ReportCode::BadOption,
                     "Give a ticket that this queue has given out.",
                     "TicketQueue::AddTask: the ticket is not one of this queue");
        return false;
    }
    if (!turn.Prepare(scheduler, options, "TicketQueue::AddTask")) return false;
    // First into the list: without memory AddTaskAfter waits itself until it is the turn.
    const bool passes = Passes(ticket.m_number, turn.m_waiter);
    if (turn.Submit(scheduler, !passes, task, counter, options)) return true;  // this may be gone
    if (!passes) m_queue.Leave(scheduler, turn.m_waiter);
    turn.GiveUp();
    return false;
}

void TicketQueue::Done(uint32_t number) noexcept {
    Wait(number);
    race::Finishes(&m_queue);
    const uint64_t word = m_queue.Lock();
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (TurnOf(word) != number) {
        m_queue.Unlock(word);
        ReportMisuse(scheduler, ReportCode::WrongThread, "Call Done once for each ticket.",
                     "Ticket::Done was called for a ticket that is done already");
        return;
    }
    WakeList list;
    for (Waiter *first = m_queue.First(); first != nullptr && first->wanted == number + 1;
         first = m_queue.First()) {
        m_queue.Remove(*first);
        list.Add(*first);
    }
    m_queue.Unlock(WithTurn(word, number + 1));
    // From here on the queue may be gone.
    list.Wake(scheduler);
}

}  // namespace weft
