// One seed's worth of soaking: schedulers side by side, each run several times.
#pragma once

#include "soak/figures.h"

namespace soak {

/// `hooks`: count fiber switches, and check that each task begins and ends once by the trace hooks,
/// too (it costs).
void RunRound(uint64_t seed, bool hooks, Figures &figures);

}  // namespace soak
