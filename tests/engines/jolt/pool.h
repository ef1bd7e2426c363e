// Included before Jolt's tests: their thread pool is weft.
#pragma once

#include "../on_weft.h"
#include "jolt/jolt_job_system.h"

#include <Jolt/Core/JobSystemThreadPool.h>

namespace JPH {

inline weft::TaskScheduler &SharedScheduler() {
    static engines::AttachedScheduler shared;
    return shared.Get();
}

/// All pools use one scheduler. `threads` of a pool, and the caller, say how many jobs Jolt makes.
class WeftPool final : public weft::JoltJobSystem {
public:
    WeftPool(uint jobs, uint, int threads = -1)
        : JoltJobSystem(
              SharedScheduler(),
              threads < 0 ? SharedScheduler().MaxConcurrency() : static_cast<uint32_t>(threads) + 1,
              {}, jobs) {}
};

}  // namespace JPH

#define JobSystemThreadPool WeftPool
