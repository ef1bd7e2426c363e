// Reads the CPUs of the main thread with hwloc.
#include "topology/process_cpus.h"

#include <hwloc/linux.h>
#include <unistd.h>

namespace weft::internal {

// The thread whose number is the number of the process is the main thread. HWLOC_CPUBIND_PROCESS
// would read the CPUs that any thread may use, but weft's threads use only those of the main
// thread.
bool ReadProcessCpus(hwloc_topology_t topology, hwloc_bitmap_t cpus) noexcept {
    return hwloc_linux_get_tid_cpubind(topology, getpid(), cpus) == 0 &&
           hwloc_bitmap_iszero(cpus) == 0;
}

}  // namespace weft::internal
