// A loop that waits for somebody who is about to be done: turns of it pause, and give the thread
// away now and then, because that one's thread may not be running. It may not run before this one
// sleeps, if this one has a higher priority.
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
