// Memory functions of a host, which check how weft uses them.
#pragma once

#include "weft/hooks.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace test {

/// Checks that each release matches an allocation, with the same sizes. Must outlive the scheduler.
class HostMemory {
public:
    HostMemory() = default;
    HostMemory(const HostMemory &) = delete;
    HostMemory &operator=(const HostMemory &) = delete;

    /// Sets all four functions, or only one of the pairs.
    void AttachTo(weft::MemoryHooks &hooks, bool memory = true, bool stacks = true);
    /// Allocation or reservation number `nth` (from 0, counted together) and the following ones
    /// fail, `count` in all.
    void FailFrom(int64_t nth, int64_t count = INT64_MAX);

    int64_t Calls() const { return Locked(m_calls); }
    int64_t Allocations() const { return Locked(m_allocations); }
    int64_t Reservations() const { return Locked(m_reservations); }
    size_t OutstandingBytes() const { return Locked(m_bytes); }
    /// The number of releases that match no allocation or have other sizes, and of calls with
    /// invalid sizes or alignments.
    uint32_t Wrong() const { return Locked(m_wrong); }
    bool HasFailed() const { return Locked(m_failed); }
    /// Whether `address` is in pages that were reserved for stacks and are not released.
    bool IsStack(const void *address) const;
    /// If true, released reservations stay mapped and are handed out again for the same size.
    bool reusesStacks = false;
    /// How often pages were handed out again. All of them were written to before.
    uint32_t Reused() const { return Locked(m_reused); }
    ~HostMemory();

private:
    struct Given {
        size_t bytes;
        size_t alignment;  // 0: pages for stacks
    };
    static void *Allocate(size_t bytes, size_t alignment, void *user);
    static void Release(void *memory, size_t bytes, size_t alignment, void *user);
    static void *ReserveStacks(size_t bytes, void *user);
    static void ReleaseStacks(void *memory, size_t bytes, void *user);
    bool MustFail();
    void *Note(void *memory, Given given);
    bool Forget(void *memory, Given given);
    template <class T>
    T Locked(const T &value) const {
        const std::lock_guard<std::mutex> lock(m_mutex);
        return value;
    }

    mutable std::mutex m_mutex;
    std::map<char *, Given> m_given;
    std::map<char *, size_t> m_kept;
    int64_t m_calls = 0, m_allocations = 0, m_reservations = 0;
    int64_t m_failFrom = INT64_MAX, m_failUntil = INT64_MAX;
    size_t m_bytes = 0;
    uint32_t m_wrong = 0, m_reused = 0;
    bool m_failed = false;
};

}  // namespace test
