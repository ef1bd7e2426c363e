// How late work begins on real threads, in the grid of support/grid.h.
#pragma once

#include <cstdint>

namespace soak {

/// Runs the grid in each setting of the machine for a share of the time, and prints the times.
/// Returns false if work was lost or did not begin.
bool RunGrid(uint32_t seconds, uint64_t seed);

}  // namespace soak
