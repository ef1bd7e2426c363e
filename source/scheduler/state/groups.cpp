// Implements groups.h.
#include "scheduler/state/groups.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kHighAndNormal = LevelsOf(1, 2);
constexpr uint32_t kPlainLow = Level(Priority::Low).Bit();

bool IsActive(const Scheduler &scheduler, const Worker &worker) noexcept {
    // relaxed, here and below: the worker has taken its signal (acquire), or another one follows
    return worker.index < scheduler.activeWorkers.load(kRelaxed) ||
           scheduler.IsAttachedSlot(worker.index) || worker.index == 0 ||
           scheduler.workers[worker.index - 1].group != worker.group;  // the first of its group
}

}  // namespace

uint32_t RunsOf(const Scheduler &scheduler, const Worker &worker) noexcept {
    const SchedulerOptions &options = scheduler.options;
    if (!IsActive(scheduler, worker)) return 0;
    if (options.groupCount == 0 || scheduler.IsAttachedSlot(worker.index)) return kPlainLevels;
    const bool isOpen = !options.groups[worker.group].namedOnly;
    const uint32_t low = scheduler.lowGroups.load(kRelaxed);
    const bool runsLow = low != 0 ? (low >> worker.group & 1) != 0 : isOpen;
    return LevelsOf(1u << (worker.group + 1)) | (isOpen ? kHighAndNormal : 0) |
           (runsLow ? kPlainLow : 0);
}

void AssignGroups(Scheduler &scheduler) noexcept {
    SchedulerOptions &options = scheduler.options;
    std::copy_n(options.groups, options.groupCount, scheduler.groups);
    options.groups = scheduler.groups;
    uint32_t group = 0, end = options.groupCount != 0 ? options.groups[0].workers : 0;
    for (uint32_t i = 0; i < scheduler.workerCount; ++i) {
        Worker &worker = scheduler.workers[i];
        while (group + 1 < options.groupCount && i >= end) end += options.groups[++group].workers;
        worker.group = group;
    }
    uint32_t low = 0;
    for (uint32_t i = 0; options.groupCount > 1 && i < options.groupCount; ++i)
        low |= uint32_t{options.groups[i].runsLow} << i;
    // relaxed, both: the run has not begun
    scheduler.lowGroups.store(low, kRelaxed);
    scheduler.activeWorkers.store(scheduler.workerCount, kRelaxed);
}

}  // namespace weft::internal
