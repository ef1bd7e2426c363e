// Submits tasks later: after a counter has come down to a value, or at a deadline. Until then they
// hold no fiber.
//
// Such a task counts as submitted at once, so the run does not end before it. It lies in a block
// like one that an external thread has posted. The thread that satisfies its condition posts the
// block.
#pragma once

#include "scheduler/state/scheduler.h"
#include "scheduler/submit/post.h"
#include "weft/deferred.h"

namespace weft::internal {

/// Submits the task once `after` was at or below `value`. `worker`: the caller's, or null. The
/// arguments have been checked. Returns at once, unless there is no memory for another wait record:
/// then the call waits itself (reported). A hook cannot wait, so it is refused. Returns false if
/// the task was refused (reported).
bool SubmitAfter(Scheduler &scheduler, Worker *worker, Counter &after, uint32_t value,
                 const Task &task, CountedBy counted, const TaskOptions &options) noexcept;

/// Submits `count` tasks, at least one, once each of `after` was at or below its value. `after` is
/// only used during the call. Otherwise like SubmitAfter. The implementation is in
/// deferred_batch.cpp.
bool SubmitBatchAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                      const CounterTarget *after, uint32_t count, const Task *tasks,
                      Counter *counter, const TaskOptions &options) noexcept;

/// Submits the task at `deadline`. Returns false if it was refused (reported).
bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, const Task &task,
              CountedBy counted, const TaskOptions &options) noexcept;

}  // namespace weft::internal
