// Lets tasks and threads of a test wait for each other.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace test {

/// Yields the thread until `done()` returns true. Returns false after 20 seconds. The test fails
/// then, but its tasks still end.
template <class Done>
bool SpinUntil(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    do {
        for (int i = 0; i < 64; ++i) {
            if (done()) return true;
            std::this_thread::yield();
        }
    } while (std::chrono::steady_clock::now() < deadline);
    return done();
}

/// Yields the thread for a while. No result may depend on it, only how often a race occurs.
inline void Linger(int turns = 200) {
    for (int i = 0; i < turns; ++i) std::this_thread::yield();
}

/// A barrier at which `count` threads meet repeatedly.
class SpinBarrier {
public:
    explicit SpinBarrier(unsigned count) : m_count(count) {}
    void Wait() {
        const unsigned round = m_round.load(std::memory_order_acquire);
        if (m_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == m_count) {
            m_arrived.store(0, std::memory_order_relaxed);
            m_round.store(round + 1, std::memory_order_release);
            return;
        }
        for (int i = 0; m_round.load(std::memory_order_acquire) == round; ++i) {
            if (i > 2000) std::this_thread::yield();  // there may be fewer cores than threads
        }
    }

private:
    const unsigned m_count;
    std::atomic<unsigned> m_arrived{0};
    std::atomic<unsigned> m_round{0};
};

}  // namespace test
