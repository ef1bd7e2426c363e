// Looking again for a while before suspending, for as long as it has been worth it lately.
//
// A fiber that suspends costs some 50 nanoseconds, a thread that blocks some 50 microseconds: a
// thread looks longer. Each success moves the queue's patience towards the turns that it took, each
// failure halves it, and a wait looks for up to twice the patience and a few turns more; so where
// waits are long only these few turns are lost, and where they become short again that is learnt.
// The pauses between two looks grow, because each look takes the line from who is at work there.
#pragma once

#include "platform/env.h"
#include "weft/sync/wait_queue.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

enum class Look { Done, Again, Pointless };

inline constexpr uint32_t kFewTurns = 8, kMaxTurnsOfTask = 40, kMaxTurnsOfThread = 400,
                          kMaxPauses = 16;

/// Calls `look()` until it says Done (true) or Pointless (false), or the patience is at its end
/// (false).
template <class LookOnce>
bool SpinBriefly(WaitQueue &queue, LookOnce look) noexcept {
    // relaxed: an estimate, whoever writes it last.
    const uint32_t patience = queue.Patience().load(kRelaxed);
    const bool isTask = queue.Scheduler().CurrentWorker() != kAnyWorker;
    const uint32_t most = isTask ? kMaxTurnsOfTask : kMaxTurnsOfThread;
    const uint32_t limit = patience * 2 + kFewTurns < most ? patience * 2 + kFewTurns : most;
    for (uint32_t turn = 0, pauses = 1;;) {
        const Look seen = look();
        if (seen == Look::Pointless) return false;
        if (seen == Look::Done) {
            // The queue may not be gone: look() has it for the caller. Rounded up, or it would
            // never leave zero.
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

}  // namespace weft::internal
