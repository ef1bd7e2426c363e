// The CAS loops of CounterWaiting, and the sorting of waiters with targets above zero.
#include "core/counter_waiting.h"

#include "platform/backoff.h"

namespace weft::internal {

CounterResult CounterWaiting::Add(CounterStorage &counter, uint32_t n) noexcept {
    uint32_t note = WaitRecords::kNone;
    CounterResult result = CounterResult::Ok;
    // relaxed: the tasks that are counted are published elsewhere. No acquire: nothing is read that
    // the counter publishes.
    CounterWord word{counter.load(kRelaxed)};
    for (Backoff backoff;;) {
        if (!IsOurs(word)) {
            result = CounterResult::OtherScheduler;
            break;
        }
        if (word.Count() + n < n) {
            result = CounterResult::Overflow;
            break;
        }
        CounterWord raised = word.WithCount(word.Count() + n).WithTag(m_tag);
        if (word.IsSorting()) {
            if (note == WaitRecords::kNone) note = m_records.TakeSpare();
            if (note == WaitRecords::kNone) {
                backoff.Next();
                word.bits = counter.load(kRelaxed);
                continue;
            }
            WaitRecord &record = m_records.At(note);
            record = {word.Head(), word.Count(), WaitRecords::kNone, WaitRecord::Kind::Note};
            raised = raised.WithHead(note + 1);
        }
        // release: publishes the note. A CAS without a note needs no order of its own. As a
        // read-modify-write it continues the release sequences of earlier decrements.
        if (counter.compare_exchange_strong(word.bits, raised.bits, kRelease, kRelaxed)) {
            if (word.IsSorting()) note = WaitRecords::kNone;  // the sorter gives it back
            break;
        }
    }
    if (note != WaitRecords::kNone) m_records.GiveBackSpare(note);
    return result;
}

CounterResult CounterWaiting::Decrement(CounterStorage &counter, uint32_t n,
                                        uint32_t &woken) noexcept {
    woken = 0;
    CounterWord word{counter.load(kRelaxed)};  // relaxed: the CAS decides
    for (;;) {
        if (!IsOurs(word)) return CounterResult::OtherScheduler;
        if (word.Count() < n) return CounterResult::Underflow;
        const uint32_t left = word.Count() - n;
        CounterWord lowered = word.WithCount(left);
        const bool takesList = !word.IsSorting() && (left == 0 || word.IsEager());
        if (takesList) lowered = lowered.WithHead(0).WithEager(false).WithSorting(left != 0);
        // release: what the finished tasks wrote is published with the count. acquire: the last
        // decrement sees what the earlier ones published, and passes it on to the waiters. It also
        // sees the records that the waiters pushed.
        if (!counter.compare_exchange_strong(word.bits, lowered.bits, kAcqRel, kRelaxed)) continue;
        Sorted sorted;
        if (takesList) woken = left == 0 ? word.Head() : Sort(counter, word.Head(), left, sorted);
        // From here on the counter may be gone.
        return CounterResult::Ok;
    }
}

// The count of waiters is the item that this notice announces (notices.h): increment it, then show
// the notice.
void CounterWaiting::BeginForValue() noexcept {
    m_forValues.fetch_add(1, kSeqCst);
    if (m_notices != nullptr) m_notices->Show(Notices::kForValue);
}

bool CounterWaiting::LookForValue(const CounterStorage &counter) noexcept {
    const auto any = [this] { return m_forValues.load(kSeqCst) != 0; };
    if (!any()) {
        m_notices->Hide(Notices::kForValue, any);
        return false;
    }
    const CounterWord word{counter.load(kSeqCst)};
    return word.IsEager() || word.IsSorting();
}

CounterWaiting::Registration CounterWaiting::RegisterOther(CounterStorage &counter, uint32_t owner,
                                                           uint32_t target,
                                                           uint32_t user) noexcept {
    const uint32_t spare = m_records.TakeSpare(user);
    if (spare == WaitRecords::kNone) return Registration::NoRecord;
    const Registration result = Push(counter, spare, owner, target);
    // if it waits, NextOwner gives the record back
    if (result != Registration::Waiting) m_records.GiveBackSpare(spare, user);
    return result;
}

uint32_t CounterWaiting::RemoveIf(CounterStorage &counter, const Choice &choice, uint32_t &woken,
                                  uint32_t user) noexcept {
    woken = 0;
    CounterWord word{counter.load(kRelaxed)};  // relaxed: the CAS decides
    for (Backoff backoff;;) {
        if (!IsOurs(word)) return kNobody;  // another scheduler owns the records
        if (word.IsSorting()) {             // the sorter may hold the record
            backoff.Next();
            word.bits = counter.load(kRelaxed);
            continue;
        }
        if (word.Head() == 0) return kNobody;
        const CounterWord detached = word.WithHead(0).WithEager(false).WithSorting(true);
        // acquire: the records of the list are visible.
        if (counter.compare_exchange_strong(word.bits, detached.bits, kAcqRel, kRelaxed)) break;
    }
    Sorted sorted;
    sorted.remove = &choice;
    sorted.user = user;
    woken = Sort(counter, word.Head(), word.Count(), sorted);
    return sorted.removed;
}

CounterWaiting::Registration CounterWaiting::Push(CounterStorage &counter, uint32_t index,
                                                  uint32_t owner, uint32_t target) noexcept {
    WaitRecord &record = m_records.At(index);
    if (WEFT_UNLIKELY(target != 0)) BeginForValue();
    const Registration result = PushRecord(counter, record, index, owner, target);
    if (WEFT_UNLIKELY(target != 0) && result != Registration::Waiting) EndForValue();
    return result;
}

CounterWaiting::Registration CounterWaiting::PushRecord(CounterStorage &counter, WaitRecord &record,
                                                        uint32_t index, uint32_t owner,
                                                        uint32_t target) noexcept {
    // acquire: a waiter that is satisfied continues, and must see what the counted tasks wrote.
    CounterWord word{counter.load(kAcquire)};
    for (;;) {
        if (word.Satisfies(target)) return Registration::Satisfied;
        if (!IsOurs(word)) return Registration::OtherScheduler;
        record = {word.Head(), target, owner, WaitRecord::Kind::Waiter};
        const CounterWord waiting =
            word.WithHead(index + 1).WithEager(word.IsEager() || target != 0).WithTag(m_tag);
        // release: publishes the record, and the context of the fiber that was suspended before.
        // seq_cst: it is step 1 of the proof in scheduler/find/rescue.h.
        if (counter.compare_exchange_strong(word.bits, waiting.bits, kSeqCst, kAcquire))
            return Registration::Waiting;
    }
}

// Sorts `list`, which was detached when the count was `lowest`, above zero. Returns the list of
// waiters to wake.
uint32_t CounterWaiting::Sort(CounterStorage &counter, uint32_t list, uint32_t lowest,
                              Sorted &sorted) noexcept {
    SortList(sorted, list, lowest);
    // The count that the kept waiters were compared with: their targets are below it.
    uint32_t sortedAt = lowest;
    // acquire: the waiters that this call wakes must see what other decrements published meanwhile.
    CounterWord word{counter.load(kAcquire)};
    for (;;) {
        if (word.Head() != 0) {
            // New records were pushed meanwhile. Detach them too. `sorting` stays set.
            const CounterWord detached = word.WithHead(0).WithEager(false);
            if (!counter.compare_exchange_strong(word.bits, detached.bits, kAcqRel, kAcquire))
                continue;
            lowest = sortedAt = word.Count();
            const uint32_t earlier = sorted.kept;
            sorted.kept = 0;
            sorted.keptEager = false;
            // The first call lowers `lowest` to the least count since `earlier` was detached.
            SortList(sorted, word.Head(), lowest);
            SortList(sorted, earlier, lowest);
            word = detached;
            continue;
        }
        if (word.Count() < sortedAt) {
            lowest = sortedAt = word.Count();
            const uint32_t earlier = sorted.kept;
            sorted.kept = 0;
            sorted.keptEager = false;
            SortList(sorted, earlier, lowest);
        }
        const CounterWord done =
            word.WithHead(sorted.kept).WithEager(sorted.keptEager).WithSorting(false);
        // release: publishes the links of the list that is put back. After success the counter is
        // not accessed any more.
        if (counter.compare_exchange_strong(word.bits, done.bits, kAcqRel, kAcquire))
            return sorted.woken;
    }
}

// Goes through the list from the newest record to the oldest. For each record, `lowest` is the
// least count since that record was pushed or detached.
void CounterWaiting::SortList(Sorted &sorted, uint32_t list, uint32_t &lowest) noexcept {
    while (list != 0) {
        const uint32_t index = list;
        WaitRecord &record = m_records.At(index - 1);
        list = record.next;
        if (record.kind == WaitRecord::Kind::Note) {
            if (record.value < lowest) lowest = record.value;
            m_records.GiveBackSpare(index - 1, sorted.user);
        } else if (sorted.remove != nullptr && sorted.removed == kNobody &&
                   record.value <= sorted.remove->maxTarget &&
                   sorted.remove->isWanted(record.owner, sorted.remove->context)) {
            sorted.removed = record.owner;
            if (record.value != 0) EndForValue();
            if (m_records.IsSpare(index - 1)) m_records.GiveBackSpare(index - 1, sorted.user);
        } else if (record.value >= lowest) {
            Link(record, index, sorted.woken);
        } else {
            Link(record, index, sorted.kept);
            if (record.value != 0) sorted.keptEager = true;
        }
    }
}

}  // namespace weft::internal
