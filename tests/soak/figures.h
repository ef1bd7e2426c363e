// The figures of a soak, in memory that the soaking and the watching process share.
#pragma once

#include <atomic>
#include <cstdint>

namespace soak {

/// Names of the tasks that the account includes. Tasks of weft itself (posts, loops, coroutines)
/// have other names.
inline constexpr const char *kTaskNames[] = {"node", "batch", "main", "census"};

struct Figures {
    std::atomic<uint64_t> seed{0};  ///< of the current round
    std::atomic<uint64_t> rounds{0};
    std::atomic<uint64_t> schedulers{0};
    std::atomic<uint64_t> runs{0};        ///< of schedulers
    std::atomic<uint64_t> tasks{0};       ///< submitted, and seen to have run once each
    std::atomic<uint64_t> graphTasks{0};  ///< those of `tasks` that are in graphs whose tasks wait
    std::atomic<uint64_t> waits{0};       ///< calls that wait, by tasks and threads
    std::atomic<uint64_t> switches{0};    ///< of fibers; with --hooks
    std::atomic<uint64_t> signals{0};
    std::atomic<uint64_t> masks{0};  ///< changes of CPU masks
    std::atomic<uint32_t> failed{0};
    char failure[512]{};  ///< the first failure

    /// Notes a failure. The round continues as far as it can.
    void Fail(const char *format, ...) noexcept __attribute__((format(printf, 2, 3)));
};

/// Pseudo-random numbers (SplitMix64). The same seed gives the same numbers.
class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed) {}
    uint64_t Next() noexcept {
        uint64_t z = m_state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Returns a number from 0 to bound - 1.
    uint32_t Below(uint32_t bound) noexcept {
        return static_cast<uint32_t>((Next() >> 32) * bound >> 32);
    }
    bool OneIn(uint32_t n) noexcept { return Below(n) == 0; }

private:
    uint64_t m_state;
};

}  // namespace soak
