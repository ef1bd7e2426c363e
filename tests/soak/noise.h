// Noise that makes rare schedules likely: signals in all threads, and changing sets of CPUs.
#pragma once

#include "soak/figures.h"

#include <atomic>
#include <thread>

namespace soak {

/// While it lives, the process gets SIGPROF about 1,000 times per second of processor time, and
/// each of its threads gets it as well. Every few milliseconds each thread gets another subset of
/// the CPUs with which the process began.
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
