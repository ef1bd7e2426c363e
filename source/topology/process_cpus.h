// The CPUs that the process may use.
#pragma once

#include <hwloc.h>

namespace weft::internal {

/// Fills `cpus`. The same ones that weft keeps its threads to: those of the process, not of the
/// calling thread. False: unknown.
bool ReadProcessCpus(hwloc_topology_t topology, hwloc_bitmap_t cpus) noexcept;

}  // namespace weft::internal
