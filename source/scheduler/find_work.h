// What a worker does next: the whole policy of which work goes first.
#pragma once

#include "scheduler/scheduler.h"

namespace weft::internal {

struct Found {
    Fiber *fiber = nullptr;  ///< a ready fiber to switch to
    bool claimed = false;    ///< or: the worker's claim is filled
    explicit operator bool() const noexcept { return fiber != nullptr || claimed; }
};

/// Own work: pinned fibers, pinned tasks, ready fibers, High, Normal, Low.
Found FindOwn(Worker *worker, Ability ability) noexcept;

/// What FindOwn would return, if that is plain to see; else nothing. A ready fiber, for who leaves its fiber: no loop is
/// needed in between. The newest task, if it stands on its own and is small: it is taken, and needs no claim.
Fiber *FindReady(Worker *worker) noexcept;
bool FindSingle(Worker *worker, TaskEntry &entry) noexcept;

/// Others' work, the most urgent first.
Found FindElsewhere(Worker *worker, Ability ability) noexcept;

/// Claims the newest entry of the worker's own deques if it belongs to `counter` and its tasks need no larger stack than
/// `most`. For a task that waits for it.
bool FindOfCounter(Worker *worker, Counter *counter, StackClass most) noexcept;

}  // namespace weft::internal
