// Layouts of worker groups, and a check of where tasks run.
#pragma once

#include "support/scheduler_run.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace test {

weft::WorkerGroup Group(uint32_t workers, bool namedOnly = false, bool runsLow = false);

/// Groups of a scheduler. In a set of groups, bit i stands for group i. Must outlive the schedulers
/// that use its options.
class GroupLayout {
public:
    explicit GroupLayout(const std::vector<weft::WorkerGroup> &groups);
    /// The same groups, but exactly those of the set `low` have runsLow.
    GroupLayout(const GroupLayout &other, uint32_t low);
    GroupLayout(const GroupLayout &) = delete;
    GroupLayout &operator=(const GroupLayout &) = delete;

    void AddTo(weft::SchedulerOptions &options) const;
    weft::SchedulerOptions Options(uint32_t fibers = 160,
                                   weft::IdlePolicy idle = weft::IdlePolicy::Balanced) const;

    uint32_t Workers() const { return m_workers; }
    uint32_t GroupCount() const { return static_cast<uint32_t>(m_groups.size()); }
    uint32_t GroupOf(uint32_t worker) const;
    uint32_t FirstOf(uint32_t group) const;
    uint32_t WorkersOf(uint32_t group) const { return m_groups[group].workers; }
    uint32_t WorkersIn(uint32_t set) const;   ///< of all groups in a set
    uint32_t Open() const { return m_open; }  ///< the set of groups that are not namedOnly
    std::string Text() const;

    /// Whether the worker belongs to a group of the set.
    bool IsIn(uint32_t worker, uint32_t set) const;
    /// Whether the worker may run a task of this group, or of no group (kAnyGroup). Attached
    /// threads may run only tasks of no group.
    bool MayRun(uint32_t worker, uint32_t group) const;
    std::vector<uint8_t> Groups() const;  ///< the indices of all groups

private:
    std::vector<weft::WorkerGroup> m_groups;
    uint32_t m_workers = 0;
    uint32_t m_open = 0;
};

/// Layouts of two to four groups, some of which are namedOnly.
const std::vector<const GroupLayout *> &GroupLayouts();

/// Counts tasks that run on a wrong worker.
struct GroupWitness {
    explicit GroupWitness(const GroupLayout &witnessed) : layout(witnessed) {}
    /// Called by a task of this group, or of no group (kAnyGroup). Counts it if it may not run on
    /// its worker.
    void See(const weft::TaskScheduler &scheduler, uint32_t group) {
        if (!layout.MayRun(scheduler.CurrentWorker(), group)) wrong.fetch_add(1);
    }
    /// Called by a task that may run only in the groups of a set.
    void SeeIn(const weft::TaskScheduler &scheduler, uint32_t set) {
        if (!layout.IsIn(scheduler.CurrentWorker(), set)) wrong.fetch_add(1);
    }
    const GroupLayout &layout;
    std::atomic<uint32_t> wrong{0}, ran{0};
};

inline weft::TaskOptions InGroup(uint32_t group, weft::Priority priority = weft::Priority::Normal) {
    return {priority, weft::kAnyWorker, "in group", static_cast<uint8_t>(group)};
}

/// From now on, exactly the groups of the set have runsLow.
void SetRunsLow(weft::TaskScheduler &scheduler, const GroupLayout &layout, uint32_t set);

}  // namespace test
