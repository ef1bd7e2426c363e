// Memory for a task that waits in line without a fiber.
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

    /// Prepares the waiter for another task. Returns false, after a report, if a task is still in
    /// line with it, or if the task is to belong to a group. `call`: for reports.
    bool Prepare(TaskScheduler &scheduler, const TaskOptions &options, const char *call) noexcept;
    /// Submits the task when the waiter has been notified. `isNotified`: it is not in line, because
    /// it need not wait. Returns false after a report; then the caller takes it out of the line.
    bool Submit(TaskScheduler &scheduler, bool isNotified, const Task &task, Counter *counter,
                const TaskOptions &options) noexcept;
    /// Call it after Submit has returned false, when the waiter is in no line.
    void GiveUp() noexcept;

    internal::Waiter m_waiter;
    WEFT_ATOMIC<bool> m_wasUsed{false};
};

}  // namespace weft
