// Tickets fix an order before the work begins. Tasks work in parallel. The last part of each task
// runs alone, in the order of the tickets.
//
//     weft::TicketQueue order(scheduler);
//     struct Chunk { weft::Ticket ticket; ... };
//     for (Chunk &chunk : chunks) chunk.ticket = order.Take();   // then one task for each
//
//     void Compress(weft::TaskScheduler *, void *arg) {
//         Chunk &chunk = *static_cast<Chunk *>(arg);
//         ...                     // several chunks at once
//         chunk.ticket.Wait();
//         WriteToFile(chunk);     // one at a time, in order
//         chunk.ticket.Done();
//     }
//
// A task that waits keeps its fiber. If there are more tickets than fibers, put the last part into
// a second task with TicketQueue::AddTask. It begins when its turn has come, and holds no fiber
// before that:
//
//     struct Chunk { weft::Ticket ticket; weft::QueuedTask turn; ... };
//
//     // at the end of Compress
//     order.AddTask(chunk.ticket, chunk.turn, {Write, &chunk}, &written);
//
//     void Write(weft::TaskScheduler *, void *arg) {
//         Chunk &chunk = *static_cast<Chunk *>(arg);
//         WriteToFile(chunk);
//         chunk.ticket.Done();
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/queued_task.h"

namespace weft {

class TicketQueue;

/// A place in the order. Copies refer to the same place. A ticket may be used until its Done has
/// been called. Its queue must live until then.
class WEFT_API Ticket {
public:
    /// Makes an empty ticket, to be assigned to. It is in no order, and its calls have no effect.
    Ticket() = default;

    /// Waits until all tickets that were taken before this one are done. Then everything that was
    /// written before their Done is visible. Thread-safe.
    void Wait() const noexcept;
    /// Returns true if Wait would return at once. Thread-safe.
    bool IsTurn() const noexcept;
    /// Waits for the turn of this ticket, and ends it, so that the next ticket has its turn. Call
    /// it once for each ticket. Otherwise the waits for all later tickets never end. Does not run
    /// other tasks, unless it has to wait. Reports WrongThread if the ticket is done already, and
    /// then has no effect. Thread-safe.
    void Done() const noexcept;

private:
    friend class TicketQueue;
    Ticket(TicketQueue *queue, uint32_t number) noexcept : m_queue(queue), m_number(number) {}
    TicketQueue *m_queue = nullptr;
    uint32_t m_number = 0;
};

/// Gives out tickets. One ticket at a time has its turn, strictly in their order.
///
/// At most 2^31 - 1 tickets may exist whose Done has not been called. The queue may be destroyed
/// when all tickets are done. No call allocates. While the scheduler does not run, a call that has
/// to wait reports NotRunning and polls. Based on `marl::Ticket` of Google's marl.
class WEFT_API TicketQueue {
public:
    /// Makes a queue without tickets. Cannot fail. Waiters wait with `scheduler`, which must
    /// outlive the queue and need not run yet.
    explicit TicketQueue(TaskScheduler &scheduler) noexcept;

    /// Returns the next ticket in the order. Thread-safe.
    Ticket Take() noexcept;

    /// Adds a task that begins when it is the turn of `ticket`, which must be one of this queue.
    ///
    /// The task counts as pending at once: the run waits for it, and `counter`, if given, is
    /// incremented now and decremented when the task has finished. The task, or later code, must
    /// call ticket.Done(). `turn` must live until the task begins.
    /// Returns false, after a report, if the task was not added. Thread-safe while the scheduler
    /// runs. Does not block, unless there is no memory for a wait record: then it reports
    /// OutOfMemory, and the caller waits until it is the ticket's turn.
    bool AddTask(const Ticket &ticket, QueuedTask &turn, Task task, Counter *counter = nullptr,
                 const TaskOptions &options = {}) noexcept;

private:
    friend class Ticket;
    bool IsTurn(uint32_t number) const noexcept;
    void Wait(uint32_t number) noexcept;
    bool Passes(uint32_t number, internal::Waiter &waiter) noexcept;
    void WaitInLine(uint32_t number, internal::Waiter &self) noexcept;
    void Done(uint32_t number) noexcept;

    internal::WaitQueue m_queue;
    WEFT_ATOMIC<uint32_t> m_taken{0};
};

}  // namespace weft
