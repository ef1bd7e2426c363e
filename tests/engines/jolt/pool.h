// Included before Jolt's tests: their thread pool is weft. The environment variable WEFT_THREADS
// says how many threads run jobs: the main thread, which is attached, and workers.
#pragma once

#include "jolt/jolt_job_system.h"

#include <cstdlib>

#include <Jolt/Core/JobSystemThreadPool.h>

namespace JPH {

inline weft::TaskScheduler &SharedScheduler() {
    struct Shared {
        Shared() : scheduler(Options()) {
            if (scheduler.Start() != weft::Status::Ok) std::abort();
            if (scheduler.AttachThread() != weft::Status::Ok) std::abort();
        }
        ~Shared() { scheduler.DetachThread(); }
        static weft::SchedulerOptions Options() {
            const char *threads = std::getenv("WEFT_THREADS");
            weft::SchedulerOptions options;
            options.workers =
                threads != nullptr ? static_cast<uint32_t>(std::atoi(threads)) - 1 : 1;
            options.maxAttached = 1;
            return options;
        }
        weft::TaskScheduler scheduler;
    };
    static Shared shared;
    return shared.scheduler;
}

/// All pools use one scheduler. `threads` of a pool, and the caller, say how many jobs Jolt makes.
class WeftPool final : public weft::JoltJobSystem {
public:
    WeftPool(uint jobs, uint, int threads = -1)
        : JoltJobSystem(
              SharedScheduler(),
              threads < 0 ? SharedScheduler().MaxConcurrency() : static_cast<uint32_t>(threads) + 1,
              DefaultOptions(), jobs) {}
};

}  // namespace JPH

#define JobSystemThreadPool WeftPool
