// Hands a ready fiber or a block of tasks to a worker, and wakes that worker.
#pragma once

#include "core/notices.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Puts a fiber whose wait is over where a worker finds it. Wakes a worker if no other one would
/// look for it. `worker`: the caller's, or null for a thread that is no worker of this scheduler.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept;

/// Puts the fiber into the worker's own ready fibers. Returns false if there is no memory. Wakes no
/// worker.
bool PushReady(Worker *worker, Fiber *fiber) noexcept;

/// Notes for reports and traces that the fiber can continue. For a fiber that the calling worker
/// resumes next; MakeReady does it for the others.
void SetReady(Worker *worker, Fiber *fiber) noexcept;

/// Puts items into the injector, from which any worker may take them: one item, or a chain from the
/// newest to the oldest. Any thread may call it. Lock-free, and needs no memory. Wakes no worker.
inline void Inject(Scheduler &scheduler, InboxItem *newest, InboxItem *oldest) noexcept {
    scheduler.injector.Push(newest, oldest);
    scheduler.notices.Show(Notices::kInjected);
}

inline void Inject(Scheduler &scheduler, InboxItem *item) noexcept {
    Inject(scheduler, item, item);
}

/// Puts items into the inbox of a worker, which alone may take them. Otherwise like Inject.
inline void PushInbox(Worker &target, InboxItem *newest, InboxItem *oldest) noexcept {
    target.inbox.Push(newest, oldest);
}

inline void PushInbox(Worker &target, InboxItem *item) noexcept { PushInbox(target, item, item); }

/// Hands over blocks with `count` tasks, chained from the newest to the oldest: to the worker
/// `target`, or to any worker (kAnyWorker). Wakes workers for them. `worker`: the caller's, or
/// null.
void DeliverTasks(Scheduler &scheduler, Worker *worker, InboxItem *newest, InboxItem *oldest,
                  uint32_t count, uint32_t target) noexcept;

/// The same for one block of one task, see Prepare (post.h).
void Send(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept;

/// The same for the `count` tasks of a batch, see PrepareBatch (post.h). All blocks are handed over
/// at once. So one worker takes them, and begins the batch in its order.
void SendBatch(Scheduler &scheduler, Worker *worker, TaskBlock *oldest, uint32_t count) noexcept;

}  // namespace weft::internal
