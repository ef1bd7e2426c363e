// Makes worker groups of the parts of a machine.
#include "weft/topology/topology.h"

#include "topology/machine.h"

#include <algorithm>
#include <cstdio>
#include <new>

namespace weft {

namespace {

using internal::Cpu;
using internal::Machine;

// Assigns parts to groups. If there are too many parts, neighbours share a group.
class Grouping {
public:
    explicit Grouping(uint32_t parts) noexcept
        : m_parts(parts), m_groups(std::min(parts, Topology::kMaxGroups)) {}
    uint32_t Groups() const noexcept { return m_groups; }
    uint32_t GroupOf(uint32_t part) const noexcept { return part * m_groups / m_parts; }
    uint32_t FirstPart(uint32_t group) const noexcept {
        return (group * m_parts + m_groups - 1) / m_groups;
    }

private:
    uint32_t m_parts, m_groups;
};

// Reduces the workers of the groups so that the sum is at most `most`. A group whose share is less
// than one worker may get none. The first group gets at least one.
void ShareWorkers(WorkerGroup *groups, uint32_t count, uint32_t most) noexcept {
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; ++i) all += groups[i].workers;
    if (all <= most) return;
    uint64_t before = 0, given = 0;
    for (uint32_t i = 0; i < count; ++i) {
        before += groups[i].workers;
        const uint64_t upToHere = (before * most + all - 1) / all;
        groups[i].workers = static_cast<uint32_t>(upToHere - given);
        given = upToHere;
    }
}

}  // namespace

Topology::Topology(SplitBy by, const TopologyOptions &options) noexcept
    : m_result(Status::BadOption) {
    if (options.maxWorkers < 1 || options.maxWorkers > 1024) return;
    Machine machine;
    m_result = internal::ReadMachine(by, options, machine);
    if (m_result != Status::Ok) return;

    const Grouping grouping(machine.partCount);
    const uint32_t count = grouping.Groups(), words = (machine.cpuCount + 63) / 64;
    m_masks.reset(new (std::nothrow) uint64_t[size_t{count} * words]());
    if (m_masks == nullptr) {
        m_result = Status::OutOfMemory;
        return;
    }
    for (uint32_t i = 0; i < machine.cpuCount; ++i) {
        const Cpu &cpu = machine.cpus[i];
        if (!cpu.isUsable) continue;
        const uint32_t group = grouping.GroupOf(cpu.part);
        ++m_groups[group].workers;
        m_masks[size_t{group} * words + i / 64] |= uint64_t{1} << (i % 64);
    }
    for (uint32_t i = 0; i < count; ++i) {
        const internal::Part &part = machine.parts[grouping.FirstPart(i)];
        if (part.number == internal::kNoNumber) {
            std::snprintf(m_names[i], kNameBytes, "%s", part.name);
        } else {
            std::snprintf(m_names[i], kNameBytes, "%s %u", part.name, part.number);
        }
        m_groups[i].name = m_names[i];
        m_groups[i].cpus = &m_masks[size_t{i} * words];
        m_groups[i].cpuWords = words;
    }
    ShareWorkers(m_groups, count, options.maxWorkers);
    WorkerGroup *end = std::remove_if(m_groups, m_groups + count,
                                      [](const WorkerGroup &group) { return group.workers == 0; });
    m_groupCount = static_cast<uint32_t>(end - m_groups);
}

uint32_t Topology::Workers() const noexcept {
    uint32_t workers = 0;
    for (uint32_t i = 0; i < m_groupCount; ++i) workers += m_groups[i].workers;
    return workers;
}

void Topology::ApplyTo(SchedulerOptions &options) const noexcept {
    if (m_groupCount == 0) return;
    options.workers = Workers();
    options.groups = m_groups;
    options.groupCount = m_groupCount;
}

}  // namespace weft
