// A machine as hwloc describes it: its parts, which become groups, and the part that each usable
// CPU belongs to.
#pragma once

#include "weft/options.h"
#include "weft/topology/topology.h"

#include <cstdint>
#include <memory>

namespace weft::internal {

constexpr uint32_t kMaxCpus = 1024 * 64;  // as many as the mask of a WorkerGroup can have
constexpr uint32_t kNoPart = UINT32_MAX;

/// CPUs that have something in common.
struct Part {
    const char *name = nullptr;  ///< with a %u for the number, or without
    uint32_t number = 0;
    uint32_t cpus = 0;      ///< usable ones
    int32_t speed = -1;     ///< of its fastest CPU; larger is faster, -1 unknown
    uint32_t index = 0;     ///< while parts are found
    uint32_t position = 0;  ///< of the part with this `index`, once they are in order
};

struct Cpu {
    bool isUsable = false;
    uint32_t part = kNoPart;  ///< index into Machine::parts
    int32_t speed = -1;
};

/// The parts that have usable CPUs, fastest first, and all CPUs up to the last usable one, by their
/// numbers.
struct Machine {
    std::unique_ptr<Part[]> parts;
    uint32_t partCount = 0;
    std::unique_ptr<Cpu[]> cpus;
    uint32_t cpuCount = 0;
};

/// Fills `machine`; it has a CPU then. See Topology::Result for what it returns.
Status ReadMachine(SplitBy by, const TopologyOptions &options, Machine &machine) noexcept;

}  // namespace weft::internal
