// TaskScheduler::RunPinnedTasks. The caller leaves its fiber for the pinned work. Whenever that
// work is left, the caller comes next on this worker (Worker::comesNext).
#include "scheduler/policy/places.h"
#include "scheduler/run/ending.h"
#include "scheduler/run/fiber_switch.h"
#include "scheduler/run/run_work.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/wait/wait.h"

#include <utility>

namespace weft::internal {

namespace {

Work AnyPinned(Worker &worker) noexcept {
    Flush(worker);
    TakeArrivals(worker);
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
    if (to == nullptr) return RunOnTop(self, work);
    Fiber *const outer = std::exchange(worker.comesNext, &self);
    NoteFilter(worker);
    SwitchTo(self, *to, Destination::None);
    worker.comesNext = outer;
    NoteFilter(worker);
}

}  // namespace

uint32_t RunPinned(Worker &worker, uint32_t max) noexcept {
    Fiber &self = *worker.current;
    ReleaseClaims(worker);
    uint32_t ran = 0;
    for (; ran != max; ++ran) {
        const Work work = AnyPinned(*self.worker);
        if (!work) break;
        RunOne(self, work);
    }
    if (self.IsThreadStack()) AnswerBeforeHost(*self.worker);
    return ran;
}

}  // namespace weft::internal
