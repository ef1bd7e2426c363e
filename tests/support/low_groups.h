// Low tasks for the first few workers only.
#pragma once

#include "weft/options.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace test {

/// Makes two groups: the first `count` workers run Low tasks, the others do not. 0, or as many as
/// there are: all of them do. Call it when options.workers is known.
inline void LimitLow(weft::SchedulerOptions &options, uint32_t count) {
    if (count == 0 || count >= options.workers || options.workers == weft::kAnyWorker) return;
    static std::mutex s_mutex;
    // live for ever
    static std::map<std::pair<uint32_t, uint32_t>, std::array<weft::WorkerGroup, 2>> s_groups;
    const std::lock_guard lock(s_mutex);
    std::array<weft::WorkerGroup, 2> &groups = s_groups[{count, options.workers}];
    groups[0].workers = count;
    groups[1].workers = options.workers - count;
    options.groups = groups.data();
    options.groupCount = 2;
    options.lowGroups = 1;
}

}  // namespace test
