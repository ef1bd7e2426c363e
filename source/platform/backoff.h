// One turn of a loop that waits for another thread which is about to be done. Most turns only
// pause. Every 64th turn yields to other threads, because the other thread may not be running.
// After 16 yields it sleeps instead: if this thread has the higher priority, the other one may not
// run before that.
#pragma once

#include "platform/env.h"

namespace weft::internal {

class Backoff {
public:
    void Next() noexcept {
        ++m_turn;
        if (m_turn % kTurnsUntilYield != 0) {
            env::Pause();
        } else if (m_turn < kTurnsUntilNap) {
            env::YieldThread();
        } else {
            env::NapThread();
        }
    }

private:
    static constexpr uint32_t kTurnsUntilYield = 64, kTurnsUntilNap = 16 * kTurnsUntilYield;
    uint32_t m_turn = 0;
};

}  // namespace weft::internal
