// Tells when the system has taken the processor away from a thread.
//
// Linux with glibc: the kernel clears a word of each thread (`rseq_cs`) when it takes the processor
// away while that word names a critical section that the thread is not in. So the thread looks at
// one word. Only if it was cleared, the thread asks for its processor time. Source: rseq(2).
// Elsewhere nothing is told.
#pragma once

#include <cstdint>

namespace weft::env {

/// Only one thread uses it: the one that has called TakeLost first, or Begin last.
class OffCpuWatch {
public:
    /// Begins anew, on the calling thread.
    void Begin() noexcept;

    /// Returns true if the thread may have lost its processor since the last call of Begin or
    /// TakeLost. Also true before the first one. Costs one load.
    bool MayHaveLost() const noexcept { return *m_word == 0; }

    /// Returns for how long the thread was off its processor since the last call of Begin or
    /// TakeLost, in nanoseconds. Less than a microsecond counts as 0.
    uint64_t TakeLost() noexcept;

private:
    static constexpr uint64_t kNotBegun = 0;
    volatile const uint64_t *m_word = &kNotBegun;
    uint64_t m_off = 0;  // time that the thread had been off its processor, plus a constant
};

}  // namespace weft::env
