// A shared counter of things that have to be done. Copies of the handle share it.
//
//     weft::WaitGroup group(scheduler, 2);
//     std::thread([group] { ReadFile(); group.Done(); }).detach();
//     std::thread([group] { ReadOther(); group.Done(); }).detach();
//     group.Wait();
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// A shared handle to a weft::Counter.
///
/// Copies refer to the same group, which lives until the last copy is destroyed. So the last caller
/// of Done need not care how long the group lives. The scheduler must outlive all copies. Only one
/// thread at a time may use a copy.
///
/// Add, Done and Wait need a scheduler that runs; otherwise they report NotRunning and have no
/// effect. The constructor allocates the group with the scheduler's memory hooks. No other call
/// allocates.
class WEFT_API WaitGroup {
public:
    /// Makes a group with `count` things to be done. Without memory it reports OutOfMemory, and the
    /// process ends.
    explicit WaitGroup(TaskScheduler &scheduler, uint32_t count = 0) noexcept;
    WaitGroup(const WaitGroup &other) noexcept;
    WaitGroup &operator=(const WaitGroup &other) noexcept;
    ~WaitGroup();

    /// Adds `n` things to be done. Call it while the count is above zero, or while nobody waits.
    /// Thread-safe.
    void Add(uint32_t n = 1) const noexcept;
    /// Says that one thing is done. Does not run other tasks. Reports CounterUnderflow if the count
    /// is zero, and then has no effect. Thread-safe.
    void Done() const noexcept;
    /// Waits until the count is zero. Then everything that was written before each Done is visible.
    /// Thread-safe.
    void Wait() const noexcept;
    /// Returns true if the count is zero. Thread-safe.
    bool IsDone() const noexcept;

private:
    struct Shared;
    Shared *m_shared;
};

}  // namespace weft
