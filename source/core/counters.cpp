// Implements counters.h: registering, and the list of an eager counter.
#include "core/counters.h"

namespace weft::internal {

// A waiter with a target above zero is announced first (kForValue), so that workers do not hold
// back decrements. The count of such waiters is the item of this notice (notices.h).
Counters::Registration Counters::Register(CounterStorage &counter, uint32_t owner, uint32_t target,
                                          Priority priority, uint32_t user) noexcept {
    const uint32_t index = m_records.IsSpare(owner) ? m_records.TakeSpare(user) : owner;
    if (index == WaitRecords::kNone) return Registration::NoRecord;
    if (WEFT_UNLIKELY(target != 0)) {
        m_forValues.fetch_add(1, kSeqCst);
        if (m_notices != nullptr) m_notices->Show(Notices::kForValue);
    }
    WaitRecord &record = m_records.At(index);
    Backoff backoff;
    // acquire: a waiter that is satisfied continues, and must see what the counted tasks wrote
    CounterWord word{counter.load(kAcquire)};
    while (word.Count() > target && IsOurs(word)) {
        if (word.IsLocked()) {
            backoff.Next();
            word.bits = counter.load(kAcquire);
            continue;
        }
        record = {word.Head(), 0, target, owner, priority, false};
        const CounterWord waiting = word.WithHead(index + 1)
                                        .WithEager(word.IsEager() || target != 0)
                                        .WithWaiter(priority)
                                        .WithTag(m_tag);
        // release: publishes the record, and the context of the fiber that was left. seq_cst: a
        // worker that has no fiber for a task looks for this waiter later (run/rescue.cpp).
        if (counter.compare_exchange_strong(word.bits, waiting.bits, kSeqCst, kAcquire))
            return Registration::Waiting;
    }
    // relaxed: the notice may stay set for a while
    if (WEFT_UNLIKELY(target != 0)) m_forValues.fetch_sub(1, kRelaxed);
    if (m_records.IsSpare(index)) m_records.GiveBackSpare(index, user);
    return word.Count() <= target ? Registration::Satisfied : Registration::OtherScheduler;
}

// The caller has locked the counter when the count was `count`. Returns the waiters that have been
// reached, and unlocks.
uint32_t Counters::TakeReached(CounterStorage &counter, CounterWord locked,
                               uint32_t count) noexcept {
    uint32_t woken = 0, root = 0, zeros = 0, lastZero = 0, list = locked.Head();
    while (list != 0 && !m_records.At(list - 1).isRoot) {  // the new records
        const uint32_t index = list;
        WaitRecord &record = m_records.At(index - 1);
        list = record.next;
        if (record.target == 0) {
            record.next = zeros;
            zeros = index;
            if (lastZero == 0) lastZero = index;
        } else {
            root = Merge(root, index);
        }
    }
    if (list != 0) {  // the old root, and the waiters for zero behind it
        WaitRecord &old = m_records.At(list - 1);
        old.isRoot = false;
        if (lastZero != 0) m_records.At(lastZero - 1).next = old.next;
        if (zeros == 0) zeros = old.next;
        root = Merge(root, list);
    }
    while (root != 0 && m_records.At(root - 1).target >= count) {
        WaitRecord &record = m_records.At(root - 1);
        record.next = woken;
        woken = root;
        root = MergeAll(record.child);
    }
    if (root != 0) {
        m_records.At(root - 1).isRoot = true;
        m_records.At(root - 1).next = zeros;
    }
    const CounterWord kept = locked.WithLocked(false).WithEager(root != 0);
    const uint32_t head = root != 0 ? root : zeros;
    // The boost may stay too high, until the counter is zero.
    Unlock(counter, locked, head != 0 ? kept.WithHead(head) : kept.WithoutWaiters());
    return woken;
}

// Returns false if there is no waiter, or if another scheduler owns the records.
bool Counters::Lock(CounterStorage &counter, CounterWord &word, bool tries) noexcept {
    word.bits = counter.load(kRelaxed);  // relaxed: the CAS decides
    for (Backoff backoff;;) {
        if (word.IsLocked()) {
            if (tries) return false;
            backoff.Next();
            word.bits = counter.load(kRelaxed);
        } else if (word.Head() == 0 || !IsOurs(word)) {
            return false;
        } else if (counter.compare_exchange_strong(word.bits, word.WithLocked(true).bits, kAcquire,
                                                   kRelaxed)) {
            return true;  // acquire: the records of the list are visible
        }
    }
}

// Makes one list of all records, also of those in the heap.
uint32_t Counters::Flatten(uint32_t list) noexcept {
    uint32_t flat = 0;
    while (list != 0) {
        const uint32_t index = list;
        WaitRecord &record = m_records.At(index - 1);
        list = record.next;
        if (const uint32_t children = record.child; children != 0) {
            uint32_t last = children;
            while (const uint32_t next = m_records.At(last - 1).next) last = next;
            m_records.At(last - 1).next = list;
            list = children;
        }
        record.child = 0;
        record.isRoot = false;
        record.next = flat;
        flat = index;
    }
    return flat;
}

// Makes one heap of two: the lower root becomes the first child of the higher one. 0: empty.
uint32_t Counters::Merge(uint32_t a, uint32_t b) noexcept {
    if (a == 0 || b == 0) {
        if (a + b != 0) m_records.At(a + b - 1).next = 0;
        return a + b;
    }
    const bool aIsHigher = m_records.At(a - 1).target >= m_records.At(b - 1).target;
    const uint32_t higher = aIsHigher ? a : b, lower = aIsHigher ? b : a;
    m_records.At(lower - 1).next = m_records.At(higher - 1).child;
    m_records.At(higher - 1).child = lower;
    m_records.At(higher - 1).next = 0;
    return higher;
}

// Merges siblings in pairs, then all pairs.
uint32_t Counters::MergeAll(uint32_t siblings) noexcept {
    uint32_t pairs = 0;
    while (siblings != 0) {
        const uint32_t first = siblings, second = m_records.At(first - 1).next;
        siblings = second != 0 ? uint32_t{m_records.At(second - 1).next} : 0;
        const uint32_t pair = Merge(first, second);
        m_records.At(pair - 1).next = pairs;
        pairs = pair;
    }
    uint32_t root = 0;
    while (pairs != 0) {
        const uint32_t next = m_records.At(pairs - 1).next;
        root = Merge(root, pairs);
        pairs = next;
    }
    return root;
}

}  // namespace weft::internal
