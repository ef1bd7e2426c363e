// What is in a counter's eight bytes.
//
//     | count : 32 | head : 23 | sorting : 1 | eager : 1 | tag : 7 |
//
// head     wait record that was pushed last, plus one; 0: nobody waits
// sorting  a decrement is going through waiters that it has detached: the counter is not finished
// with, even at zero eager    some waiter's target is not zero, so that a decrement must look
// before the count is zero tag      the scheduler that uses it, 0 while nobody does
#pragma once

#include "weft/counter.h"

#include <cstdint>

namespace weft::internal {

struct CounterWord {
    uint64_t bits;

    static constexpr uint32_t kMaxRecords = (1u << 23) - 1;

    constexpr uint32_t Count() const noexcept { return static_cast<uint32_t>(bits >> 32); }
    constexpr uint32_t Head() const noexcept {
        return static_cast<uint32_t>(bits >> 9) & kMaxRecords;
    }
    constexpr bool IsSorting() const noexcept { return (bits & kSorting) != 0; }
    constexpr bool IsEager() const noexcept { return (bits & kEager) != 0; }
    constexpr uint32_t Tag() const noexcept { return static_cast<uint32_t>(bits) & kTagMask; }

    /// A waiter for `target` may go on. For zero nobody may be sorting either: who waits for zero
    /// may free the counter.
    constexpr bool Satisfies(uint32_t target) const noexcept {
        return Count() <= target && (target != 0 || !IsSorting());
    }
    /// Counts, waiters or a sorter: it belongs to the scheduler that its tag names.
    constexpr bool InUse() const noexcept { return (bits & ~uint64_t{kTagMask}) != 0; }

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

    /// Tag `tag`, nobody sorting; and, for IsPlain, only waiters for zero.
    constexpr bool IsUnsorted(uint32_t tag) const noexcept {
        return (bits & (kSorting | kTagMask)) == tag;
    }
    constexpr bool IsPlain(uint32_t tag) const noexcept {
        return (bits & (kSorting | kEager | kTagMask)) == tag;
    }

private:
    static constexpr uint64_t kSorting = uint64_t{1} << 8;  // Counter::kBusy
    static constexpr uint64_t kEager = uint64_t{1} << 7;
    static constexpr uint32_t kTagMask = (1u << 7) - 1;
};

struct CounterAccess {
    static WEFT_ATOMIC<uint64_t> &Word(Counter &counter) noexcept { return counter.m_word; }
    static constexpr uint64_t kBusy = Counter::kBusy;
};

static_assert(CounterWord{CounterAccess::kBusy}.IsSorting(),
              "the public header knows the sorting bit");

}  // namespace weft::internal
