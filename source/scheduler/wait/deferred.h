// Tasks that are submitted when a counter gets there, or at a time. They hold no fiber until then.
//
// Such a task counts as submitted at once, so the run does not end before it. It lies in a block
// like one that another thread has posted, and whoever satisfies its condition posts the block.
#pragma once

#include "scheduler/state/scheduler.h"
#include "scheduler/submit/post.h"

namespace weft::internal {

/// Submits the task once `after` was at or below `value`. `worker`: the caller's, or null. Returns
/// at once, unless there is no memory for another wait record (reported); then a hook is refused.
/// The arguments have been checked. False if it was refused (reported).
bool SubmitAfter(Scheduler &scheduler, Worker *worker, Counter &after, uint32_t value,
                 const Task &task, CountedBy counted, const TaskOptions &options) noexcept;

/// Submits the task at `deadline`. False if it was refused (reported).
bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, const Task &task,
              CountedBy counted, const TaskOptions &options) noexcept;

}  // namespace weft::internal
