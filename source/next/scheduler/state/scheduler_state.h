// The private members of a TaskScheduler. They also exist while it does not run.
#pragma once

#include "platform/env.h"
#include "weft/options.h"

#include <cstdint>

namespace weft::internal {

struct Scheduler;

/// The state of a TaskScheduler. Idle: it does not run. Running: in Run. Starting, Started,
/// Stopping: from Start to the end of Stop.
enum class Life : uint8_t { Idle, Running, Starting, Started, Stopping };

struct SchedulerState {
    explicit SchedulerState(const SchedulerOptions &given) noexcept : options(given) {}

    struct alignas(64) Stripe {
        env::Atomic<uint32_t> inside{0};  // external threads that are inside the gate
    };
    SchedulerOptions options;
    std::atomic<Life> life{Life::Idle};
    Scheduler *started = nullptr;                 // from Start to Stop
    env::Atomic<Scheduler *> scheduler{nullptr};  // null while it does not run
    env::Atomic<uint32_t> closing{0};             // a thread checks whether the run is over
    Stripe stripes[4];
    // The number of ExternalWork objects. On another cache line than the members that each call
    // reads.
    alignas(64) env::Atomic<uint32_t> outside{0};
    std::atomic<const char *> outsideNames[7]{};  // of some of these, for DescribeWaiters
};

}  // namespace weft::internal
