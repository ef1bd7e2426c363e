// TaskScheduler::RunPinnedTasks. The caller leaves its fiber for the pinned work. Whenever that
// work is left, the caller comes next on this worker (Worker::comesNext).
#include "scheduler/policy/places.h"
#include "scheduler/run/ending.h"
#include "scheduler/run/fiber_switch.h"
#include "scheduler/run/run_work.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/wait/wait.h"

#include <utility>

namespace weft::internal {

namespace {

Work AnyPinned(Worker &worker) noexcept {
    for (uint32_t levels = worker.filter.pinned; levels != 0; levels &= levels - 1) {
        if (const Work work = TakePinned(worker, Level::At(LowestBit(levels)))) return work;
    }
    return {};
}

// Without a free fiber a task runs on the caller's own stack. If it waits, the caller cannot go on.
void RunOne(Fiber &self, const Work &work) noexcept {
    Worker &worker = *self.worker;
    Fiber *to = work.entry.TheKind() == Entry::Fiber ? &work.entry.TheFiber() : nullptr;
    if (to == nullptr && (to = AcquireFiber(worker)) != nullptr) {
        to->start = work;
        to->begins = false;
    }
    // Makes tasks count as long, so that only one task of a chunk begins.
    worker.fair.budget = worker.fair.period = 1;
    if (to == nullptr) return RunOnTop(self, work);
    Fiber *const outer = std::exchange(worker.comesNext, &self);
    NoteFilter(worker);
    race::LeavesThread(&worker);
    SwitchTo(self, *to, Destination::None);
    race::ComesToThread(&worker);
    worker.comesNext = outer;
    NoteFilter(worker);
}

}  // namespace

// Work that is pinned during the call waits for the next call. So if a task yields, the caller goes
// on. The work may include the attached thread's own fiber, which may call DetachThread. Bind keeps
// the thread attached until the caller has continued.
uint32_t RunPinned(Worker &worker, uint32_t max) noexcept {
    Fiber &self = *worker.current;
    const bool binds = self.pinnedTo == kAnyWorker;
    if (binds) Bind(*worker.scheduler, &worker, worker, 1);
    ReleaseClaims(worker);
    Flush(worker);
    TakeArrivals(worker);
    uint32_t ran = 0;
    for (; ran != max; ++ran) {
        const Work work = AnyPinned(*self.worker);
        if (!work) break;
        RunOne(self, work);
    }
    if (binds) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
    if (self.IsThreadStack()) AnswerBeforeHost(*self.worker);
    return ran;
}

}  // namespace weft::internal
