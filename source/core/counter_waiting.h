// Counters: incrementing, decrementing, and waiting for a value.
//
// Terms.
//
//  count    the value of the counter. It is part of the counter's word (counter_word.h).
//  record   an entry in the list of waiters (wait_records.h). The word names the newest record.
//  target   the value that a waiter waits for. Waiting ends once `count <= target`.
//  sorter   a call that has detached the list and divides it into waiters to wake and waiters to
//           keep. Bit `sorting` of the word is set meanwhile.
//  note     a record that is no waiter: the count right before an Add that came during a sort.
//
// Protocol. All of a counter's state is in its one word. Each operation takes effect with one CAS
// on this word. A waiter pushes its record on the list. The decrement that makes the count zero
// takes the whole list with the same CAS. This CAS is its last access to the counter, because a
// waiter for zero may destroy the counter right after it.
//
// Targets above zero. Bit `eager` says that a waiter has such a target. A decrement that leaves the
// count above zero on an eager counter becomes the sorter: its CAS detaches the list and sets
// `sorting`. The sorter collects the satisfied waiters. With its last CAS it puts the other waiters
// back and clears `sorting`. Other threads do not wait for the sorter: they decrement the count and
// leave, or push their records. The sorter sees both. While `sorting` is set, a waiter for zero is
// not satisfied, so nobody destroys the counter, even if its count is zero. In that case the sorter
// notices the zero before its last CAS and wakes all waiters.
//
// No value is missed. The danger: while a waiter is detached, the count falls to the waiter's
// target and rises again before the sorter reads it. Only Add raises the count. An Add that finds
// `sorting` set pushes a note with the count that it found, in the same CAS that raises the count.
// Between two notes the count only falls. So the lowest count since a waiter was detached is the
// least of two things: the notes above the waiter in the list, and the count in the word that the
// sorter reads.
#pragma once

#include "core/counter_word.h"
#include "core/notices.h"
#include "core/wait_records.h"
#include "platform/compiler.h"

#include <cstdint>

namespace weft::internal {

/// The result of Add and Decrement. After anything but Ok the counter is unchanged.
enum class CounterResult : uint8_t { Ok, Underflow, Overflow, OtherScheduler };

using CounterStorage = WEFT_ATOMIC<uint64_t>;

/// The counters of one scheduler. All calls are thread-safe, and lock-free unless they say
/// otherwise. `user`: the caller's number if it has a cache of spare records (cached_pool.h), else
/// kNoCache.
class CounterWaiting {
public:
    bool Acquire(uint32_t fibers, uint32_t tag, Memory memory = {}, uint32_t users = 0,
                 Notices *notices = nullptr, uint32_t spares = 0) noexcept {
        m_tag = tag;
        m_notices = notices;
        return m_records.Acquire(fibers, memory, users, spares);
    }
    void Release() noexcept { m_records.Release(); }

    /// Adds `n` to the count. If a sorter is at work and there is no spare record for the note,
    /// waits for the sorter.
    CounterResult Add(CounterStorage &counter, uint32_t n) noexcept;

    /// Makes one attempt to do what Add does, for a counter with this scheduler's tag and without a
    /// sorter, or an unused counter. Returns false if nothing was done.
    bool TryAdd(CounterStorage &counter, uint32_t n) noexcept {
        const CounterWord word{counter.load(kRelaxed)};  // relaxed, as in Add; so is the CAS
        if (WEFT_UNLIKELY((word.bits != 0 && !word.IsUnsorted(m_tag)) || word.Count() + n < n))
            return false;
        uint64_t expected = word.bits;
        const CounterWord raised = word.WithCount(word.Count() + n).WithTag(m_tag);
        return counter.compare_exchange_strong(expected, raised.bits, kRelease, kRelaxed);
    }

    /// Subtracts `n` from the count. `woken` becomes a list of records whose owners the caller must
    /// make ready (0: none). The list belongs to the caller: go through it with NextOwner. The
    /// counter may be gone when this returns.
    CounterResult Decrement(CounterStorage &counter, uint32_t n, uint32_t &woken) noexcept;

    /// Does what Decrement does if no waiter is to be woken, which is by far the most frequent
    /// case. Returns false if nothing was done.
    bool TryDecrement(CounterStorage &counter, uint32_t n) noexcept {
        // Without it the cache line would be transferred twice: first to be read, then to be
        // written.
        env::PrefetchForWrite(&counter);
        CounterWord word{counter.load(kRelaxed)};  // relaxed, as in Decrement; so is the CAS
        for (;;) {
            const bool wakesNobody = word.Count() > n || (word.Count() == n && word.Head() == 0);
            if (WEFT_UNLIKELY(!wakesNobody || !word.IsPlain(m_tag))) return false;
            const CounterWord lowered = word.WithCount(word.Count() - n);
            if (counter.compare_exchange_strong(word.bits, lowered.bits, kAcqRel, kRelaxed))
                return true;
        }
    }

    /// The result of a registration. Only after Waiting the waiter is on the list.
    enum class Registration : uint8_t { Waiting, Satisfied, OtherScheduler, NoRecord };

    /// Pushes the record of `fiber`, unless the count is at or below `target`. The fiber must not
    /// run any more. After `Waiting` the fiber may already be running again, and the counter may be
    /// gone.
    Registration Register(CounterStorage &counter, uint32_t fiber, uint32_t target) noexcept {
        return Push(counter, fiber, fiber, target);
    }

    /// Does the same for a waiter that is no fiber. `owner` is any number that no fiber has.
    /// Returns NoRecord if there is no spare record.
    Registration RegisterOther(CounterStorage &counter, uint32_t owner, uint32_t target,
                               uint32_t user = kNoCache) noexcept;

    /// Returns true if a waiter has a target above zero for this counter. seq_cst, like the
    /// increment and the notice in Push: a waiter that this call does not see registers after it.
    /// Reads the counter's cache line only while some counter has such a waiter.
    bool AnyForValue(const CounterStorage &counter) noexcept {
        return WEFT_UNLIKELY(m_notices->Has(Notices::kForValue)) && LookForValue(counter);
    }

    static constexpr uint32_t kNobody = ~0u;  // no owner

    /// Chooses a record: its target is at most `maxTarget`, and isWanted(owner, context) returns
    /// true.
    struct Choice {
        bool (*isWanted)(uint32_t owner, void *context);
        void *context;
        uint32_t maxTarget = 0;
    };

    /// Removes the first record that `choice` accepts and returns its owner, or kNobody. `woken`:
    /// as in Decrement. While `isWanted` runs, the owner that it is asked about cannot be woken.
    /// The counter must outlive the call. Waits while another call sorts the list.
    uint32_t RemoveIf(CounterStorage &counter, const Choice &choice, uint32_t &woken,
                      uint32_t user = kNoCache) noexcept;

    /// Removes the record of this owner, whatever its target is. Returns true if the record was
    /// there.
    bool Remove(CounterStorage &counter, uint32_t owner, uint32_t &woken,
                uint32_t user = kNoCache) noexcept {
        const auto isOwner = [](uint32_t other, void *wanted) {
            return other == *static_cast<uint32_t *>(wanted);
        };
        return RemoveIf(counter, {isOwner, &owner, ~0u}, woken, user) != kNobody;
    }

    /// Takes the first record off a list that Decrement returned. Returns the record's owner.
    uint32_t NextOwner(uint32_t &list, uint32_t user = kNoCache) noexcept {
        const uint32_t index = list - 1;
        const WaitRecord &record = m_records.At(index);
        list = record.next;  // read it now: once the owner is ready, it may use the record again
        const uint32_t owner = record.owner;
        if (WEFT_UNLIKELY(record.value != 0)) EndForValue();
        if (m_records.IsSpare(index)) m_records.GiveBackSpare(index, user);
        return owner;
    }

    /// Returns false if another scheduler uses the counter. A scheduler or counter without a tag
    /// (0) passes the check.
    bool IsOurs(CounterWord word) const noexcept {
        return !word.InUse() || word.Tag() == m_tag || word.Tag() == 0 || m_tag == 0;
    }

private:
    friend struct DebugLayout;
    // The state of one sort: the list of waiters to wake, and the list of waiters to put back.
    struct Sorted {
        uint32_t woken = 0;
        uint32_t kept = 0;
        bool keptEager = false;
        const Choice *remove = nullptr;
        uint32_t user = kNoCache;
        uint32_t removed = kNobody;  // the owner whose record was removed
    };
    // Push announces a waiter with a target above zero, then calls PushRecord, which has the CAS
    // loop.
    Registration Push(CounterStorage &counter, uint32_t index, uint32_t owner,
                      uint32_t target) noexcept;
    Registration PushRecord(CounterStorage &counter, WaitRecord &record, uint32_t index,
                            uint32_t owner, uint32_t target) noexcept;
    // Sort is the sorter. It calls SortList for each list that it has detached.
    uint32_t Sort(CounterStorage &counter, uint32_t list, uint32_t lowest, Sorted &sorted) noexcept;
    void SortList(Sorted &sorted, uint32_t list, uint32_t &lowest) noexcept;
    bool LookForValue(const CounterStorage &counter) noexcept;
    void BeginForValue() noexcept;
    // relaxed: the notice may stay set for a while.
    void EndForValue() noexcept { m_forValues.fetch_sub(1, kRelaxed); }
    // Puts the record in front of the list.
    static void Link(WaitRecord &record, uint32_t index, uint32_t &list) noexcept {
        record.next = list;
        list = index;
    }

    WaitRecords m_records;
    uint32_t m_tag = 0;
    Notices *m_notices = nullptr;
    // registered waiters with a target above zero
    alignas(kLineBytes) env::Atomic<uint32_t> m_forValues{0};
};

}  // namespace weft::internal
