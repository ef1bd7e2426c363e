// Levels: a level is a priority and a group, or no group. It decides in which deque work lies, and
// which workers may run it.
//
// Slot 0 stands for work of no group, slot i + 1 for work of group i (SchedulerOptions::groups).
// The level with the lowest index has the highest priority: High work of no group, then High work
// of each group, then Normal, then Low. A set of levels is a mask of bits.
#pragma once

#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

inline constexpr uint32_t kPriorities = 3;
inline constexpr uint32_t kMaxGroups = 8;
inline constexpr uint32_t kSlots = kMaxGroups + 1;
inline constexpr uint32_t kLevels = kPriorities * kSlots;

/// In TaskOptions::group, from objects of weft: the low four bits are the slot of the tasks,
/// whichever thread submits them.
inline constexpr uint8_t kInSlot = 0xe0;
constexpr bool IsInSlot(uint8_t group) noexcept { return (group & 0xf0) == kInSlot; }
constexpr uint32_t SlotIn(uint8_t group) noexcept { return group & 0xf; }

struct Level {
    Priority priority = Priority::High;
    uint8_t slot = 0;

    constexpr Level() noexcept = default;
    constexpr Level(Priority itsPriority, uint32_t itsSlot = 0) noexcept
        : priority(itsPriority),
          slot(static_cast<uint8_t>(itsSlot)),
          m_index(static_cast<uint8_t>(static_cast<uint32_t>(itsPriority) * kSlots + itsSlot)) {}
    static constexpr Level At(uint32_t index) noexcept {
        return {static_cast<Priority>(index / kSlots), index % kSlots};
    }
    constexpr uint32_t Index() const noexcept { return m_index; }
    constexpr uint32_t Bit() const noexcept { return 1u << m_index; }
    /// The same group with another priority.
    constexpr Level With(Priority other) const noexcept { return {other, slot}; }
    constexpr bool operator==(Level other) const noexcept { return m_index == other.m_index; }

private:
    uint8_t m_index = 0;
};

/// The levels of a set of slots, of the priorities with numbers below `limit`.
constexpr uint32_t LevelsOf(uint32_t slots, uint32_t limit = kPriorities) noexcept {
    uint32_t levels = 0;
    for (uint32_t priority = 0; priority < limit; ++priority) levels |= slots << priority * kSlots;
    return levels;
}
inline constexpr uint32_t kAllLevels = LevelsOf((1u << kSlots) - 1);
inline constexpr uint32_t kHighLevels = LevelsOf((1u << kSlots) - 1, 1);
inline constexpr uint32_t kNormalLevels = LevelsOf((1u << kSlots) - 1, 2) & ~kHighLevels;
/// The levels of no group. A worker that may run all of them is not choosy (core/idle.h).
inline constexpr uint32_t kPlainLevels = LevelsOf(1);
/// A bit beside the levels in the mask of each sleeper: it can keep a deadline, whatever it runs.
inline constexpr uint32_t kAnyKeeper = 1u << 31;
/// Work of these levels has no notice: each worker looks for it. A look costs less than the notice
/// of each push and pop.
inline constexpr uint32_t kUnnoticed = Level(Priority::Normal).Bit() | Level(Priority::Low).Bit();

static_assert(kLevels == 27, "Notices::kLevels has a bit for each level");

}  // namespace weft::internal
