// The CPUs that the process may use.
#pragma once

#include <hwloc.h>

namespace weft::internal {

/// Reads the CPUs of the process, not those of the calling thread. weft binds its threads to the
/// same ones. Returns false if they are unknown.
bool ReadProcessCpus(hwloc_topology_t topology, hwloc_bitmap_t cpus) noexcept;

}  // namespace weft::internal
