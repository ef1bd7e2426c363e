// Terms:
// - visitor: an item of a pipeline that comes to a filter which is not parallel.
// - reader: the one task that may call the input of a pipeline, or move the iterator of a loop. If
//   no task is the reader, it is only a mark here, and the next task that finds it becomes it.
// - place, seat: the permission to have an item in flight. The sum of free and used ones is
//   constant.
// - helper: a task that becomes the reader of a pipeline if it finds the mark and a free place. At
//   most one helper has been submitted and has not begun.
//
// No visitor is lost. The turn, the lock and the list are in one queue. A visitor looks at the turn
// under the lock before it enters the list, and Leave moves the turn and looks at the list under
// the same lock. So either the visitor sees its turn, or Leave sees the visitor. (Without the lock,
// Leave moves the turn with one CAS from a word that says that the list is empty and nobody holds
// the lock. So no visitor can be between its look and its entry.)
//
// No reader of a pipeline is lost. OfferReader sets the mark. If there is a free place then, a
// helper has been submitted and has not begun, or the caller submits one. If there is none, all
// places are in use, so another GiveBack will come, and takes the mark. A place becomes free only
// in a GiveBack that finds no mark. So while there are a mark and a free place, there is a helper
// that has not begun, and it takes both.
//
// No reader of a loop is lost. Take and GiveBack change one word. If Take finds no seat, all seats
// are in use, so another GiveBack will come, and it sees the mark.
//
// Lifetime. Leave and GiveBack access the gate last when they move the turn or free the lock. The
// visitors and places live until the end of the whole algorithm, which all tasks end before.
#include "weft/sync/gates.h"

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/turns.h"

namespace weft::internal {

constexpr uint64_t kReaderIsFree = uint64_t{1} << WaitQueue::kOwnBits;
constexpr uint64_t kHelperIsOut = kReaderIsFree << 1;

// relaxed: only the order of the changes to this number matters.
uint32_t OrderedGate::TakeNumber() noexcept { return m_numbers.fetch_add(1, kRelaxed); }

bool OrderedGate::Enter(Waiter &visitor, uint32_t number) noexcept {
    // Only this visitor can end the turn of `number`.
    // acquire: pairs with the release in Leave. The visitor sees what was written in all earlier
    // turns.
    if (TurnOf(m_queue.Word(kAcquire)) != number) {
        visitor.wanted = number;
        const uint64_t word = m_queue.Lock();
        const bool isTurn = TurnOf(word) == number;
        if (!isTurn) InsertByNumber(m_queue, visitor);
        m_queue.Unlock(word);
        if (!isTurn) return false;
    }
    race::SawAll(&m_queue);
    return true;
}

Waiter *OrderedGate::Leave(uint32_t number) noexcept {
    race::Finishes(&m_queue);
    // relaxed: only the visitor that is inside changes the turn; the CAS or the lock decides about
    // the rest.
    uint64_t word = m_queue.Word(kRelaxed);
    if ((word & (WaitQueue::kLocked | WaitQueue::kWaiters)) == 0 &&
        // release: publishes what this visitor has written to the next one, also to one that is
        // only in Enter.
        m_queue.Change(word, WithTurn(word, number + 1), kRelease))
        return nullptr;
    word = m_queue.Lock();
    Waiter *next = m_queue.First();
    if (next != nullptr && static_cast<uint32_t>(next->wanted) != number + 1) next = nullptr;
    if (next != nullptr) m_queue.Remove(*next);
    m_queue.Unlock(WithTurn(word, number + 1));
    return next;
}

bool FreePlaces::OfferReader() noexcept {
    race::Finishes(&m_lock);  // for the next reader
    const uint64_t word = m_lock.Lock();
    const bool submits = m_first != nullptr && (word & kHelperIsOut) == 0;
    m_lock.Unlock(word | kReaderIsFree | (submits ? kHelperIsOut : 0));
    return submits;
}

Waiter *FreePlaces::BeginHelper() noexcept {
    uint64_t word = m_lock.Lock() & ~kHelperIsOut;
    Waiter *place = (word & kReaderIsFree) != 0 ? m_first : nullptr;
    if (place != nullptr) {
        m_first = place->next;
        word &= ~kReaderIsFree;
    }
    m_lock.Unlock(word);
    if (place != nullptr) race::SawAll(&m_lock);
    return place;
}

bool FreePlaces::GiveBack(Waiter &place) noexcept {
    race::Finishes(&m_lock);
    const uint64_t word = m_lock.Lock();
    const bool isReader = (word & kReaderIsFree) != 0;
    if (!isReader) {
        place.next = m_first;
        m_first = &place;
    }
    m_lock.Unlock(word & ~kReaderIsFree);
    if (isReader) race::SawAll(&m_lock);
    return isReader;
}

bool Seats::Take() noexcept {
    race::Finishes(this);
    // relaxed: the CAS decides.
    uint32_t free = m_word.load(kRelaxed);
    // release: publishes what the reader has written to the task that becomes the reader in
    // GiveBack. A seat publishes nothing: the next reader is submitted.
    while (!m_word.compare_exchange_strong(free, free != 0 ? free - 1 : kReaderWaits, kRelease,
                                           kRelaxed)) {
    }
    return free != 0;
}

bool Seats::GiveBack() noexcept {
    uint32_t free = m_word.load(kRelaxed);
    // acquire: pairs with the release in Take. The new reader sees the iterator as the last one
    // left it.
    while (!m_word.compare_exchange_strong(free, free != kReaderWaits ? free + 1 : 0, kAcquire,
                                           kRelaxed)) {
    }
    if (free != kReaderWaits) return false;
    race::SawAll(this);
    return true;
}

SlotLists::SlotLists(TaskScheduler &scheduler) noexcept
    : m_lists{scheduler, scheduler, scheduler, scheduler,
              scheduler, scheduler, scheduler, scheduler} {}

// The caller is a task, so it has a worker. CurrentWorker would order tasks for the race finder.
SlotLists::List &SlotLists::OwnList() noexcept {
    const Worker *worker = WorkerOf(m_lists[0].lock.Scheduler());
    return m_lists[worker != nullptr ? worker->index % kLists : 0];
}

FreeSlot *SlotLists::TakeOwn() noexcept { return TakeFrom(OwnList()); }

FreeSlot *SlotLists::TakeAny() noexcept {
    for (List &list : m_lists) {
        if (FreeSlot *slot = TakeFrom(list)) return slot;
    }
    return nullptr;
}

FreeSlot *SlotLists::TakeFrom(List &list) noexcept {
    // relaxed: a look that saves the lock. A slot that another worker gives back at this moment may
    // be missed.
    if (list.first.load(kRelaxed) == nullptr) return nullptr;
    const uint64_t word = list.lock.Lock();
    // relaxed, here and below: the lock orders it.
    FreeSlot *slot = list.first.load(kRelaxed);
    if (slot != nullptr) list.first.store(slot->next, kRelaxed);
    list.lock.Unlock(word);
    if (slot != nullptr) race::Reuses(slot);
    return slot;
}

void SlotLists::GiveBack(FreeSlot &slot) noexcept {
    race::Frees(&slot);
    List &list = OwnList();
    const uint64_t word = list.lock.Lock();
    slot.next = list.first.load(kRelaxed);
    list.first.store(&slot, kRelaxed);
    list.lock.Unlock(word);
}

}  // namespace weft::internal
