// The layout of a counter's word of eight bytes.
//
//     | count : 32 | head : 23 | sorting : 1 | eager : 1 | group : 1 | tag : 6 |
//
// count    the value of the counter
// head     the number of the newest wait record, plus one; 0: no waiter
// sorting  a call is sorting waiters that it has detached: the counter is still in use, even if
//          `count` is zero
// eager    a waiter has a target above zero: a decrement must check the list before `count` is zero
// group    the counter is a TaskGroup; never changes
// tag      the scheduler that uses the counter; 0: none
#pragma once

#include "weft/counter.h"

#include <cstdint>

namespace weft::internal {

/// A value of the word. The With functions return the word with one field changed.
struct CounterWord {
    uint64_t bits;

    static constexpr uint32_t kMaxTag = (1u << 6) - 1;
    static constexpr uint64_t kGroup = uint64_t{1} << 6;
    static constexpr uint32_t kMaxRecords = (1u << 23) - 1;

    constexpr uint32_t Count() const noexcept { return static_cast<uint32_t>(bits >> 32); }
    constexpr uint32_t Head() const noexcept {
        return static_cast<uint32_t>(bits >> 9) & kMaxRecords;
    }
    constexpr bool IsSorting() const noexcept { return (bits & kSorting) != 0; }
    constexpr bool IsEager() const noexcept { return (bits & kEager) != 0; }
    constexpr bool IsGroup() const noexcept { return (bits & kGroup) != 0; }
    constexpr uint32_t Tag() const noexcept { return static_cast<uint32_t>(bits) & kTagMask; }

    /// Returns true if a waiter for `target` may continue. While a call sorts, a waiter for zero
    /// may not: it might destroy the counter.
    constexpr bool Satisfies(uint32_t target) const noexcept {
        return Count() <= target && (target != 0 || !IsSorting());
    }
    /// Returns true if there is a count, a waiter or a sorter. The counter then belongs to the
    /// scheduler of its tag.
    constexpr bool InUse() const noexcept { return (bits & ~(kGroup | kTagMask)) != 0; }

    constexpr CounterWord WithCount(uint32_t count) const noexcept {
        return {(bits & 0xffffffffu) | static_cast<uint64_t>(count) << 32};
    }
    constexpr CounterWord WithHead(uint32_t head) const noexcept {
        return {(bits & ~(static_cast<uint64_t>(kMaxRecords) << 9)) | static_cast<uint64_t>(head)
                                                                          << 9};
    }
    constexpr CounterWord WithSorting(bool sorting) const noexcept {
        return {sorting ? bits | kSorting : bits & ~kSorting};
    }
    constexpr CounterWord WithEager(bool eager) const noexcept {
        return {eager ? bits | kEager : bits & ~kEager};
    }
    constexpr CounterWord WithTag(uint32_t tag) const noexcept {
        return {(bits & ~uint64_t{kTagMask}) | tag};
    }

    /// Returns true if the tag is `tag` and no call sorts. IsPlain also requires that no waiter has
    /// a target above zero.
    constexpr bool IsUnsorted(uint32_t tag) const noexcept {
        return (bits & (kSorting | kTagMask)) == tag;
    }
    constexpr bool IsPlain(uint32_t tag) const noexcept {
        return (bits & (kSorting | kEager | kTagMask)) == tag;
    }

private:
    static constexpr uint64_t kSorting = uint64_t{1} << 8;  // the same bit as Counter::kBusy
    static constexpr uint64_t kEager = uint64_t{1} << 7;
    static constexpr uint32_t kTagMask = kMaxTag;
};

/// Gives access to the word of a Counter.
struct CounterAccess {
    static WEFT_ATOMIC<uint64_t> &Word(Counter &counter) noexcept { return counter.m_word; }
    static constexpr uint64_t kBusy = Counter::kBusy;
};

static_assert(CounterWord{CounterAccess::kBusy}.IsSorting(),
              "the public header must use the same bit");

}  // namespace weft::internal
