// What a worker without work does: it searches, then sleeps.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Searches and sleeps on the calling fiber until there is work. Returns false at the end of the
/// run.
bool FindWork(Worker &worker, Work &work) noexcept;

/// The loop of a worker on its thread's own stack: before its first fiber, after the last, and
/// while no fiber is free. Returns at the end of the run.
void ThreadLoop(Worker &worker) noexcept;

}  // namespace weft::internal
