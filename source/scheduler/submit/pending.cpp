// Lowers pending decrements, and decides how long they may stay pending.
#include "scheduler/submit/pending.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// Makes the decrements pending of those tasks of the running slice that have finished. The task
// that runs is not among them.
void NoteClaimed(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    if (!claim.AnyToNote()) return;
    const uint32_t count = static_cast<uint32_t>(claim.next - 1 - claim.noted);
    claim.noted += count;
    NoteFinished(worker, claim.counter, count);
}

// Call it when as many pieces are pending as the limit allows. Sets the limit for the next ones by
// how long these have taken. With a limit of 1 no decrement stays pending.
void LookAtPending(Worker *worker) noexcept {
    constexpr uint32_t kMaxPieces = 64;
    // Without workers the order of tasks is always the same, so it must not depend on the clock.
    if (race::kFinder || worker->scheduler->workerCount == 0) return;
    const Tuning &tuning = worker->scheduler->tuning;
    PendingLimit &limit = worker->pendingLimit;
    const uint64_t now = env::Ticks();
    const uint64_t piece = (now - std::exchange(limit.lookedAt, now)) / worker->pending.pieces;
    const uint32_t most = std::min(limit.pieces * 2, kMaxPieces);
    const uint64_t pieces = tuning.maxPending / std::max<uint64_t>(piece, 1);
    limit.pieces =
        piece > tuning.longTask ? 1 : static_cast<uint32_t>(std::clamp<uint64_t>(pieces, 1, most));
}

}  // namespace

void LowerPending(Worker *worker) noexcept {
    NoteClaimed(worker);
    PendingDecrement &pending = worker->pending;
    Counter *const counter = pending.counter;
    const uint32_t finished = pending.finished, units = pending.units;
    pending = {};
    if (counter != nullptr && units != 0) LowerCounter(*worker->scheduler, worker, *counter, units);
    CountFinished(worker, finished);
}

bool LookIfPendingIsDue(Worker *worker) noexcept {
    const PendingDecrement &pending = worker->pending;
    if (AnyForValue(*worker->scheduler, pending.counter)) return true;
    if (pending.pieces < worker->pendingLimit.pieces) return false;
    LookAtPending(worker);
    return true;
}

bool RaisePast(Worker *worker, Counter *counter, uint32_t n) noexcept {
    NoteClaimed(worker);
    PendingDecrement &pending = worker->pending;
    // The counter must show each value that a task waits for. It would skip values if new tasks
    // took over pending decrements.
    if (counter == nullptr || pending.counter != counter ||
        AnyForValue(*worker->scheduler, counter)) {
        LowerPending(worker);
        return counter == nullptr || RaiseCounter(*worker->scheduler, *counter, n);
    }
    const uint32_t taken = std::min(n, pending.units);
    if (taken != n && WEFT_UNLIKELY(!RaiseCounter(*worker->scheduler, *counter, n - taken)))
        return false;
    pending.units -= taken;
    return true;
}

}  // namespace weft::internal
