// How long the oldest items of the queues have waited, and what a worker does about it. This is
// data only. The functions are in find/aging.cpp.
#pragma once

#include "platform/env.h"
#include "scheduler/state/level.h"

#include <cstdint>

namespace weft::internal {

/// Since when no worker has taken the oldest item of a queue, see find/aging.h. Any worker may
/// update it. relaxed, all: the values need not belong to the same moment. A wrong guess serves the
/// oldest item too early, or one look later.
struct QueueAge {
    // Index of the oldest item at the last look, plus one. 0: the queue was empty.
    env::Atomic<uint64_t> oldest{0};
    env::Atomic<uint64_t> since{0};  // ticks
    // Items below this index are late; it is counted as above. 0: none is late.
    env::Atomic<uint64_t> lateTo{0};
    // Of a late lane: inspections in a row that found no fiber for it, see find/stall.h.
    env::Atomic<uint32_t> stuckLooks{0};
    env::Atomic<uint64_t> stuckSince{0};  // ticks: the first of these inspections
};

/// The queues of a worker that can be late: lanes, ready fibers of each level, and for each
/// priority what is pinned to the worker.
constexpr uint32_t kAgedQueues = kQueues + kPriorities;
/// A queue of some worker that is late.
struct LateQueue {
    uint32_t worker = 0;
    uint32_t queue = kAgedQueues;  // this value: none
    explicit operator bool() const noexcept { return queue != kAgedQueues; }
};

/// What this worker does for late queues, see find/aging.h. Times are in ticks.
struct Aging {
    uint64_t looks = 0;  // number of looks; they are the clock if there are no workers
    // Picks until the next look at the clock.
    uint32_t picksToLook = 1;
    uint32_t period = 1;  // picks between two looks at the clock
    uint64_t lookedAt = 0;
    uint64_t inspectedAt = 0;
    // The worker whose queues are inspected. It changes when each of its late queues was chosen.
    uint32_t other = 0;
    // The same while no queue is to be chosen.
    uint32_t watched = 0;
    LateQueue late;           // the queue that is served
    LateQueue last;           // the queue that was chosen last
    bool wasServed = false;   // an item of `late` has been taken
    uint32_t lateQueues = 0;  // number of late queues at the last inspection
    // Worker::pinnedTaken at the last inspection.
    uint64_t pinnedSeen[kPriorities] = {};
    uint64_t pinnedSince[kPriorities] = {};
    int64_t credit = 0;     // the time that late work may take
    bool charging = false;  // late work has begun; the next look subtracts its time from the credit
};

}  // namespace weft::internal
