// What makes every schedule likely: signals in all threads, and CPUs that come and go.
#pragma once

#include "soak/figures.h"

#include <atomic>
#include <thread>

namespace soak {

/// While it lives: SIGPROF about 1,000 times a second by the processor time of the process, and
/// once more in each of its threads; every few milliseconds each thread gets another set of CPUs
/// out of those that the process began with.
class Noise {
public:
    explicit Noise(Figures &figures);
    ~Noise();
    Noise(const Noise &) = delete;
    Noise &operator=(const Noise &) = delete;

private:
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

}  // namespace soak
