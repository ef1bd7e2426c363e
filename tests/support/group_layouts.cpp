// The layouts of worker groups.
#include "support/group_layouts.h"

namespace test {

using namespace weft;

GroupLayout::GroupLayout(const std::vector<WorkerGroup> &groups) : m_groups(groups) {
    for (uint32_t i = 0; i < GroupCount(); ++i) {
        m_workers += m_groups[i].workers;
        if (!m_groups[i].namedOnly) m_open |= 1u << i;
    }
}

GroupLayout::GroupLayout(const GroupLayout &other, uint32_t low) : GroupLayout(other.m_groups) {
    for (uint32_t i = 0; i < GroupCount(); ++i) m_groups[i].runsLow = (low >> i & 1) != 0;
}

void GroupLayout::AddTo(SchedulerOptions &options) const {
    options.workers = m_workers;
    options.groups = m_groups.data();
    options.groupCount = GroupCount();
}

SchedulerOptions GroupLayout::Options(uint32_t fibers, IdlePolicy idle) const {
    SchedulerOptions options = test::Options(m_workers, fibers, idle);
    AddTo(options);
    return options;
}

uint32_t GroupLayout::GroupOf(uint32_t worker) const {
    uint32_t group = 0;
    for (uint32_t end = 0; group < GroupCount(); ++group) {
        end += m_groups[group].workers;
        if (worker < end) break;
    }
    return group;
}

uint32_t GroupLayout::FirstOf(uint32_t group) const {
    uint32_t first = 0;
    for (uint32_t i = 0; i < group; ++i) first += m_groups[i].workers;
    return first;
}

uint32_t GroupLayout::WorkersIn(uint32_t set) const {
    uint32_t workers = 0;
    for (uint32_t i = 0; i < GroupCount(); ++i)
        workers += (set >> i & 1) != 0 ? m_groups[i].workers : 0;
    return workers;
}

std::string GroupLayout::Text() const {
    std::string text = "groups of";
    for (const WorkerGroup &group : m_groups)
        text += " " + std::to_string(group.workers) + (group.namedOnly ? " (named only)" : "") +
                (group.runsLow ? " (runs Low)" : "");
    return text;
}

bool GroupLayout::IsIn(uint32_t worker, uint32_t set) const {
    return worker < m_workers && (set >> GroupOf(worker) & 1) != 0;
}

bool GroupLayout::MayRun(uint32_t worker, uint32_t group) const {
    if (worker >= m_workers) return group == kAnyGroup && worker != kAnyWorker;
    return IsIn(worker, group != kAnyGroup ? 1u << group : m_open);
}

std::vector<uint8_t> GroupLayout::Groups() const {
    std::vector<uint8_t> groups;
    for (uint32_t i = 0; i < GroupCount(); ++i) groups.push_back(static_cast<uint8_t>(i));
    return groups;
}

WorkerGroup Group(uint32_t workers, bool namedOnly, bool runsLow) {
    WorkerGroup group;
    group.workers = workers;
    group.namedOnly = namedOnly;
    group.runsLow = runsLow;
    return group;
}

const std::vector<const GroupLayout *> &GroupLayouts() {
    static const GroupLayout s_two({Group(1), Group(1)});
    static const GroupLayout s_named({Group(2), Group(1, true)});
    static const GroupLayout s_three({Group(1), Group(1, true), Group(2)});
    static const GroupLayout s_four({Group(1), Group(2), Group(1, true), Group(1)});
    static const std::vector<const GroupLayout *> s_all{&s_two, &s_named, &s_three, &s_four};
    return s_all;
}

void SetRunsLow(TaskScheduler &scheduler, const GroupLayout &layout, uint32_t set) {
    // Those of the set first: without any group that has runsLow, Low tasks would run in others.
    for (const bool runsLow : {true, false}) {
        for (uint32_t i = 0; i < layout.GroupCount(); ++i) {
            if (((set >> i & 1) != 0) == runsLow) scheduler.SetRunsLow(i, runsLow);
        }
    }
}

}  // namespace test
