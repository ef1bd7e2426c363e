// Memory for a task that waits without a fiber.
#pragma once

#include "weft/sync/wait_queue.h"
#include "weft/task.h"

namespace weft {

/// A place in line for a task: for the turn of a ticket (TicketQueue::AddTask), or for a permit
/// (Semaphore::AddTask).
///
/// It must live until the task begins; then it may be used again. Before that it is refused for
/// another task (BadOption).
class WEFT_API QueuedTask {
public:
    QueuedTask() = default;

private:
    friend class TicketQueue;
    friend class Semaphore;

    /// Prepares the waiter for another task. Returns false, after a report, if it still waits for
    /// an earlier one, or if TaskOptions::taskGroup is set. `call`: for reports.
    bool Prepare(TaskScheduler &scheduler, const TaskOptions &options, const char *call) noexcept;
    /// Adds the task: it begins when the waiter's counter is zero. `waits`: the waiter is in a
    /// list, and whoever notifies it will decrement the counter. Otherwise this call does. Returns
    /// false after a report; then the caller must remove the waiter from the list.
    bool Submit(TaskScheduler &scheduler, bool waits, const Task &task, Counter *counter,
                const TaskOptions &options) noexcept;
    /// Makes the object usable again after Submit has returned false. The waiter must be in no
    /// list.
    void GiveUp() noexcept;

    internal::Waiter m_waiter;
    WEFT_ATOMIC<bool> m_wasUsed{false};
};

}  // namespace weft
