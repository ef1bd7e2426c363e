// What a worker runs while one of its tasks waits with OwnTasks: a second order, beside NextWork.
//
// A wait has a scope, a number that the submissions of its tasks inherit. The worker runs tasks of
// the awaited counter, and what has the scope. Such work may lie below other entries of a deque. So
// once in a millisecond the worker digs: it moves what lies above to the other end of its own
// deque. Then it also finds tasks without the scope for which such tasks wait, directly or through
// others (Need). It is not woken for new work of its scope, and looks again within a millisecond.
//
// A number is used again after 65,535 waits. Tasks for which nobody waits may keep it until then.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns what the worker runs next, or nothing. wait/wait.cpp begins and ends such waits.
Work PickOwn(Worker &worker) noexcept;

}  // namespace weft::internal
