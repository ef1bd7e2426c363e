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

/// The thread sleeps until then and runs no task. While the fiber is Restricted to Meanwhile::Nothing.
void Block(Fiber *self, Counter &counter, uint32_t value) noexcept;

/// While it lives, the fiber is pinned to its worker; so are the waits of tasks that it helps with. An attached thread does not detach
/// before it ends.
class StaysHere {
public:
    explicit StaysHere(Fiber *self) noexcept;
    ~StaysHere();
    StaysHere(const StaysHere &) = delete;
    StaysHere &operator=(const StaysHere &) = delete;

private:
    Fiber *m_self = nullptr;  // null: it was pinned already
};

/// While it lives, the fiber's worker runs only what `meanwhile` allows, which is not AnyTask; and the fiber stays there. `counter`: what
/// it waits for, or null.
class Restricted {
public:
    Restricted(Fiber *self, Meanwhile meanwhile, const Counter *counter) noexcept;
    ~Restricted();
    Restricted(const Restricted &) = delete;
    Restricted &operator=(const Restricted &) = delete;

private:
    const StaysHere m_staysHere;
    Worker *const m_worker;
    const Meanwhile m_meanwhile;
    OwnWait m_own;
};

/// To the back of the ready lane.
void YieldFiber(Worker *worker) noexcept;

}  // namespace weft::internal
