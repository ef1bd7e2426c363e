// Waiting, from the task's side.
#pragma once

#include "platform/race_finder.h"
#include "scheduler/scheduler.h"

namespace weft::internal {

/// Whether it is at or below `value`. acquire: who goes on sees all that was counted.
inline bool IsSatisfied(Counter &counter, uint32_t value) noexcept {
    const bool satisfied = CounterWord{CounterAccess::Word(counter).load(kAcquire)}.Satisfies(value);
    if (satisfied) race::SawCount(counter);
    return satisfied;
}

/// Returns once the counter was at or below `value`. The caller is a task on `worker`.
void Wait(Worker *worker, Counter &counter, uint32_t value, Resume resume) noexcept;

/// The same, but `meanwhile` restricts what the thread runs. Unless it is AnyTask, the fiber continues on this worker.
void WaitMeanwhile(Worker *worker, Counter &counter, uint32_t value, Meanwhile meanwhile) noexcept;

/// To the back of the ready lane.
void YieldFiber(Worker *worker) noexcept;

}  // namespace weft::internal
