// Tells for how long a thread was off its processor: preempted, or blocked in the system.
//
// Linux with glibc (x86-64 and aarch64): each thread has a word `rseq_cs` that the kernel reads. It
// can name a critical section of code. Here it names one that the thread is never in. When the
// kernel takes the processor away from such a thread, it clears the word. So the thread only has to
// look at this word. If it was cleared, the thread asks the system for its processor time. Source:
// rseq(2). On other systems the time is always 0.
#pragma once

#include "platform/compiler.h"

#include <cstdint>

namespace weft::env {

/// Measures one thread: the one that has called Begin. The first call of TakeLost counts as Begin.
/// Only this thread may use the object, until another thread calls Begin.
class OffCpuWatch {
public:
    /// Begins to measure the calling thread. Forgets what was before.
    void Begin() noexcept;

    /// Returns true if the thread may have lost its processor since the last call of Begin or
    /// TakeLost, and before the first of these calls. Cheap: reads a word of memory.
    bool MayHaveLost() const noexcept { return *m_word == 0; }

    /// Returns for how long the thread was off its processor since the last call of Begin or
    /// TakeLost, in nanoseconds. Less than a microsecond counts as 0. The first call returns 0.
    uint64_t TakeLost() noexcept;

private:
    static constexpr uint64_t kNotBegun = 0;
    volatile const uint64_t *m_word = &kNotBegun;
    uint64_t m_off = 0;  // time off the processor until the last call, plus a constant
};

#if !defined(WEFT_LINUX)
inline void OffCpuWatch::Begin() noexcept {
    static constexpr uint64_t kNever = 1;
    m_word = &kNever;
}
inline uint64_t OffCpuWatch::TakeLost() noexcept {
    Begin();
    return 0;
}
#endif

}  // namespace weft::env
