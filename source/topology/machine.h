// A machine as hwloc describes it: its parts, which become worker groups, and the part of each
// usable CPU.
#pragma once

#include "weft/options.h"
#include "weft/topology/topology.h"

#include <cstdint>
#include <memory>

namespace weft::internal {

constexpr uint32_t kMaxCpus = 1024 * 64;  // the most that the mask of a WorkerGroup can have
constexpr uint32_t kNoPart = UINT32_MAX, kNoNumber = UINT32_MAX;

/// A set of CPUs that have something in common.
struct Part {
    const char *name = nullptr;
    uint32_t number = kNoNumber;  ///< follows the name, if there is one
    uint32_t cpus = 0;            ///< how many usable CPUs
    int32_t speed = -1;           ///< of its fastest CPU; larger is faster; -1: unknown
    uint32_t index = 0;           ///< its index before sorting
    uint32_t position = 0;        ///< of element i: where the part with index i is after sorting
};

/// A CPU with the number of its index.
struct Cpu {
    bool isUsable = false;
    uint32_t part = kNoPart;  ///< index into Machine::parts
    int32_t speed = -1;
};

/// The parts with usable CPUs, the fastest first; and all CPUs up to the last usable one, by their
/// numbers.
struct Machine {
    std::unique_ptr<Part[]> parts;
    uint32_t partCount = 0;
    std::unique_ptr<Cpu[]> cpus;
    uint32_t cpuCount = 0;
};

/// Fills `machine`, with at least one usable CPU if it returns Ok. Topology::Result lists the
/// errors.
Status ReadMachine(SplitBy by, const TopologyOptions &options, Machine &machine) noexcept;

}  // namespace weft::internal
