// The ring of an AsyncIo: the operations that the kernel has, and those that wait for their turn.
//
// One thread, that of Serve, is the only user of the ring. It takes operations from the inbox into
// a list, hands as many of them to the kernel as `depth` allows, and sleeps in the system call that
// waits for the end of operations. One more operation reads the eventfd with which submitters wake
// this thread. So the thread waits for both with one call.
//
// The ring is lost when the kernel refuses that call for good (a seccomp filter that came later),
// or when somebody has closed a descriptor of the ring. Then everything that the kernel does not
// have goes to threads, and so does everything that comes later. Operations that the kernel has end
// as usual, because the memory of the ring stays: the thread looks there every millisecond. Nobody
// can wake a thread that sleeps in the kernel if the eventfd was closed. So it wakes up once a
// second.
#pragma once

#include "weft/io/async_io.h"

namespace weft::internal {

/// Of memory from MemoryHooks: the least that they are asked for.
inline constexpr size_t kIoAlignment = 16;

/// Lowers the counters of operations that have ended. Several operations with the same counter, one
/// after the other, are lowered together.
class IoEnds {
public:
    explicit IoEnds(TaskScheduler &scheduler) noexcept : m_scheduler(scheduler) {}
    ~IoEnds() { Lower(); }
    IoEnds(const IoEnds &) = delete;
    IoEnds &operator=(const IoEnds &) = delete;

    /// `node` has its result. From here on it may be submitted again, and be gone.
    void Add(IoNode &node) noexcept;

private:
    void Lower() noexcept;

    TaskScheduler &m_scheduler;
    Counter *m_counter = nullptr;
    uint32_t m_count = 0;
};

/// Makes operations without the ring. `oldest` is linked by `next` to the newer ones.
struct IoThreads {
    void (*make)(void *user, IoNode *oldest);
    void *user;
};

class IoRing {
public:
    /// Returns null if there is no io_uring here, or no memory. `threads`: when the ring is lost.
    static IoRing *Make(TaskScheduler &scheduler, uint32_t depth, const MemoryHooks &hooks,
                        IoThreads threads) noexcept;
    /// After Serve has returned; or in a forked child process.
    static void Destroy(IoRing *ring) noexcept;

    /// Submits nodes, linked by `next` from the newest to the oldest. Thread-safe.
    void Submit(IoNode *newest, IoNode *oldest) noexcept;

    /// The loop of the thread. Returns when all operations have ended, after Stop or because the
    /// ring is lost. That is reported.
    void Serve() noexcept;
    /// Thread-safe.
    bool IsLost() const noexcept;
    /// No thread submits any more.
    void Stop() noexcept;

private:
    IoRing() = default;
    ~IoRing() = default;
    struct Impl;
};

}  // namespace weft::internal
