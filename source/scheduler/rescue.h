// Tasks for which no fiber is free, while fibers wait for them.
//
// A task needs a fiber of its class. When all fibers of the class are with tasks that wait for tasks which have not begun, nobody could
// go on. But a task that waits for a counter's zero depends on all tasks of the counter already; so one of these may run on its stack,
// above the frames that wait, if a whole stack of the class is left there. Such a waiter says so before it waits (Fiber::handed).
//
// A worker that has no fiber for the tasks that lie in the lanes goes through them before it sleeps: it takes a task, and if a fiber
// waits for the task's counter and has room, the fiber is handed the task and made ready. What nobody takes goes back. The counter
// stays meanwhile, because it counts the task in hand. Its own lanes keep their order.
//
// No waiter is missed. A waiter gets in line at its counter, and then, if its class has no free fiber, it counts itself
// (rescues) and wakes all that sleep. A worker reads that count before it goes through the lanes and again after it has
// announced that it sleeps; all four are seq_cst. So either it sees the waiter at the counter, or it sees another count and
// goes through the lanes again, or the waiter wakes it. A Large task that comes into a lane while no Large fiber is free
// counts likewise (CountLarge). Another worker may have taken the task out of its lane to check it. That worker puts it back
// before it sleeps, and also reads the count again.
//
// Some waiters go on only on one worker, or in some groups. A worker that finds such a waiter puts the task back, asks these workers
// (Worker::rescuesAsked) and wakes them. A task of some groups that comes while no small fiber is free asks its workers likewise, as its
// submitter may belong to other groups (AskForRescue). A worker takes back that it is asked before it goes through the lanes, and looks at
// it again like at the count. Nobody asks itself, and nobody asks because it was asked alone: so two workers do not keep each other awake.
//
// No deadlock by lack of fibers: let all fibers of a class wait, and tasks of the class be in lanes. If one of these tasks is counted
// by a counter that a fiber with room waits for, it is handed over. Otherwise nobody waits for any of the tasks on a stack with
// room, and raising the number of fibers is what helps: that is reported (PoolEmpty, LargePoolEmpty).
#pragma once

#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// Hands one task of the class to a fiber that waits for it. Returns the fiber, which this worker goes on with now; null if there is none,
/// or none that this worker can resume.
Fiber *Rescue(Worker *worker, StackClass stack) noexcept;

/// The same for a late lane.
Fiber *HandLate(Worker *worker, Worker &owner, uint32_t lane) noexcept;

/// Call after a fiber with stack room has registered on its counter. If no other fiber is free for such tasks, the sleepers
/// are woken to look for them. The fiber may be running again by now.
void OfferRoomNow(Worker *worker) noexcept;
inline void OfferRoom(Worker *worker, StackClass takes) noexcept {
    const FiberPool &pool = worker->scheduler->pool;
    const bool lacksSmall = !pool.AnyFree(StackClass::Small);
    const bool lacksLarge = takes == StackClass::Large && !pool.AnyFree(StackClass::Large);
    if (WEFT_UNLIKELY(lacksSmall || lacksLarge)) OfferRoomNow(worker);
}

/// Call after pushing a Large task to a lane: a worker that has just scanned the lanes may have missed it.
void CountLarge(Scheduler &scheduler) noexcept;

/// A task of a level that only some groups run was published: if it has no fiber, they look for waiters.
void AskForRescue(Scheduler &scheduler, const Worker *worker, Level level) noexcept;

/// No waiter and no Large task has come since the worker's last Rescue for the class. For a last look before it sleeps.
bool IsRescueDone(const Worker *worker, StackClass stack) noexcept;

}  // namespace weft::internal
