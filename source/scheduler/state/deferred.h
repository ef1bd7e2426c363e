// Tasks that begin later: after counters, or at a deadline. Waits for one of several counters.
#pragma once

#include "core/timers.h"
#include "platform/env.h"
#include "scheduler/state/work.h"

#include <cstdint>

namespace weft::internal {

/// Chunks, linked from the newest to the oldest.
struct ChunkList {
    Chunk *newest = nullptr, *oldest = nullptr;
    uint32_t chunks = 0;
    uint32_t onWorker = kAnyWorker;  // the tasks are pinned to it
};

/// Tasks of one submission that wait for counters, for a deadline, or for whichever of the two
/// comes first. It has a wait record on each of the counters (owner: kDeferredOwner + its index).
///
/// `state` says how many records, timers and calls still refer to the object. The call that submits
/// it counts, too, so the tasks are not handed over while it still registers. The reference at
/// which `firesAt` are left hands them over. The last one frees the object.
///
/// If it is withdrawn, the tasks are handed over at once. A wait record stays on its counter,
/// because the counter may be gone by now. So the object stays until the counter is reached or the
/// run ends.
struct Deferred {
    static constexpr uint64_t kLeft = 0xffffffff;
    static constexpr uint64_t kWithdrawn = uint64_t{1} << 32;
    static constexpr uint64_t kHeld = uint64_t{1} << 33;  // it is not withdrawn meanwhile
    static constexpr uint32_t kGenerationShift = 34;

    // generation : 30 | held : 1 | withdrawn : 1 | references left : 32
    env::Atomic<uint64_t> state{0};
    // What counts the tasks: a hint for WithdrawBatchesOf.
    env::Atomic<const Counter *> counter{nullptr};
    Timer timer;
    ChunkList tasks;
    env::Atomic<uint32_t> firesAt{0};
    // For reports and StopFor. Valid for a thread that refers to the object.
    const char *name = nullptr;  // of the tasks
    uint32_t count = 0;
    bool isKept = false;      // StopFor does not withdraw the tasks
    bool isPeriodic = false;  // the task of a PeriodicTask
    bool hasRecord = false;   // of AfterOrAt: there was memory for the wait record
    uint32_t index = 0;       // in its pool
};

/// A wait for one of several counters, on the stack of its caller. Each of the counters has a wait
/// record, whose owner is an AnyRecord.
struct AnyWait {
    static constexpr uint32_t kNone = ~0u;
    Counter *const *counters;  // these two: for debuggers
    uint64_t count;
    Counter first{1};  // zero: one of the counters was reached
    Counter all{0};    // records that are still on their counters, or on the way
    env::Atomic<uint32_t> winner{kNone};
};
struct AnyRecord {
    AnyWait *wait = nullptr;
    uint32_t which = 0;  // of the counters
};

}  // namespace weft::internal
