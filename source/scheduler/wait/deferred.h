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
/// only used during the call. Otherwise like SubmitAfter. `handle`, if given, stands for the batch
/// in WithdrawBatch. This and what follows is in deferred_batch.cpp, but SubmitAt.
bool SubmitBatchAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                      const CounterTarget *after, uint32_t count, const Task *tasks,
                      Counter *counter, const TaskOptions &options, DeferredHandle *handle,
                      Unit unit = Unit::New) noexcept;

/// Submits `count` tasks, at least one, at `deadline`. Returns false if they were refused
/// (reported).
bool SubmitBatchAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, uint32_t count,
                   const Task *tasks, Counter *counter, const TaskOptions &options,
                   DeferredHandle *handle) noexcept;

/// Withdraws the batch, unless it was handed over. Then its tasks count as finished soon. With
/// `replaces` a function that does nothing takes the place of theirs; otherwise their group skips
/// them. Returns false if it is too late.
bool WithdrawBatch(Scheduler &scheduler, Worker *worker, DeferredHandle handle,
                   bool replaces) noexcept;

/// Replaces the tasks of a block, before it is handed over, by such that do nothing.
void ReplaceTasks(TaskBlock &block) noexcept;

/// Withdraws all batches that this group counts. Takes time in proportion to the largest number of
/// such batches in the run so far. A batch that is submitted at the same time withdraws itself, if
/// this does not see it: see SubmitBatchAfter.
void WithdrawBatchesOf(Scheduler &scheduler, Worker *worker, const Counter *group) noexcept;

/// Submits the task at `deadline`. Returns false if it was refused (reported).
bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline, const Task &task,
              CountedBy counted, const TaskOptions &options) noexcept;

}  // namespace weft::internal
