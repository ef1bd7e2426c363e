// Rescue: hands a task for which no fiber is free to a fiber that waits for it.
//
// Terms:
// - A task needs a fiber of its class (Small or Large).
// - A waiter here is a fiber that waits for a counter's zero and has room: below its frames a whole
//   stack of the class is free. It sets Fiber::handed before it waits.
// - A rescuer is a worker that has no free fiber for the tasks in the lanes.
//
// Why a rescue is needed. All fibers of a class may belong to tasks that wait for tasks that have
// not begun. Then no task of the class could begin. But a task that waits for a counter's zero
// waits for all tasks of the counter anyway. So it may run one of them on its own fiber.
//
// What the rescuer does. It goes through the lanes before it sleeps, and takes a task. If a waiter
// waits for the task's counter, the rescuer hands the task over and continues that fiber. If the
// fiber is pinned to another worker, the rescuer makes the fiber ready instead. If no waiter fits,
// it puts the task back. The counter cannot be destroyed meanwhile, because it still counts this
// task. The order in the worker's own lanes does not change.
//
// The rescuer climbs. Suppose that task A waits for the counter of the task, and has no room. A
// waiter of A's own counter waits for A, and so for the task: it may run the task, too. The rescuer
// goes on from counter to counter in this way, until it finds a waiter with room. So a chain of
// waits uses the room of all its fibers. It passes only waits for zero without a deadline: while
// the rescuer holds the task, these go on, so all counters on the way exist. Of several tasks that
// wait for the same counter it follows one. It climbs only for Small tasks. For Large ones, each
// wait would have to increment `rescues` while all Large fibers are in use, which is no rare state.
//
// No waiter is missed. The waiter's side
// (1) registers the waiter on its counter,
// (2) increments `rescues`, if the waiter has room for a class that has no free fiber, or if no
//     Small fiber is free, so that a rescuer may climb through it,
// (3) checks for sleepers and wakes all.
// The rescuer
// (a) reads `rescues`,
// (b) checks the counters of the tasks in the lanes,
// (c) announces that it sleeps,
// (d) reads `rescues` again.
// All are seq_cst. If 2 comes before a, b finds the waiter. If 2 comes between a and d, d reads
// another value, and the rescuer goes through the lanes again. If 2 comes after d, 3 wakes the
// rescuer.
//
// No task is missed. A Large task that comes into a lane while no Large fiber is free increments
// `rescues`, too (CountLarge). Another rescuer may have taken a task out of its lane to check it.
// That rescuer puts the task back before it sleeps, and also reads `rescues` again.
//
// Some waiters may continue only on one worker, or only in some groups. A rescuer that finds such a
// waiter puts the task back, sets a bit in Worker::rescuesAsked of the workers that may continue
// the waiter, and wakes that one worker, or sleepers of the groups. Submitting a task of some
// groups while a worker is starved also sets the bits of these groups' workers, because the
// submitter may belong to other groups (AskForRescue). A worker clears its bit before it goes
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

/// The same for the tasks of one late lane of `owner` (aging.h).
Fiber *HandLate(Worker *worker, Worker &owner, uint32_t lane) noexcept;

/// Call after a fiber that waits for zero has registered on its counter. `takes`: the largest class
/// of tasks that it has room for; Small if it has no room. If no fiber of such a class is free,
/// increments `rescues` and wakes the sleepers. The registered fiber may be running again by now.
/// OfferRoomNow is the slow part.
void OfferRoomNow(Worker *worker) noexcept;
inline void OfferRoom(Worker *worker, StackClass takes) noexcept {
    const FiberPool &pool = worker->scheduler->pool;
    const bool lacksSmall = !pool.AnyFree(StackClass::Small);
    const bool lacksLarge = takes == StackClass::Large && !pool.AnyFree(StackClass::Large);
    if (WEFT_UNLIKELY(lacksSmall || lacksLarge)) OfferRoomNow(worker);
}

/// Returns true if, since the worker's last Rescue for the class, `rescues` has not changed and no
/// worker has asked this one. For the last check before sleep.
bool IsRescueDone(const Worker *worker, StackClass stack) noexcept;

}  // namespace weft::internal
