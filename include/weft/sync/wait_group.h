// What has to be done, shared by all who do it and who wait for it.
//
//     weft::WaitGroup group(scheduler, 2);
//     std::thread([group] { ReadFile(); group.Done(); }).detach();
//     std::thread([group] { ReadOther(); group.Done(); }).detach();
//     group.Wait();
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// A shared handle of a weft::Counter: copies are the same group, which lives until the last of
/// them is gone. So who calls Done last needs no thought for how long the group lives.
///
/// The group's memory is allocated by the constructor, by the scheduler's memory options; no other
/// call allocates. The scheduler must outlive all copies. Add, Done and Wait while it runs; others
/// are reported (NotRunning) and have no effect. Each copy is used by one thread at a time.
class WEFT_API WaitGroup {
public:
    /// A group with `count` things to be done. Without memory: reported (OutOfMemory), which ends
    /// the process.
    explicit WaitGroup(TaskScheduler &scheduler, uint32_t count = 0) noexcept;
    WaitGroup(const WaitGroup &other) noexcept;
    WaitGroup &operator=(const WaitGroup &other) noexcept;
    ~WaitGroup();

    /// So many more. Before the group has come to zero, or when nobody waits. Any thread.
    void Add(uint32_t n = 1) const noexcept;
    /// One less; never runs others. Below zero is reported (CounterUnderflow). Any thread.
    void Done() const noexcept;
    /// Returns when there is nothing to be done, with all that was done before each Done visible.
    /// Any thread.
    void Wait() const noexcept;
    /// Whether there is nothing to be done. Any thread.
    bool IsDone() const noexcept;

private:
    struct Shared;
    Shared *m_shared;
};

}  // namespace weft
