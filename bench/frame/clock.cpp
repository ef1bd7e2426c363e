// Reads the clock of the machine.
#include "frame/clock.h"

#include <chrono>

namespace frame {

int64_t NowNs() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace frame
