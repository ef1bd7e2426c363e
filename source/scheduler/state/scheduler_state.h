// What lies in a TaskScheduler, while it runs and while it does not.
#pragma once

#include "platform/env.h"
#include "weft/options.h"

#include <cstdint>

namespace weft::internal {

struct Scheduler;

enum class Life : uint8_t { Idle, Running, Starting, Started, Stopping };

struct SchedulerState {
    explicit SchedulerState(const SchedulerOptions &given) noexcept : options(given) {}

    struct alignas(64) Stripe {
        env::Atomic<uint32_t> inside{0};  // threads inside a call that are no workers
    };
    SchedulerOptions options;
    std::atomic<Life> life{Life::Idle};
    Scheduler *started = nullptr;                 // from Start to Stop
    env::Atomic<Scheduler *> scheduler{nullptr};  // set while it runs
    env::Atomic<uint32_t> closing{0};             // somebody looks whether the run is over
    Stripe stripes[4];
    // pieces of ExternalWork; not beside what each call reads
    alignas(64) env::Atomic<uint32_t> outside{0};
};

}  // namespace weft::internal
