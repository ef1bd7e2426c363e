// The clock that frames are measured with. In virtual time another one stands in for it
// (bench/machine/frame_clock.cpp).
#pragma once

#include <cstdint>

namespace frame {

int64_t NowNs();

}  // namespace frame
