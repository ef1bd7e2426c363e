// An order that is settled before the work: take tickets in order, do the work in any, and be let
// pass in the tickets' order.
//
//     weft::TicketQueue order(scheduler);
//     struct Chunk { weft::Ticket ticket; ... };
//     for (Chunk &chunk : chunks) chunk.ticket = order.Take();   // then one task for each
//
//     void Compress(weft::TaskScheduler *, void *arg) {
//         Chunk &chunk = *static_cast<Chunk *>(arg);
//         ...                     // side by side
//         chunk.ticket.Wait();
//         WriteToFile(chunk);     // one at a time, in order
//         chunk.ticket.Done();
//     }
//
// A task that waits keeps its fiber. With more tickets than fibers let a task of its own do what
// comes in order; it begins when its turn has come, and holds no fiber before that:
//
//     struct Chunk { weft::Ticket ticket; weft::TicketTurn turn; ... };
//     order.AddTask(chunk.ticket, chunk.turn, {Write, &chunk}, &written);   // at the end of
//     Compress
//
//     void Write(weft::TaskScheduler *, void *arg) {
//         Chunk &chunk = *static_cast<Chunk *>(arg);
//         WriteToFile(chunk);
//         chunk.ticket.Done();
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/wait_queue.h"
#include "weft/task.h"

namespace weft {

class TicketQueue;

/// A place in the order; copies are the same place. Usable until it is done, while its queue lives.
class WEFT_API Ticket {
public:
    /// No place in any order, to be assigned to.
    Ticket() = default;

    /// Returns when all tickets that were taken before are done, with all that was done before that
    /// visible. Any thread.
    void Wait() const noexcept;
    /// Whether Wait would return at once. Any thread.
    bool IsTurn() const noexcept;
    /// Lets the next one pass; waits for its own turn first. Every ticket must be done once, or all
    /// after it wait for ever. Twice is reported (WrongThread). Any thread; never runs others.
    void Done() const noexcept;

private:
    friend class TicketQueue;
    Ticket(TicketQueue *queue, uint32_t number) noexcept : m_queue(queue), m_number(number) {}
    TicketQueue *m_queue = nullptr;
    uint32_t m_number = 0;
};

/// Where a task waits for the turn of its ticket. Lives until the task begins; then it may be used
/// again. Before that it is refused for another ticket (BadOption).
class TicketTurn {
    friend class TicketQueue;
    internal::Waiter m_waiter;
    WEFT_ATOMIC<bool> m_wasUsed{false};
};

/// After `marl::Ticket` of Google's marl. Strictly in order; fewer than 2^31 tickets that are not
/// done. When all are done it may be destroyed. No call allocates. While the scheduler does not
/// run, whoever would have to wait is reported (NotRunning) and looks again and again.
class WEFT_API TicketQueue {
public:
    /// Cannot fail. The scheduler, by which waiters wait, must outlive it, and need not run yet.
    explicit TicketQueue(TaskScheduler &scheduler) noexcept;

    /// The next place in the order. Any thread.
    Ticket Take() noexcept;

    /// Submits the task when it is the turn of `ticket`, which this queue has given out. It counts
    /// as submitted right away: `counter`, if given, rises by one now and falls by one when the
    /// task has finished, and the run does not end before it. The task, or whatever comes after it,
    /// calls ticket.Done(). Never waits. False after a report: then nothing was submitted. Any
    /// thread, while the scheduler runs.
    bool AddTask(const Ticket &ticket, TicketTurn &turn, Task task, Counter *counter = nullptr,
                 const TaskOptions &options = {}) noexcept;

private:
    friend class Ticket;
    bool IsTurn(uint32_t number) const noexcept;
    void Wait(uint32_t number) noexcept;
    bool Passes(uint32_t number, internal::Waiter &waiter) noexcept;
    void WaitInLine(uint32_t number) noexcept;
    void Done(uint32_t number) noexcept;

    internal::WaitQueue m_queue;
    WEFT_ATOMIC<uint32_t> m_taken{0};
};

}  // namespace weft
