// Restricts Low tasks to the first few workers.
#pragma once

#include "weft/options.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace test {

/// Makes two groups: the first `count` workers may run Low tasks, the others may not. Attached
/// threads may. If `count` is 0 or not less than the number of workers, all may. Call it after
/// options.workers is set.
inline void LimitLow(weft::SchedulerOptions &options, uint32_t count) {
    if (count == 0 || count >= options.workers || options.workers == weft::kAnyWorker) return;
    static std::mutex s_mutex;
    // They are never freed.
    static std::map<std::pair<uint32_t, uint32_t>, std::array<weft::WorkerGroup, 2>> s_groups;
    const std::lock_guard lock(s_mutex);
    std::array<weft::WorkerGroup, 2> &groups = s_groups[{count, options.workers}];
    groups[0].workers = count;
    groups[0].runsLow = true;
    groups[1].workers = options.workers - count;
    options.groups = groups.data();
    options.groupCount = 2;
}

}  // namespace test
