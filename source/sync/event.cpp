// One bit, kSet.
//
// Invariant: while kSet is set, no waiter in the list can be notified. A waiter checks kSet under
// the lock before it enters the list. Set, under the lock, removes and notifies all waiters and
// sets kSet (Manual); or it removes and notifies the first waiter, and sets kSet only if there is
// none (Auto).
#include "weft/sync/event.h"

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/spin.h"
#include "sync/wake_list.h"

namespace weft {

using namespace internal;

Event::Event(TaskScheduler &scheduler, EventReset reset, bool isSet) noexcept
    : m_queue(scheduler, isSet ? kSet : 0), m_isAuto(reset == EventReset::Auto) {}

bool Event::IsSet() const noexcept {
    // acquire: pairs with the release of Unlock in Set. The caller sees what was written before
    // Set.
    const bool isSet = (m_queue.Word(kAcquire) & kSet) != 0;
    if (isSet) race::SawAll(const_cast<WaitQueue *>(&m_queue));
    return isSet;
}

// Writes the word even if kSet is set already. Suppose that it only read the word. Another thread
// may call Reset after that read, and then check its condition. It might see neither what was
// written before this Set, nor this Set.
void Event::Set() noexcept {
    race::Finishes(&m_queue);
    uint64_t word = m_queue.Lock();
    WakeList list;
    bool isTaken = false;
    for (Waiter *next, *inLine = m_queue.First(); inLine != nullptr && !isTaken; inLine = next) {
        next = inLine->next;
        Waiter *const waiter = FirstOf::Choose(*inLine);
        if (waiter == nullptr) continue;
        m_queue.Remove(*inLine);
        list.Add(*waiter);
        isTaken = m_isAuto;
    }
    if (!isTaken) word |= kSet;
    TaskScheduler &scheduler = m_queue.Scheduler();
    m_queue.Unlock(word);
    // From here on the event may be gone.
    list.Wake(scheduler);
}

// acquire: pairs with the release of Unlock in the Set that this call undoes (see Set). A
// read-modify-write continues the release sequence of that store. So a later acquire that reads the
// new word sees what was written before that Set, too.
void Event::Reset() noexcept {
    uint64_t word = m_queue.UnlockedWord();
    while (!m_queue.Change(word, word & ~kSet, kAcquire)) word = m_queue.UnlockedWord();
    race::SawAll(&m_queue);
}

bool Event::TryWait() noexcept {
    if (!m_isAuto) return IsSet();
    uint64_t word = m_queue.Word(kRelaxed);  // the CAS decides
    while ((word & kSet) != 0) {
        if ((word & WaitQueue::kLocked) != 0) {
            word = m_queue.UnlockedWord();
        } else if (m_queue.Change(word, word & ~kSet, kAcquire)) {
            // acquire: pairs with the release of Unlock in Set
            race::SawAll(&m_queue);
            return true;
        }
    }
    return false;
}

void Event::Wait() noexcept { Pass(nullptr); }

bool Event::Pass(Deadline *deadline) noexcept {
    SchedulingPoint(m_queue.Scheduler());
    if (TryWait()) return true;
    if (SpinBriefly(m_queue, [&] { return TryWait() ? Look::Done : Look::Again; })) return true;
    Waiter self;
    if (m_queue.CanWait(self)) return PassInLine(self, deadline);
    return Poll(deadline, [&] { return TryWait(); });
}

bool Event::PassOrLineUp(Waiter &self) noexcept {
    const uint64_t word = m_queue.Lock();
    const bool isSet = (word & kSet) != 0;
    if (!isSet) m_queue.Append(self);
    const bool takes = isSet && FirstOf::Choose(self) != nullptr && m_isAuto;
    m_queue.Unlock(takes ? word & ~kSet : word);
    // From here on the event may be gone if the waiter is in the list: it may have been notified.
    return isSet;
}

bool Event::PassInLine(Waiter &self, Deadline *deadline) noexcept {
    void *const queue = &m_queue;
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (!PassOrLineUp(self) && !m_queue.WaitInLine(scheduler, self, deadline)) return false;
    race::SawAll(queue);
    return true;
}

WaitQueue &FirstOf::QueueOf(Event &event) noexcept { return event.m_queue; }

bool FirstOf::TryTake(Event &event) noexcept { return event.TryWait(); }

bool FirstOf::Join(Event &event, Link &link) noexcept { return !event.PassOrLineUp(link); }

void FirstOf::Leave(Event &event, Link &link) noexcept {
    const uint64_t word = event.m_queue.Lock();
    event.m_queue.Remove(link);
    event.m_queue.Unlock(word);
}

}  // namespace weft
