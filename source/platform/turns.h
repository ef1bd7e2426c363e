// A loop that waits for somebody who is about to be done: turns of it pause, and give the thread away now and then, because
// that one's thread may not be running.
#pragma once

#include "platform/env.h"

namespace weft::internal {

class Turns {
public:
    void Next() noexcept {
        if (++m_turn % kTurnsUntilYield == 0) {
            env::YieldThread();
        } else {
            env::Pause();
        }
    }

private:
    static constexpr uint32_t kTurnsUntilYield = 64;
    uint32_t m_turn = 0;
};

}  // namespace weft::internal
