// The clock that measures frames. Programs in virtual time define it differently
// (bench/machine/frame_clock.cpp).
#pragma once

#include <cstdint>

namespace frame {

int64_t NowNs();

}  // namespace frame
