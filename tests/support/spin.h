// Rendezvous between tasks and threads of a test.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace test {

/// Gives the thread away until `done()`. False after 20 seconds: then the test has failed, and its
/// tasks still end.
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

/// Gives the thread away for a while. Not a rendezvous: no result may depend on it, only how often
/// a race is met.
inline void Linger(int turns = 200) {
    for (int i = 0; i < turns; ++i) std::this_thread::yield();
}

/// A meeting of `count` threads that start together, again and again.
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
            if (i > 2000) std::this_thread::yield();  // fewer cores than threads
        }
    }

private:
    const unsigned m_count;
    std::atomic<unsigned> m_arrived{0};
    std::atomic<unsigned> m_round{0};
};

}  // namespace test
