// Putting a ready fiber or a block of tasks where a worker finds it, and waking that worker.
#pragma once

#include "core/notices.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// A fiber whose wait is over goes where a worker finds it, and somebody is woken if nobody would
/// look. `worker`: the caller's, or null for a thread that is no worker of this scheduler.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept;

/// The fiber goes to the worker's own ready fibers. False when there is no memory. Wakes nobody.
bool PushReady(Worker *worker, Fiber *fiber) noexcept;

/// What any worker may take, from any thread: an item, or a chain of them from the newest to the
/// oldest. Lock-free, and needs no memory. Wakes nobody.
inline void Inject(Scheduler &scheduler, InboxItem *newest, InboxItem *oldest) noexcept {
    scheduler.injector.Push(newest, oldest);
    scheduler.notices.Show(Notices::kInjected);
}

inline void Inject(Scheduler &scheduler, InboxItem *item) noexcept {
    Inject(scheduler, item, item);
}

/// What only that worker may run, likewise.
inline void PushInbox(Worker &target, InboxItem *newest, InboxItem *oldest) noexcept {
    target.inbox.Push(newest, oldest);
}

inline void PushInbox(Worker &target, InboxItem *item) noexcept { PushInbox(target, item, item); }

/// Hands over blocks with `count` tasks, chained from the newest to the oldest: to the worker
/// `target`, or to any (kAnyWorker). Wakes workers for them. `worker`: the caller's, or null.
void DeliverTasks(Scheduler &scheduler, Worker *worker, InboxItem *newest, InboxItem *oldest,
                  uint32_t count, uint32_t target) noexcept;

/// The same for one block of one task, see Prepare (post.h).
void Send(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept;

}  // namespace weft::internal
