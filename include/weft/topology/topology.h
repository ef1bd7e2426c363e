// Worker groups that follow the machine: one for each kind of core, for each last-level cache, or
// for each NUMA node.
//
//     const weft::Topology machine(weft::SplitBy::CoreKind);
//     weft::SchedulerOptions options;
//     machine.ApplyTo(options);                 // P cores are group 0, E cores group 1, if any
//     weft::TaskScheduler scheduler(options);   // `machine` must outlive it
//
// This is a separate library, weft_topology, which needs hwloc: weft.useTopology() in a Premake
// script. Linux only.
#pragma once

#include "weft/options.h"

#include <cstdint>
#include <memory>

namespace weft {

/// What the CPUs of a group have in common.
enum class SplitBy : uint8_t {
    CoreKind,  ///< the kind of core: performance cores, efficiency cores
    Cache,     ///< the last-level cache: the outermost one that at least two cores share
    NumaNode   ///< the NUMA node
};

/// Which CPUs a Topology takes into its groups, and how many workers they get. Only the constructor
/// reads it.
struct TopologyOptions {
    /// One worker for each core, on its first usable CPU, instead of one for each hardware thread
    bool onePerCore = false;
    /// Limit of the workers of all groups together, 1 to 1024. If there are more CPUs, the groups
    /// share the workers in proportion; a group that gets none is left out
    uint32_t maxWorkers = 1024;
    /// Use only these CPUs, for example all except the CPU of an audio thread. Bit 0 of word 0 is
    /// CPU 0. Null = all CPUs that the process may use
    const uint64_t *cpus = nullptr;
    uint32_t cpuWords = 0;  ///< 64-bit words in `cpus`, 1 to 1024
    /// For tests: describes another machine that is used instead of this one; hwloc's XML text
    /// (from lstopo), or a synthetic description such as "node:2 core:8 pu:2"
    const char *source = nullptr;
};

/// The groups of one machine, as SchedulerOptions::groups takes them.
///
/// A group has one worker for each of its CPUs, and its threads keep to these CPUs. The thread that
/// calls Run counts as the first worker of group 0, and stays where it is. CPUs that the process
/// may not use are in no group, and groups without CPUs are left out. A CPU quota is ignored.
///
/// A part is one core kind, one cache or one NUMA node. There are at most 8 groups. If the machine
/// has more parts, each group takes several neighbouring parts. The numbers of parts of two groups
/// differ by at most one. A group is named after its first part.
///
/// If the system reports core speeds, groups with the fastest cores come first. Groups of equal
/// speed are in hwloc's order. If hwloc finds no parts of the requested kind, there is one group,
/// "all cores". CPUs outside of all parts form a group "other".
class Topology {
public:
    static constexpr uint32_t kMaxGroups = 8;

    /// Reads the machine. See LastError for errors; after an error there are no groups.
    ///
    /// Names of groups. CoreKind: "P cores" and "E cores"; "kind 0", "kind 1" and so on if there
    /// are more than two kinds or their speeds are unknown. Cache: "cache 0" and so on, in hwloc's
    /// order. NumaNode: "node N", with the system's number. The constructor takes milliseconds,
    /// reads files, and allocates memory without MemoryHooks.
    ///
    /// Call it on a thread that is not a worker. On x86, hwloc binds the calling thread to each CPU
    /// in turn, and then restores its mask.
    explicit Topology(SplitBy by, const TopologyOptions &options = {}) noexcept;
    Topology(const Topology &) = delete;
    Topology &operator=(const Topology &) = delete;

    /// Returns Ok, or the error of the constructor: BadOption (an option is out of range, `source`
    /// is not understood, or no CPU is left), OutOfMemory (there is no memory, or hwloc cannot read
    /// the machine).
    Status LastError() const noexcept { return m_result; }

    /// Returns the number of groups: 1 to 8, or 0 after an error.
    uint32_t GroupCount() const noexcept { return m_groupCount; }
    /// Returns the groups. Their names and masks live as long as the Topology. Before ApplyTo you
    /// may change the `name`, `nice`, `namedOnly`, `runsLow` and `workers` (1 or more) of a group.
    const WorkerGroup *Groups() const noexcept { return m_groups; }
    WorkerGroup *Groups() noexcept { return m_groups; }
    /// Returns the sum of the groups' workers; 0 if there are no groups.
    uint32_t Workers() const noexcept;

    /// Sets `workers`, `groups` and `groupCount` of the options. Has no effect if there are no
    /// groups; the scheduler then uses its defaults.
    ///
    /// The options then point to groups and names inside the Topology, so it must outlive the
    /// scheduler. Thread-safe.
    void ApplyTo(SchedulerOptions &options) const noexcept;

private:
    static constexpr uint32_t kNameBytes = 16;

    Status m_result;
    uint32_t m_groupCount = 0;
    WorkerGroup m_groups[kMaxGroups];
    char m_names[kMaxGroups][kNameBytes] = {};
    std::unique_ptr<uint64_t[]> m_masks;  // masks of the groups, one after the other
};

}  // namespace weft
