// Rescue: if no fiber is free for a task, a fiber that waits for this task runs it on top of its
// own stack.
//
// Terms:
// - A task needs a fiber of its class (Small or Large). The lanes are the queues of tasks of all
//   workers.
// - A waiter is a fiber that waits for the zero of a counter. It has room for a class if the unused
//   part of its stack is at least a whole stack of that class. Then it sets Fiber::handed before it
//   waits.
// - A rescuer is a worker without a free fiber, which looks for waiters before it sleeps.
// - `rescues` (in Scheduler) changes each time that rescuers must look again.
//
// Why a rescue is needed. All fibers of a class may belong to tasks that wait for tasks that have
// not begun. Then no task of the class could begin. But a task that waits for the zero of a counter
// waits for all tasks of the counter anyway. So it may run one of them on its own fiber.
//
// What the rescuer does. It takes one task after another out of the lanes. If a waiter with room
// waits for the task's counter, the rescuer hands the task over and continues that fiber. If the
// fiber is pinned to another worker, the rescuer makes it ready instead. If there is no such
// waiter, a task of its own lanes returns to its place, and a task of another worker becomes the
// newest entry of its own lane. (In an own lane of more than 64 entries the order may change.)
// While the rescuer holds the task, the counter cannot be destroyed, because it counts the task.
//
// The rescuer climbs. Let T be the task. Task A waits for T's counter, but A's fiber has no room. A
// fiber that waits for the counter of A waits for T, too, so it may run T. In this way the rescuer
// goes on from counter to counter, until it finds a waiter with room. So a chain of waits uses the
// room of all its fibers.
// - It climbs only through waits for zero without a deadline. Such a wait cannot end while the
//   rescuer holds T. So each counter on the way exists.
// - Of several tasks that wait for the same counter, it follows one.
// - It climbs only for Small tasks. For Large ones, each wait would have to increment `rescues`
//   while all Large fibers are in use, and that is a common state.
//
// No waiter is missed. A waiter
// (1) registers on its counter,
// (2) increments `rescues` if no Small fiber is free (a rescuer may climb through it), or if it has
//     room for a Large task and no Large fiber is free,
// (3) checks for sleepers and wakes all.
// The rescuer
// (a) reads `rescues`,
// (b) checks the counters of the tasks in the lanes,
// (c) announces that it sleeps,
// (d) reads `rescues` again.
// All these accesses are seq_cst. If (2) comes before (a), the rescuer finds the waiter in (b). If
// (2) comes between (a) and (d), the rescuer reads another value in (d), and begins again. If (2)
// comes after (d), (3) wakes the rescuer. If a fiber is free in (2), the rescuer finds it before it
// sleeps, or another worker has taken it. That worker runs tasks of the lanes, and comes to (2)
// when it waits.
//
// No task is missed. A worker that puts a Large task into a lane while no Large fiber is free
// increments `rescues`, too (CountLarge). A rescuer may miss a task because another rescuer holds
// it. The other one puts it back and checks (d) before it sleeps.
//
// Some waiters may continue only on one worker, or only in some groups of workers. A rescuer that
// finds such a waiter puts the task back. It sets a bit in Worker::rescuesAsked of each worker that
// may continue the waiter. Then it wakes that one worker, or sleepers of the groups. A submitter
// does the same if only some groups may run the task and a worker lacks a fiber, because the
// submitter may belong to another group (AskForRescue). A worker clears its bit before it goes
// through the lanes, and reads it again after it has announced that it sleeps. No worker sets its
// own bit, and a set bit alone is no reason to set the bit of another worker. So two workers cannot
// keep each other awake.
//
// A lack of fibers causes no hidden deadlock. Suppose that all fibers of a class wait and tasks of
// the class are in lanes. If a rescuer finds a fiber with room that waits for such a task, the
// fiber gets the task. If it finds none for any of the tasks, only more fibers help. That is
// reported (OutOfSmallFibers, OutOfLargeFibers).
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Hands one task of the class to a fiber that waits for it. Returns the fiber, and the worker must
/// continue it now. Returns null if there is no such fiber, or only one that another worker must
/// continue.
Fiber *Rescue(Worker *worker, StackClass stack) noexcept;

/// Like Rescue, for the tasks of one late lane of `owner` (aging.h).
Fiber *HandLate(Worker *worker, Worker &owner, uint32_t lane) noexcept;

/// Call after a fiber that waits for zero has registered on its counter. Increments `rescues` and
/// wakes all sleepers if no Small fiber is free, or if the fiber has room for a Large task and no
/// Large fiber is free. `takes`: Large if the fiber has room for a Large task, else Small. The
/// registered fiber may be running again by now. OfferRoomNow is the slow part.
void OfferRoomNow(Worker *worker) noexcept;
inline void OfferRoom(Worker *worker, StackClass takes) noexcept {
    const FiberPool &pool = worker->scheduler->pool;
    const bool lacksSmall = !pool.AnyFree(StackClass::Small);
    const bool lacksLarge = takes == StackClass::Large && !pool.AnyFree(StackClass::Large);
    if (WEFT_UNLIKELY(lacksSmall || lacksLarge)) OfferRoomNow(worker);
}

/// Returns true if, since the worker's last Rescue for the class, `rescues` has not changed and no
/// worker has asked this one to search for waiters. Call it last before the worker sleeps.
bool IsRescueDone(const Worker *worker, StackClass stack) noexcept;

}  // namespace weft::internal
