// An entry of a worker's deques: one task, or a slice of a batch. The tasks of a slice lie in a
// slab.
//
// If tasks are traced, an entry also has the number of its (first) task: 8 bits in each of three
// pointers. User addresses of x86-64 and aarch64 have 48 bits unless a program asks for more, and
// the highest 8 bits may be a tag (aarch64), so bits 48 to 55 are free.
#pragma once

#include "platform/compiler.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

inline constexpr uint32_t kTaskIdBits = 24;
inline constexpr uint32_t kTaskIdMask = (1u << kTaskIdBits) - 1;

/// The counter of tasks that are submitted or queued; may be null. A bit of the address says
/// whether it is a TaskGroup. So the common path carries the bit without a test.
class TaskCounter {
public:
    TaskCounter(Counter *counter = nullptr, bool isOfGroup = false) noexcept
        : m_bits(reinterpret_cast<uint64_t>(counter) | (isOfGroup ? kGroup : 0)) {}
    Counter *Get() const noexcept { return reinterpret_cast<Counter *>(m_bits & ~kGroup); }
    bool IsOfGroup() const noexcept { return (m_bits & kGroup) != 0; }

private:
    friend class TaskEntry;
    friend struct DebugLayout;
    static constexpr uint64_t kGroup = 4;
    uint64_t m_bits;
};

class TaskEntry {
public:
    TaskEntry() = default;

    static TaskEntry Single(const Task &task, TaskCounter counter, const char *name,
                            StackClass stack) noexcept {
        return TaskEntry(reinterpret_cast<uint64_t>(task.function),
                         reinterpret_cast<uint64_t>(task.arg), counter, name,
                         stack == StackClass::Large ? kLarge : 0);
    }
    /// `batch` identifies the batch. Tasks of one batch are expected to take about the same time.
    static TaskEntry Slice(const Task *first, uint32_t count, uint64_t batch, TaskCounter counter,
                           const char *name, StackClass stack) noexcept {
        return TaskEntry(reinterpret_cast<uint64_t>(first), batch << kCountBits | count, counter,
                         name, kSlice | (stack == StackClass::Large ? kLarge : 0));
    }

    bool IsSlice() const noexcept { return (m_counter & kSlice) != 0; }
    bool IsSmallSingle() const noexcept { return (m_counter & (kSlice | kLarge)) == 0; }
    StackClass Stack() const noexcept {
        return (m_counter & kLarge) != 0 ? StackClass::Large : StackClass::Small;
    }
    /// Returns true if the counter is a TaskGroup.
    bool IsOfGroup() const noexcept { return (m_counter & TaskCounter::kGroup) != 0; }
    Counter *TheCounter() const noexcept {
        return reinterpret_cast<Counter *>(m_counter &
                                           ~(kSlice | kLarge | TaskCounter::kGroup | kIdByte));
    }
    const char *Name() const noexcept { return reinterpret_cast<const char *>(m_name & ~kIdByte); }

    Task TheTask() const noexcept {
        return {reinterpret_cast<TaskFunction>(m_first & ~kIdByte),
                reinterpret_cast<void *>(m_second)};
    }
    const Task *First() const noexcept {
        return reinterpret_cast<const Task *>(m_first & ~kIdByte);
    }
    /// Returns the number of the first task, or 0 (state/trace.h).
    uint32_t TaskId() const noexcept {
        return static_cast<uint32_t>((m_first & kIdByte) >> kIdShift | (m_counter & kIdByte) >> 40 |
                                     (m_name & kIdByte) >> 32);
    }
    /// Returns the same entry with a number. 0: the entry is not changed.
    TaskEntry WithId(uint32_t id) const noexcept {
        if (WEFT_LIKELY(id == 0)) return *this;
        TaskEntry entry = *this;
        entry.m_first |= uint64_t{id & 0xff} << kIdShift;
        entry.m_counter |= uint64_t{id >> 8 & 0xff} << kIdShift;
        entry.m_name |= uint64_t{id >> 16 & 0xff} << kIdShift;
        return entry;
    }
    uint32_t Count() const noexcept {
        return IsSlice() ? static_cast<uint32_t>(m_second) & ((1u << kCountBits) - 1) : 1;
    }
    uint64_t Batch() const noexcept { return m_second >> kCountBits; }
    /// Returns `count` tasks of the slice, from number `begin` on. Returns a single task unchanged.
    TaskEntry Part(uint32_t begin, uint32_t count) const noexcept {
        if (!IsSlice()) return *this;
        const uint32_t id = TaskId();
        return Slice(First() + begin, count, Batch(), {TheCounter(), IsOfGroup()}, Name(), Stack())
            .WithId(id != 0 ? id + begin : 0);
    }

    static constexpr uint32_t kCountBits = 8;
    static constexpr uint64_t kMaxBatch = (uint64_t{1} << (64 - kCountBits)) - 1;

private:
    friend struct DebugLayout;
    TaskEntry(uint64_t first, uint64_t second, TaskCounter counter, const char *name,
              uint64_t flags) noexcept
        : m_first(first),
          m_second(second),
          m_counter(counter.m_bits | flags),
          m_name(reinterpret_cast<uint64_t>(name)) {}

    static_assert(alignof(Counter) >= 8, "three bits of a counter's address must be free");
    static constexpr uint64_t kSlice = 1;
    static constexpr uint64_t kLarge = 2;
    static constexpr uint32_t kIdShift = 48;
    static constexpr uint64_t kIdByte = uint64_t{0xff} << kIdShift;

    uint64_t m_first = 0;
    uint64_t m_second = 0;
    uint64_t m_counter = 0;
    uint64_t m_name = 0;
};

}  // namespace weft::internal
