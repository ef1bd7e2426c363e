// Decides when a worker without work checks other workers for work.
#pragma once

#include "scheduler/state/scheduler.h"

namespace weft::internal {

/// Returns true if the worker may check other workers now. A check costs the other workers time. So
/// the interval between checks grows while they submit and finish tasks. A worker whose steals
/// brought little keeps away for a while altogether. Neither applies once the others have done
/// nothing of the kind for Tuning::quiet: then new work of theirs may be taken at once.
bool MaySteal(Worker *worker, uint64_t now) noexcept;

/// Returns worker number `i` of the order in which `worker` asks. The order begins with the worker
/// that last had something. It includes `worker` itself.
inline Worker &VictimAt(const Worker *worker, uint32_t i, uint32_t count) noexcept {
    const uint32_t index = worker->victim + i;
    return worker->scheduler->workers[index < count ? index : index - count];
}

/// Work that was taken at `begin` kept the worker busy until `end`, in `pieces` pieces. If a piece
/// took less than Tuning::profitableSteal, the steal cost the owner more than it was worth. Then
/// the worker keeps away for twice as long as before.
void NoteProfit(const Tuning &tuning, KeepsAway &from, uint64_t begin, uint64_t end,
                uint64_t pieces = 1) noexcept;

/// Two fibers that wake each other in turn should stay on one worker. So a worker leaves ready
/// fibers of others alone for a while (Worker::fromFibers) if the latest ones that it took waited
/// again soon. A visit begins when the worker takes one, and ends when it has no work.
void BeginVisit(Worker *worker, uint64_t now) noexcept;
void EndVisit(Worker *worker) noexcept;
/// Call when the worker has no work. Ends the visit, if there is one.
inline void NoteVisit(Worker *worker) noexcept {
    if (worker->visitBegan != 0) EndVisit(worker);
}

}  // namespace weft::internal
