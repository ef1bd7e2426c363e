// Counters: incrementing, decrementing, and waiting for a value.
//
// Protocol. All of a counter's state is in its one word (counter_word.h). Each operation takes
// effect with one read-modify-write of this word. A waiter pushes its record (wait_records.h) on
// the list. Its wait ends once the count is at or below its target. The decrement that makes the
// count zero takes the whole list with the same CAS. This CAS is its last access to the counter,
// because a waiter for zero may destroy the counter right after it.
//
// A decrement that leaves an eager counter above zero sets `locked` with its CAS, takes the waiters
// whose target is reached, and unlocks. The unlocking addition is its last access. RemoveIf does
// the same. While `locked` is set, other decrements and waiters wait (so these calls are not
// lock-free). An increment does not wait: it only raises the count, so it can hide no value that
// was reached. The count is above zero while `locked` is set, because only a waiter makes a call
// lock, and the list of a counter with count zero is empty.
//
// The list. In front lie the records that were pushed since the last lock, in no order. Then comes
// the root of a pairing heap of the waiters with targets above zero, the highest target on top.
// Behind the root lie the other waiters for zero. So a decrement of an eager counter goes through
// the new records, and then pops the heap until its top is not reached. RemoveIf makes all records
// new. (Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap", Algorithmica 1986.)
#pragma once

#include "core/counter_word.h"
#include "core/notices.h"
#include "core/wait_records.h"
#include "platform/backoff.h"
#include "platform/compiler.h"

#include <cstdint>

namespace weft::internal {

/// The result of Add and Lower. After anything but Ok the counter is unchanged.
enum class CounterResult : uint8_t { Ok, Underflow, Overflow, OtherScheduler };

/// The counters of one scheduler. All calls are thread-safe. `user`: the caller's number if it has
/// a cache of spare records (cached_pool.h), else kNoCache.
class Counters {
public:
    static constexpr uint32_t kNobody = ~0u;  // no owner

    bool Acquire(uint32_t fibers, uint32_t tag, Memory memory = {}, uint32_t users = 0,
                 Notices *notices = nullptr, uint32_t spares = 0) noexcept {
        m_tag = tag;
        m_notices = notices;
        return m_records.Acquire(fibers, memory, users, spares);
    }

    /// Sets the count of a new counter that no other thread knows yet.
    void Begin(CounterStorage &counter, uint32_t n) noexcept {
        // relaxed: publishing the tasks publishes it
        counter.store(CounterWord{0}.WithCount(n).WithTag(m_tag).bits, kRelaxed);
    }
    /// Adds `n` to the count. Lock-free.
    CounterResult Add(CounterStorage &counter, uint32_t n) noexcept {
        // relaxed: the tasks that are counted are published elsewhere
        CounterWord word{counter.load(kRelaxed)};
        do {
            if (WEFT_UNLIKELY(!IsOurs(word))) return CounterResult::OtherScheduler;
            if (WEFT_UNLIKELY(word.Count() + n < n)) return CounterResult::Overflow;
            // release: as a read-modify-write it continues the release sequences of decrements
        } while (!counter.compare_exchange_strong(
            word.bits, word.WithCount(word.Count() + n).WithTag(m_tag).bits, kRelease, kRelaxed));
        return CounterResult::Ok;
    }

    /// Does what Lower does, if nobody waits. Otherwise, or if another thread is faster, returns
    /// false, and nothing has changed.
    bool LowerPlain(CounterStorage &counter, uint32_t n) noexcept {
        CounterWord word{counter.load(kRelaxed)};  // relaxed: the CAS decides
        // acquire and release: as in Lower
        return WEFT_LIKELY(word.IsPlain(m_tag) && word.Count() >= n) &&
               counter.compare_exchange_strong(word.bits, word.WithCount(word.Count() - n).bits,
                                               kAcqRel, kRelaxed);
    }

    /// Subtracts `n` from the count. Calls ready(owner) for each waiter whose target is reached.
    /// The counter may be gone from the first of these calls on, and when this returns.
    template <class Ready>
    CounterResult Lower(CounterStorage &counter, uint32_t n, uint32_t user, Ready ready) noexcept {
        // Without it the cache line would be transferred twice: to be read, then to be written.
        env::PrefetchForWrite(&counter);
        Backoff backoff;
        CounterWord word{counter.load(kRelaxed)};  // relaxed, here and below: the CAS decides
        for (;;) {
            if (WEFT_UNLIKELY(word.IsLocked())) {
                backoff.Next();
                word.bits = counter.load(kRelaxed);
                continue;
            }
            if (WEFT_UNLIKELY(!IsOurs(word))) return CounterResult::OtherScheduler;
            if (WEFT_UNLIKELY(word.Count() < n)) return CounterResult::Underflow;
            const uint32_t left = word.Count() - n;
            CounterWord lowered = word.WithCount(left);
            if (left == 0) lowered = lowered.WithoutWaiters();
            if (left != 0 && word.IsEager()) lowered = lowered.WithLocked(true);
            // release: publishes what the finished tasks wrote. acquire: the last decrement sees
            // what the earlier ones published, and passes it on to the waiters; it also sees the
            // records.
            if (!counter.compare_exchange_strong(word.bits, lowered.bits, kAcqRel, kRelaxed))
                continue;
            uint32_t woken = 0;
            if (left == 0) {
                woken = word.IsEager() ? Flatten(word.Head()) : word.Head();
            } else if (word.IsEager()) {
                woken = TakeReached(counter, lowered, left);
            }
            while (woken != 0) ready(NextOwner(woken, user));
            return CounterResult::Ok;
        }
    }

    /// The result of a registration. Only after Waiting the waiter is on the list.
    enum class Registration : uint8_t { Waiting, Satisfied, OtherScheduler, NoRecord };

    /// Pushes the record of `owner`, unless the count is at or below `target`. `owner`: a fiber,
    /// which must not run any more, or any number that no fiber has. In the second case returns
    /// NoRecord if there is no spare record. After Waiting the fiber may already be running again,
    /// and the counter may be gone.
    Registration Register(CounterStorage &counter, uint32_t owner, uint32_t target,
                          Priority priority, uint32_t user = kNoCache) noexcept;

    /// Removes the first record for which wants(owner, target) returns true, and returns its owner,
    /// or kNobody. While `wants` runs, the owner that it is asked about cannot be woken. The
    /// counter must outlive the call. `tries`: does not wait for another call that has locked the
    /// counter, and then returns kNobody.
    template <class Wants>
    uint32_t RemoveIf(CounterStorage &counter, uint32_t user, Wants wants,
                      bool tries = false) noexcept {
        CounterWord word{0};
        if (!Lock(counter, word, tries)) return kNobody;
        uint32_t list = word.IsEager() ? Flatten(word.Head()) : word.Head();
        uint32_t found = kNobody, kept = 0;
        CounterWord unlocked = word.WithoutWaiters();
        while (list != 0) {
            const uint32_t index = list;
            WaitRecord &record = m_records.At(index - 1);
            if (found == kNobody && wants(uint32_t{record.owner}, uint32_t{record.target})) {
                found = NextOwner(list, user);
                continue;
            }
            list = record.next;
            record.next = kept;
            kept = index;
            unlocked = unlocked.WithEager(unlocked.IsEager() || record.target != 0)
                           .WithWaiter(record.priority);
        }
        Unlock(counter, word.WithLocked(true), unlocked.WithHead(kept));
        return found;
    }
    /// Removes the record of this owner. Returns true if the record was there.
    bool Remove(CounterStorage &counter, uint32_t owner, uint32_t user = kNoCache) noexcept {
        return RemoveIf(counter, user,
                        [owner](uint32_t other, uint32_t) { return other == owner; }) != kNobody;
    }

    /// Call it when the notice kForValue is set and no such waiter was met. Hides the notice if
    /// there is none.
    void HideForValue() noexcept {
        const auto any = [this] { return m_forValues.load(kSeqCst) != 0; };
        if (!any()) m_notices->Hide(Notices::kForValue, any);
    }

    /// Returns false if another scheduler uses the counter. A scheduler or counter without a tag
    /// (0) passes the check.
    bool IsOurs(CounterWord word) const noexcept {
        return word.Tag() == m_tag || !word.InUse() || word.Tag() == 0 || m_tag == 0;
    }

private:
    friend struct DebugLayout;
    // Takes the first record off a list. Returns its owner.
    uint32_t NextOwner(uint32_t &list, uint32_t user) noexcept {
        const uint32_t index = list - 1;
        const WaitRecord &record = m_records.At(index);
        list = record.next;  // read it now: once the owner is ready, it may use the record again
        const uint32_t owner = record.owner;
        if (WEFT_UNLIKELY(record.target != 0)) m_forValues.fetch_sub(1, kRelaxed);  // see Register
        if (m_records.IsSpare(index)) m_records.GiveBackSpare(index, user);
        return owner;
    }

    uint32_t TakeReached(CounterStorage &counter, CounterWord locked, uint32_t count) noexcept;
    bool Lock(CounterStorage &counter, CounterWord &word, bool tries) noexcept;
    // Meanwhile only the count has changed, so an addition changes the other fields. release:
    // publishes the links. The counter is not accessed any more.
    static void Unlock(CounterStorage &counter, CounterWord locked, CounterWord unlocked) noexcept {
        counter.fetch_add(unlocked.bits - locked.bits, kRelease);
    }
    uint32_t Flatten(uint32_t list) noexcept;
    uint32_t Merge(uint32_t a, uint32_t b) noexcept;
    uint32_t MergeAll(uint32_t siblings) noexcept;

    WaitRecords m_records;
    uint32_t m_tag = 0;
    Notices *m_notices = nullptr;
    // registered waiters with a target above zero
    alignas(kLineBytes) env::Atomic<uint32_t> m_forValues{0};
};

}  // namespace weft::internal
