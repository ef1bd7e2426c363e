// The layout of a counter's word of eight bytes.
//
//     | count : 32 | head : 21 | boost : 2 | locked : 1 | eager : 1 | group : 1 | tag : 6 |
//
// count    the value of the counter
// head     the number of the newest wait record, plus one; 0: no waiter
// boost    2 High, 1 Normal, 0 Low: an upper bound of the waiters' priorities; 0 without a waiter
// locked   a call changes the list in the middle; others that change it wait. `count` is above zero
// eager    a waiter has a target above zero: a decrement must look at the list before zero
// group    the counter is a TaskGroup; never changes
// tag      the scheduler that uses the counter; 0: none
#pragma once

#include "weft/counter.h"
#include "weft/task.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// A value of the word. The With functions return the word with one field changed.
struct CounterWord {
    uint64_t bits;

    static constexpr uint32_t kMaxTag = (1u << 6) - 1;
    static constexpr uint64_t kGroup = uint64_t{1} << 6;
    static constexpr uint32_t kMaxRecords = (1u << 21) - 1;

    constexpr uint32_t Count() const noexcept { return static_cast<uint32_t>(bits >> 32); }
    constexpr uint32_t Head() const noexcept {
        return static_cast<uint32_t>(bits >> kHeadShift) & kMaxRecords;
    }
    constexpr bool IsLocked() const noexcept { return (bits & kLocked) != 0; }
    constexpr bool IsEager() const noexcept { return (bits & kEager) != 0; }
    constexpr bool IsGroup() const noexcept { return (bits & kGroup) != 0; }
    constexpr uint32_t Tag() const noexcept { return static_cast<uint32_t>(bits) & kMaxTag; }
    /// Returns the highest priority of the waiters, or a higher one; Low if there is none.
    constexpr Priority HighestWaiter() const noexcept {
        return static_cast<Priority>(2 - (bits >> kBoostShift & 3));
    }
    /// Returns true if this scheduler uses the counter, nobody waits, and it is not locked.
    constexpr bool IsPlain(uint32_t tag) const noexcept {
        return (static_cast<uint32_t>(bits) & ~uint32_t{kGroup}) == tag;
    }
    /// Returns true if there is a count or a waiter. The counter then belongs to the scheduler of
    /// its tag.
    constexpr bool InUse() const noexcept { return (bits & ~(kGroup | kMaxTag)) != 0; }

    constexpr CounterWord WithCount(uint32_t count) const noexcept {
        return {(bits & 0xffffffffu) | uint64_t{count} << 32};
    }
    constexpr CounterWord WithHead(uint32_t head) const noexcept {
        return {(bits & ~(uint64_t{kMaxRecords} << kHeadShift)) | uint64_t{head} << kHeadShift};
    }
    constexpr CounterWord WithWaiter(Priority priority) const noexcept {
        const uint64_t boost = (2 - static_cast<uint64_t>(priority)) << kBoostShift;
        return {(bits & ~kBoost) | std::max(boost, bits & kBoost)};
    }
    constexpr CounterWord WithoutWaiters() const noexcept {
        return {bits & ~(uint64_t{kMaxRecords} << kHeadShift | kEager | kBoost)};
    }
    constexpr CounterWord WithLocked(bool locked) const noexcept {
        return {locked ? bits | kLocked : bits & ~kLocked};
    }
    constexpr CounterWord WithEager(bool eager) const noexcept {
        return {eager ? bits | kEager : bits & ~kEager};
    }
    constexpr CounterWord WithTag(uint32_t tag) const noexcept {
        return {(bits & ~uint64_t{kMaxTag}) | tag};
    }

private:
    static constexpr uint32_t kHeadShift = 11, kBoostShift = 9;
    static constexpr uint64_t kBoost = uint64_t{3} << kBoostShift;
    static constexpr uint64_t kLocked = uint64_t{1} << 8;
    static constexpr uint64_t kEager = uint64_t{1} << 7;
};

using CounterStorage = WEFT_ATOMIC<uint64_t>;

/// Gives access to the word of a Counter.
struct CounterAccess {
    static CounterStorage &Word(Counter &counter) noexcept { return counter.m_word; }
    static const CounterStorage &Word(const Counter &counter) noexcept { return counter.m_word; }
};

}  // namespace weft::internal
