// Spins before a wait. How long it spins depends on how long it paid lately.
//
// Suspending a fiber costs about 50 nanoseconds, blocking a thread about 50 microseconds. So a
// thread spins longer than a task.
//
// The unit is one pause (env::Pause). The queue stores its patience, an estimate:
// - Each success moves the patience towards the number of pauses that it took.
// - Each failure halves the patience.
// - A wait spins for up to twice the patience plus kFewTurns pauses.
// So if waits are long, only these few pauses are lost. If waits become short again, the patience
// grows again.
//
// The number of pauses between two checks grows, because each check takes the cache line from the
// thread that works on it.
#pragma once

#include "platform/backoff.h"
#include "platform/env.h"
#include "weft/sync/wait_queue.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

enum class Look { Done, Again, Pointless };

inline constexpr uint32_t kFewTurns = 8, kMaxTurnsOfTask = 40, kMaxTurnsOfThread = 400,
                          kMaxPauses = 16;

/// Calls `look()` until it returns Done (true) or Pointless (false), or until the limit of pauses
/// is reached (false).
template <class LookOnce>
bool SpinBriefly(WaitQueue &queue, LookOnce look) noexcept {
    // relaxed, all uses of the patience: it is an estimate. If several threads write it, any of the
    // values will do.
    const uint32_t patience = queue.Patience().load(kRelaxed);
    const bool isTask = queue.Scheduler().CurrentWorker() != kAnyWorker;
    const uint32_t most = isTask ? kMaxTurnsOfTask : kMaxTurnsOfThread;
    const uint32_t limit = patience * 2 + kFewTurns < most ? patience * 2 + kFewTurns : most;
    for (uint32_t turn = 0, pauses = 1;;) {
        const Look seen = look();
        if (seen == Look::Pointless) return false;
        if (seen == Look::Done) {
            // The queue is still alive: look() has acquired it for the caller. Rounded up,
            // otherwise the patience would never leave zero.
            if (turn != 0) queue.Patience().store((patience * 7 + turn + 7) / 8, kRelaxed);
            return true;
        }
        if (turn >= limit) break;
        for (uint32_t i = 0; i < pauses; ++i) env::Pause();
        turn += pauses;
        if (pauses < kMaxPauses) pauses *= 2;
    }
    if (patience != 0) queue.Patience().store(patience / 2, kRelaxed);
    return false;
}

/// For a caller that cannot wait: calls `attempt()` until it returns true. Returns false if the
/// deadline passes first; null means no deadline.
template <class Attempt>
bool Poll(Deadline *deadline, Attempt attempt) noexcept {
    for (Backoff backoff; !attempt(); backoff.Next()) {
        if (deadline != nullptr && deadline->HasPassed()) return false;
    }
    return true;
}

}  // namespace weft::internal
