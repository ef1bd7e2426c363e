// Reads the machine with hwloc, and divides its CPUs into parts.
#include "topology/machine.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <hwloc.h>

namespace weft::internal {

namespace {

// A bitmap of hwloc.
class CpuSet {
public:
    CpuSet() noexcept : m_set(hwloc_bitmap_alloc()) {}
    ~CpuSet() { hwloc_bitmap_free(m_set); }
    CpuSet(const CpuSet &) = delete;
    CpuSet &operator=(const CpuSet &) = delete;

    bool IsAcquired() const noexcept { return m_set != nullptr; }
    hwloc_bitmap_t Get() const noexcept { return m_set; }

private:
    hwloc_bitmap_t m_set;
};

// Calls use(cpu) for each CPU of the set.
template <class Use>
void ForEach(hwloc_const_bitmap_t set, Use use) noexcept {
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
        use(static_cast<uint32_t>(cpu));
}

// Reads a machine in the steps of Read.
class Reader {
public:
    Reader(const TopologyOptions &options, Machine &machine) noexcept
        : m_options(options), m_machine(machine) {}
    ~Reader() {
        if (m_topology != nullptr) hwloc_topology_destroy(m_topology);
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    Status Read(SplitBy by) noexcept {
        if (!m_usable.IsAcquired() || !m_scratch.IsAcquired()) return Status::OutOfMemory;
        if (const Status status = Load(); status != Status::Ok) return status;
        if (const Status status = FindUsable(); status != Status::Ok) return status;
        FindSpeeds();
        if (!FindParts(by)) return Status::OutOfMemory;
        PutInOrder();
        return Status::Ok;
    }

private:
    // Loads the topology of this machine, or the one that the options give as XML or as a
    // description.
    Status Load() noexcept {
        if (hwloc_topology_init(&m_topology) != 0) {
            m_topology = nullptr;
            return Status::OutOfMemory;
        }
        // Otherwise a cache would seem smaller if the process may use only a few of its CPUs.
        hwloc_topology_set_flags(m_topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
        const char *source = m_options.source;
        if (source == nullptr)
            return hwloc_topology_load(m_topology) == 0 ? Status::Ok : Status::OutOfMemory;
        const bool isXml = source[std::strspn(source, " \t\r\n")] == '<';
        const int set = isXml ? hwloc_topology_set_xmlbuffer(
                                    m_topology, source, static_cast<int>(std::strlen(source) + 1))
                              : hwloc_topology_set_synthetic(m_topology, source);
        return set == 0 && hwloc_topology_load(m_topology) == 0 ? Status::Ok : Status::BadOption;
    }

    // Returns true if the options ask for this CPU.
    bool Asked(uint32_t cpu) const noexcept {
        if (m_options.cpus == nullptr) return true;
        return cpu / 64 < m_options.cpuWords && (m_options.cpus[cpu / 64] >> (cpu % 64) & 1) != 0;
    }

    // Finds the CPUs that the process may use and the options ask for. Makes Machine::cpus.
    Status FindUsable() noexcept {
        const hwloc_bitmap_t usable = m_usable.Get();
        if (hwloc_bitmap_copy(usable, hwloc_topology_get_allowed_cpuset(m_topology)) != 0)
            return Status::OutOfMemory;
        hwloc_bitmap_clr_range(usable, kMaxCpus, -1);
        if (m_options.source == nullptr) KeepThoseOfProcess(usable);
        ForEach(usable, [&](uint32_t cpu) {
            if (!Asked(cpu)) hwloc_bitmap_clr(usable, cpu);
        });
        if (m_options.onePerCore) hwloc_bitmap_singlify_per_core(m_topology, usable, 0);
        const int last = hwloc_bitmap_last(usable);
        if (last < 0) return Status::BadOption;

        m_machine.cpuCount = static_cast<uint32_t>(last) + 1;
        m_machine.cpus.reset(new (std::nothrow) Cpu[m_machine.cpuCount]);
        if (m_machine.cpus == nullptr) return Status::OutOfMemory;
        ForEach(usable, [&](uint32_t cpu) { m_machine.cpus[cpu].isUsable = true; });
        return Status::Ok;
    }

    // Keeps the CPUs that this process may use, on which weft starts its threads.
    void KeepThoseOfProcess(hwloc_bitmap_t cpus) const noexcept {
        uint64_t mask[kMaxCpus / 64];
        if (ReadUsableCpus(mask, kMaxCpus / 64) == 0) return;
        ForEach(cpus, [&](uint32_t cpu) {
            if ((mask[cpu / 64] >> (cpu % 64) & 1) == 0) hwloc_bitmap_clr(cpus, cpu);
        });
    }

    template <class Use>
    void ForEachUsable(hwloc_const_bitmap_t set, Use use) noexcept {
        ForEach(set, [&](uint32_t cpu) {
            if (cpu < m_machine.cpuCount && m_machine.cpus[cpu].isUsable) use(m_machine.cpus[cpu]);
        });
    }

    // The number of kinds of cores that the system reports.
    uint32_t Kinds() noexcept {
        return static_cast<uint32_t>(std::max(hwloc_cpukinds_get_nr(m_topology, 0), 0));
    }

    // Puts the CPUs of a kind into m_scratch. Returns their speed.
    int32_t ReadKind(uint32_t kind) noexcept {
        int speed = -1;
        hwloc_bitmap_zero(m_scratch.Get());
        hwloc_cpukinds_get_info(m_topology, kind, m_scratch.Get(), &speed, nullptr, nullptr, 0);
        return speed;
    }

    void FindSpeeds() noexcept {
        for (uint32_t kind = 0, kinds = Kinds(); kind < kinds; ++kind) {
            const int32_t speed = ReadKind(kind);
            ForEachUsable(m_scratch.Get(), [&](Cpu &cpu) { cpu.speed = speed; });
        }
    }

    // Makes Machine::parts. Returns false if there is no memory.
    bool FindParts(SplitBy by) noexcept {
        const uint32_t most = by == SplitBy::CoreKind ? Kinds()
                              : by == SplitBy::Cache  ? Count(kCaches)
                                                      : Count(kNodes);
        m_machine.parts.reset(new (std::nothrow) Part[most + 1]);  // one more for the other CPUs
        if (m_machine.parts == nullptr) return false;
        switch (by) {
            case SplitBy::CoreKind:
                AddKinds();
                break;
            case SplitBy::Cache:
                AddCaches();
                break;
            case SplitBy::NumaNode:
                AddNodes();
                break;
        }
        AddRest();
        return true;
    }

    // Outermost caches first: a CPU belongs to the first cache that contains it.
    static constexpr hwloc_obj_type_t kCaches[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE,
                                                   HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE,
                                                   HWLOC_OBJ_L1CACHE};
    static constexpr hwloc_obj_type_t kNodes[] = {HWLOC_OBJ_NUMANODE};

    template <size_t kTypes>
    uint32_t Count(const hwloc_obj_type_t (&types)[kTypes]) const noexcept {
        uint32_t count = 0;
        for (const hwloc_obj_type_t type : types) count += Count(type);
        return count;
    }
    uint32_t Count(hwloc_obj_type_t type) const noexcept {
        return static_cast<uint32_t>(std::max(hwloc_get_nbobjs_by_type(m_topology, type), 0));
    }

    // Adds a part with the usable CPUs of the set that are in no part yet.
    void Add(const char *name, uint32_t number, hwloc_const_bitmap_t cpus) noexcept {
        const uint32_t index = m_machine.partCount++;
        Part &part = m_machine.parts[index];
        part.name = name;
        part.number = number;
        part.index = index;
        ForEachUsable(cpus, [&](Cpu &cpu) {
            if (cpu.part != kNoPart) return;
            cpu.part = index;
            part.speed = std::max(part.speed, cpu.speed);
            ++part.cpus;
        });
    }

    void AddKinds() noexcept {
        const uint32_t kinds = Kinds();
        if (kinds < 2) return;  // the system reports no difference
        for (uint32_t kind = 0; kind < kinds; ++kind) {
            const bool isKnown = ReadKind(kind) >= 0;  // then the last kind is the fastest
            if (isKnown && kinds == 2) {
                Add(kind == 1 ? "P cores" : "E cores", kNoNumber, m_scratch.Get());
            } else {
                Add("kind", isKnown ? kinds - 1 - kind : kind, m_scratch.Get());
            }
        }
    }

    // A cache of a single core makes no part. Virtual machines often report a cache for each CPU,
    // which says nothing.
    bool IsShared(hwloc_const_bitmap_t cpus) const noexcept {
        const hwloc_obj_type_t core = Count(HWLOC_OBJ_CORE) != 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
        return hwloc_get_nbobjs_inside_cpuset_by_type(m_topology, cpus, core) > 1;
    }

    void AddCaches() noexcept {
        const hwloc_bitmap_t covered = m_scratch.Get();
        hwloc_bitmap_zero(covered);
        for (const hwloc_obj_type_t type : kCaches) {
            for (uint32_t i = 0, count = Count(type); i < count; ++i) {
                const hwloc_const_bitmap_t cpus =
                    hwloc_get_obj_by_type(m_topology, type, i)->cpuset;
                if (!IsShared(cpus) || hwloc_bitmap_intersects(cpus, covered) != 0) continue;
                Add("cache", m_machine.partCount, cpus);
                hwloc_bitmap_or(covered, covered, cpus);
            }
        }
    }

    void AddNodes() noexcept {
        for (uint32_t i = 0, count = Count(HWLOC_OBJ_NUMANODE); i < count; ++i) {
            const hwloc_obj_t node = hwloc_get_obj_by_type(m_topology, HWLOC_OBJ_NUMANODE, i);
            Add("node", node->os_index, node->cpuset);
        }
    }

    // The last part has the usable CPUs that are in no other part.
    void AddRest() noexcept {
        Add(m_machine.partCount == 0 ? "all cores" : "other", kNoNumber, m_usable.Get());
    }

    // Sorts the parts, the fastest first, and removes parts without CPUs.
    void PutInOrder() noexcept {
        Part *parts = m_machine.parts.get();
        std::sort(parts, parts + m_machine.partCount, [](const Part &left, const Part &right) {
            if ((left.cpus == 0) != (right.cpus == 0)) return left.cpus != 0;
            return left.speed != right.speed ? left.speed > right.speed : left.index < right.index;
        });
        for (uint32_t i = 0; i < m_machine.partCount; ++i) parts[parts[i].index].position = i;
        while (parts[m_machine.partCount - 1].cpus == 0) --m_machine.partCount;
        ForEachUsable(m_usable.Get(), [&](Cpu &cpu) { cpu.part = parts[cpu.part].position; });
    }

    const TopologyOptions &m_options;
    Machine &m_machine;
    hwloc_topology_t m_topology = nullptr;
    CpuSet m_usable, m_scratch;
};

}  // namespace

Status ReadMachine(SplitBy by, const TopologyOptions &options, Machine &machine) noexcept {
    if (by > SplitBy::NumaNode) return Status::BadOption;
    if (options.cpus != nullptr && options.cpuWords > kMaxCpus / 64) return Status::BadOption;
    return Reader(options, machine).Read(by);
}

}  // namespace weft::internal
