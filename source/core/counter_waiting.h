// Counting, and waiting for a count.
//
// Everything about a counter is in its one word (counter_word.h), and each operation takes effect
// with one CAS on it. A waiter pushes its record on the list in the word; the decrement that makes
// the count zero takes the whole list with the same CAS, and has then touched the counter for the
// last time: the memory may be gone right after.
//
// Targets other than zero. A decrement that leaves the count above zero on an `eager` counter
// detaches the list with its CAS, sets `sorting`, and keeps, outside the counter, the waiters that
// are not satisfied yet; then it puts those back and clears `sorting` with its last CAS. While
// `sorting` is set nobody takes the counter for finished, so it cannot be freed although it may
// stand at zero: the sorter sees that with its last CAS and wakes all. Others do not wait for the
// sorter. Decrements take their part off and leave; waiters push their records; both are seen by
// the sorter.
//
// No value that was passed is missed. The danger is a count that falls to a detached waiter's
// target and rises again before the sorter looks. It can rise only by Add; and an Add that sees
// `sorting` pushes, with the CAS that raises the count, a note of the count that it found. Between
// two notes the count only falls, so the lowest count since a waiter was detached is the least of
// the notes above it in the list and of the count in the word that the sorter sees.
#pragma once

#include "core/counter_word.h"
#include "core/notices.h"
#include "core/wait_records.h"
#include "platform/compiler.h"

#include <cstdint>

namespace weft::internal {

enum class CounterResult : uint8_t { Ok, Underflow, Overflow, OtherScheduler };

using CounterStorage = WEFT_ATOMIC<uint64_t>;

/// The counters of one scheduler. All calls: any thread. Lock-free, except where stated. `user`:
/// the caller, if it has a cache of spare records (cached_pool.h).
class CounterWaiting {
public:
    bool Acquire(uint32_t fibers, uint32_t tag, Memory memory = {}, uint32_t users = 0,
                 Notices *notices = nullptr) noexcept {
        m_tag = tag;
        m_notices = notices;
        return m_records.Acquire(fibers, memory, users);
    }
    void Release() noexcept { m_records.Release(); }

    /// Raises the count. When a sorter is at work and there is no spare record, it waits for the
    /// sorter.
    CounterResult Add(CounterStorage &counter, uint32_t n) noexcept;

    /// One attempt at the same for a counter that is plainly ours; otherwise false, and nothing was
    /// done.
    bool TryAdd(CounterStorage &counter, uint32_t n) noexcept {
        const CounterWord word{counter.load(kRelaxed)};  // as in Add, like the CAS
        if (WEFT_UNLIKELY((word.bits != 0 && !word.IsUnsorted(m_tag)) || word.Count() + n < n))
            return false;
        uint64_t expected = word.bits;
        const CounterWord raised = word.WithCount(word.Count() + n).WithTag(m_tag);
        return counter.compare_exchange_strong(expected, raised.bits, kRelease, kRelaxed);
    }

    /// Lowers the count. `woken` becomes the list of records whose owners are to be made ready (0:
    /// none); it is the caller's own. The counter may be gone when this returns.
    CounterResult Decrement(CounterStorage &counter, uint32_t n, uint32_t &woken) noexcept;

    /// The same when nobody is to be woken, which is the most frequent case by far; otherwise
    /// false, and nothing was done.
    bool TryDecrement(CounterStorage &counter, uint32_t n) noexcept {
        // or the line would come twice: to be read, and to be written
        env::PrefetchForWrite(&counter);
        CounterWord word{counter.load(kRelaxed)};  // as in Decrement, like the CAS
        for (;;) {
            const bool wakesNobody = word.Count() > n || (word.Count() == n && word.Head() == 0);
            if (WEFT_UNLIKELY(!wakesNobody || !word.IsPlain(m_tag))) return false;
            const CounterWord lowered = word.WithCount(word.Count() - n);
            if (counter.compare_exchange_strong(word.bits, lowered.bits, kAcqRel, kRelaxed))
                return true;
        }
    }

    enum class Registration : uint8_t { Waiting, Satisfied, OtherScheduler, NoRecord };

    /// Puts the record of `fiber`, which must not run any more, on the list, unless the count is at
    /// or below `target`. After `Waiting` the fiber may already be running again, and the counter
    /// be gone.
    Registration Register(CounterStorage &counter, uint32_t fiber, uint32_t target) noexcept {
        return Push(counter, fiber, fiber, target);
    }

    /// The same for who is no fiber, under any name that no fiber has. NoRecord: there is no spare
    /// one.
    Registration RegisterOther(CounterStorage &counter, uint32_t owner, uint32_t target,
                               uint32_t user = kNoCache) noexcept;

    /// Somebody waits for a value of the counter above zero. seq_cst, with Push: a waiter that is
    /// not seen comes later. The counter's line is read only while there is such a waiter on any
    /// counter.
    bool AnyForValue(const CounterStorage &counter) noexcept {
        return WEFT_UNLIKELY(m_notices->Has(Notices::kForValue)) && LookForValue(counter);
    }

    static constexpr uint32_t kNobody = ~0u;  // no owner

    /// Which record is taken off: one that waits for a value up to `maxTarget`, and whose owner
    /// `isWanted`.
    struct Choice {
        bool (*isWanted)(uint32_t owner, void *context);
        void *context;
        uint32_t maxTarget = 0;
    };

    /// Takes the first record of that choice off the list and returns its owner, or kNobody. The
    /// counter must outlive the call. `woken` as in Decrement. Waits while somebody else sorts.
    /// While an owner is asked about it cannot be woken.
    uint32_t RemoveIf(CounterStorage &counter, const Choice &choice, uint32_t &woken,
                      uint32_t user = kNoCache) noexcept;

    /// The same for one owner, whatever it waits for. True if it was there.
    bool Remove(CounterStorage &counter, uint32_t owner, uint32_t &woken,
                uint32_t user = kNoCache) noexcept {
        const auto isOwner = [](uint32_t other, void *wanted) {
            return other == *static_cast<uint32_t *>(wanted);
        };
        return RemoveIf(counter, {isOwner, &owner, ~0u}, woken, user) != kNobody;
    }

    /// Goes through a list from Decrement: returns the owner of its first record and moves on.
    uint32_t NextOwner(uint32_t &list, uint32_t user = kNoCache) noexcept {
        const uint32_t index = list - 1;
        const WaitRecord &record = m_records.At(index);
        list = record.next;  // before the owner is made ready: then the record is its own again
        const uint32_t owner = record.owner;
        if (WEFT_UNLIKELY(record.value != 0)) EndForValue();
        if (m_records.IsSpare(index)) m_records.GiveBackSpare(index, user);
        return owner;
    }

    /// False when the counter is in use with another scheduler. (Tag 0: a scheduler or counter
    /// without one.)
    bool IsOurs(CounterWord word) const noexcept {
        return !word.InUse() || word.Tag() == m_tag || word.Tag() == 0 || m_tag == 0;
    }

private:
    // The list of those to wake, and of those to put back.
    struct Sorted {
        uint32_t woken = 0;
        uint32_t kept = 0;
        bool keptEager = false;
        const Choice *remove = nullptr;
        uint32_t user = kNoCache;
        uint32_t removed = kNobody;  // the owner whose record was dropped
    };
    Registration Push(CounterStorage &counter, uint32_t index, uint32_t owner,
                      uint32_t target) noexcept;
    Registration PushRecord(CounterStorage &counter, WaitRecord &record, uint32_t index,
                            uint32_t owner, uint32_t target) noexcept;
    uint32_t Sort(CounterStorage &counter, uint32_t list, uint32_t lowest, Sorted &sorted) noexcept;
    void SortList(Sorted &sorted, uint32_t list, uint32_t &lowest) noexcept;
    bool LookForValue(const CounterStorage &counter) noexcept;
    void BeginForValue() noexcept;
    // relaxed: the notice may stay for a while.
    void EndForValue() noexcept { m_forValues.fetch_sub(1, kRelaxed); }
    static void Link(WaitRecord &record, uint32_t index, uint32_t &list) noexcept {
        record.next = list;
        list = index;
    }

    WaitRecords m_records;
    uint32_t m_tag = 0;
    Notices *m_notices = nullptr;
    alignas(kLineBytes) env::Atomic<uint32_t> m_forValues{0};  // records whose value is above zero
};

}  // namespace weft::internal
