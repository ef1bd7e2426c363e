// Who waits for what: records that are linked into counters by index.
//
// Record i belongs to fiber i, for the one wait that a fiber can be in. Spare records, for those that are no fiber, come
// from segments that are added when needed and never move.
#pragma once

#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

struct WaitRecord {
    enum class Kind : uint32_t {
        Waiter,  ///< `owner` waits until the count is at or below `value`
        Note     ///< the count stood at `value` right before somebody added to it while the waiters were being sorted
    };
    uint32_t next;  ///< index plus one of the record below it in the list; 0 ends the list
    uint32_t value;
    uint32_t owner;  ///< a fiber's index
    Kind kind;
};

class WaitRecords {
public:
    static constexpr uint32_t kNone = ~0u;

    ~WaitRecords() { Release(); }

    bool Acquire(uint32_t fibers) noexcept;
    void Release() noexcept;

    WaitRecord &At(uint32_t index) noexcept {
        if (index < m_fibers) return m_own[index];
        const uint32_t spare = index - m_fibers;
        // acquire: pairs with AddSegment.
        return m_segments[spare / 64].load(kAcquire)->records[spare % 64];
    }

    /// A spare record, or kNone when there is no memory or 4,096 of them are out. Any thread; lock-free.
    uint32_t TakeSpare() noexcept;
    void GiveBackSpare(uint32_t index) noexcept;

private:
    static constexpr uint32_t kMaxSegments = 64;
    struct Segment {
        env::Atomic<uint64_t> free{~uint64_t{0}};
        WaitRecord records[64];
    };
    bool AddSegment(uint32_t position) noexcept;

    WaitRecord *m_own = nullptr;
    uint32_t m_fibers = 0;
    env::Atomic<Segment *> m_segments[kMaxSegments]{};
};

}  // namespace weft::internal
