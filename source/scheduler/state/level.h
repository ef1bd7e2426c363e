// Priorities, sets of groups, stack classes: they decide in which queue a task or a ready fiber
// lies.
//
// Workers belong to groups (SchedulerOptions::groups). A task names a set of groups, or none. Each
// set in use has a number. Number 0 stands for tasks that name no groups. A level is a priority and
// a set. For each level a worker has two lanes (deques of tasks, one for Small and one for Large
// tasks) and one queue of ready fibers.
#pragma once

#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

inline constexpr uint32_t kPriorities = 3;
inline constexpr uint32_t kClasses = 2;
inline constexpr uint32_t kMaxGroups = 8;
inline constexpr uint32_t kSets = 10;
inline constexpr uint32_t kLevels = kSets * kPriorities;
inline constexpr uint32_t kLanes = kLevels * kClasses;
// the lanes, then the ready fibers of each level
inline constexpr uint32_t kQueues = kLanes + kLevels;

/// A priority and the number of a set, in one byte, because it is copied for each task. Two bytes
/// that are written separately and then loaded as one word would be slow to load.
class Level {
public:
    constexpr Level(Priority priority = Priority::Normal, uint32_t set = 0) noexcept
        : m_bits(static_cast<uint8_t>(set << kPriorityBits | static_cast<uint32_t>(priority))) {}
    constexpr Priority ThePriority() const noexcept {
        return static_cast<Priority>(m_bits & ((1u << kPriorityBits) - 1));
    }
    constexpr uint32_t Set() const noexcept { return m_bits >> kPriorityBits; }
    /// Stands for no level.
    static constexpr Level None() noexcept { return {Priority::High, kSets}; }
    constexpr bool IsNone() const noexcept { return Set() == kSets; }
    constexpr Level At(Priority priority) const noexcept { return {priority, Set()}; }
    constexpr uint32_t Index() const noexcept {
        return Set() * kPriorities + static_cast<uint32_t>(ThePriority());
    }
    constexpr uint32_t Bit() const noexcept { return 1u << Index(); }
    constexpr bool operator!=(Level other) const noexcept { return m_bits != other.m_bits; }

private:
    friend struct DebugLayout;
    static constexpr uint32_t kPriorityBits = 2;
    uint8_t m_bits;
};

constexpr uint32_t LaneOf(Level level, StackClass stack) noexcept {
    return level.Index() * kClasses + static_cast<uint32_t>(stack);
}
constexpr StackClass ClassOf(uint32_t lane) noexcept {
    return static_cast<StackClass>(lane % kClasses);
}
constexpr Level LevelAt(uint32_t index) noexcept {
    if (index < kPriorities)
        // set 0 needs no division; most programs name no groups
        return static_cast<Priority>(index);
    return {static_cast<Priority>(index % kPriorities), index / kPriorities};
}
constexpr Level LevelOf(uint32_t lane) noexcept { return LevelAt(lane / kClasses); }
constexpr Priority PriorityOf(uint32_t lane) noexcept { return LevelOf(lane).ThePriority(); }

/// Returns the bits of the lanes of the levels in `levels`, for both stack classes.
constexpr uint64_t LaneBits(uint32_t levels) noexcept {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < kLevels; ++i) bits |= uint64_t{levels >> i & 1} * 3 << (i * kClasses);
    return bits;
}
constexpr uint32_t LevelBits(Priority priority) noexcept {
    uint32_t bits = 0;
    for (uint32_t set = 0; set < kSets; ++set) bits |= Level(priority, set).Bit();
    return bits;
}
inline constexpr uint32_t kPlainLevels = (1u << kPriorities) - 1;  // the levels of set 0
// Number of lanes of set 0. These lanes come first.
inline constexpr uint32_t kPlainLanes = kPriorities * kClasses;
inline constexpr uint32_t kHighLevels = LevelBits(Priority::High);
inline constexpr uint32_t kLowLevels = LevelBits(Priority::Low);
inline constexpr uint64_t kSmallLanes = 0x5555'5555'5555'5555;

/// Returns the lane for a task of set 0. Both arguments must be valid.
constexpr uint32_t PlainLaneOf(Priority priority, StackClass stack) noexcept {
    return static_cast<uint32_t>(priority) * kClasses + static_cast<uint32_t>(stack);
}

/// The lane and the name of a queued task.
struct Label {
    uint32_t lane = PlainLaneOf(Priority::Normal, StackClass::Small);
    uint32_t taskId = 0;  // of the first task, see state/trace.h
    const char *name = nullptr;
    constexpr Level TheLevel() const noexcept { return LevelOf(lane); }
    constexpr StackClass Stack() const noexcept { return ClassOf(lane); }
};

static_assert(kLanes <= 64 && kLevels <= 32, "each lane and each level needs a bit");

}  // namespace weft::internal
