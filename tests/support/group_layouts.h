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

weft::WorkerGroup Group(uint32_t workers, bool namedOnly = false);

/// Groups of a scheduler, and the sets of groups that tests name. Must outlive the schedulers that
/// use its options.
class GroupLayout {
public:
    explicit GroupLayout(const std::vector<weft::WorkerGroup> &groups);
    GroupLayout(const GroupLayout &) = delete;
    GroupLayout &operator=(const GroupLayout &) = delete;

    void AddTo(weft::SchedulerOptions &options) const;
    weft::SchedulerOptions Options(uint32_t smallFibers = 128, uint32_t largeFibers = 32,
                                   weft::IdlePolicy idle = weft::IdlePolicy::Balanced) const;

    uint32_t Workers() const { return m_workers; }
    uint32_t GroupCount() const { return static_cast<uint32_t>(m_groups.size()); }
    uint32_t GroupOf(uint32_t worker) const;
    uint32_t FirstOf(uint32_t group) const;
    uint32_t WorkersOf(uint32_t groups) const;  ///< of all groups in a set
    uint8_t Open() const { return m_open; }     ///< the groups that are not namedOnly
    std::string Text() const;

    /// Whether the worker may run a task that names these groups (0: none). Attached threads may
    /// run only tasks that name none.
    bool MayRun(uint32_t worker, uint8_t groups) const;
    /// Up to nine sets of groups, as many as a run may name. The sets of one group come first.
    std::vector<uint8_t> Sets() const;

private:
    std::vector<weft::WorkerGroup> m_groups;
    uint32_t m_workers = 0;
    uint8_t m_open = 0;
};

/// Layouts of two to four groups, some of which are namedOnly.
const std::vector<const GroupLayout *> &GroupLayouts();

/// Counts tasks that run on a wrong worker.
struct GroupWitness {
    explicit GroupWitness(const GroupLayout &witnessed) : layout(witnessed) {}
    /// Called by a task that runs in `groups` (0: it names none). Counts it if it may not run on
    /// its worker.
    void See(const weft::TaskScheduler &scheduler, uint8_t groups) {
        if (!layout.MayRun(scheduler.CurrentWorker(), groups)) wrong.fetch_add(1);
    }
    const GroupLayout &layout;
    std::atomic<uint32_t> wrong{0}, ran{0};
};

inline weft::TaskOptions InGroups(uint32_t groups, weft::Priority priority = weft::Priority::Normal,
                                  weft::StackClass stack = weft::StackClass::Small) {
    return {priority, stack, weft::kAnyWorker, "in groups", static_cast<uint8_t>(groups)};
}

}  // namespace test
