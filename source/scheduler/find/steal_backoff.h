// When a worker that has no work looks at what others have.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Whether to look at what others have. A look costs them, so it comes at growing intervals while
/// they go on submitting and finishing tasks; and who stole little from them keeps away for a while
/// altogether. Neither holds once they have done nothing of the kind for some time: what they
/// publish then may be taken at once.
bool MaySteal(Worker *worker, uint64_t now) noexcept;

/// Worker number `i` of the order in which `worker` asks: itself too, and the one that last had
/// something first.
inline Worker &VictimAt(const Worker *worker, uint32_t i, uint32_t count) noexcept {
    const uint32_t index = worker->victim + i;
    return worker->scheduler->workers[index < count ? index : index - count];
}

/// Work that was taken at `begin` kept the worker busy until `end`, in so many pieces. If a piece
/// took less than Tuning::profitableSteal, the steal cost the owner more than it was worth. Then
/// the worker keeps away for twice as long as before.
void NoteProfit(const Tuning &tuning, KeepsAway &from, uint64_t begin, uint64_t end,
                uint64_t pieces = 1) noexcept;

/// Two fibers that wake each other in turn are to stay on one worker. So the worker leaves others'
/// ready fibers alone for a while (Worker::fromFibers) if the latest ones that it took waited again
/// soon. A visit begins when it takes one, and ends when it has no work.
void BeginVisit(Worker *worker, uint64_t now) noexcept;
void EndVisit(Worker *worker) noexcept;
/// The worker has no work: ends the visit, if there is one.
inline void NoteVisit(Worker *worker) noexcept {
    if (worker->visitBegan != 0) EndVisit(worker);
}

}  // namespace weft::internal
