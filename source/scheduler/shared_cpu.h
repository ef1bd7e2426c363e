// A worker on the processor of another worker, or of the thread that woke it, while others stand idle.
//
// Virtual machines do that as a rule (there a processor that sleeps does not count as idle), other machines when they are
// busy; and it takes the system 10 milliseconds to mend it. So each worker says which processor it is on, and looks whether
// another that is awake says the same: when it begins to search, which would keep the other one from working, and after
// long tasks. Then it leaves, for a processor that none of them is on. Only threads that weft made do, only if there are
// as many processors as workers, and at most once a millisecond.
//
// Who is woken for little work is quickest where its waker is, because no other processor has to be woken. So it stays
// there, and sleeps as soon as it finds nothing; but when it has kept the waker waiting for 100 microseconds, in one go or
// again and again, it leaves too. Figures: source/README.md.
#pragma once

#include "scheduler/worker.h"

namespace weft::internal {

/// Around the sleep of the calling worker.
void BeforeSleep(Worker *worker) noexcept;
void AfterSleep(Worker *worker) noexcept;

/// Before the calling worker searches, at `now`. False if it should not, because its waker could use the processor.
bool MaySearch(Worker *worker, uint64_t now) noexcept;

/// Between two pieces of work, when `worker->sharing.look` says so.
void LookForSharedCpu(Worker *worker) noexcept;

/// A piece of work took so long: look for a shared processor after it.
inline void NoteDuration(Worker *worker, uint64_t ticks, uint64_t many) noexcept {
    if (ticks >= many) worker->sharing.look = true;
}

}  // namespace weft::internal
