// One round of the soak, with one seed: several schedulers side by side, each run several times.
#pragma once

#include "soak/figures.h"

namespace soak {

/// `hooks`: also count fiber switches, and check with the trace hooks that each task begins and
/// ends once. This costs time.
void RunRound(uint64_t seed, bool hooks, Figures &figures);

}  // namespace soak
