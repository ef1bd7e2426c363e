// One bit. While it is set nobody is in line: who would get in line looks at it under the lock, and
// who sets it takes everybody off the line (Manual), or gives it to the first instead of setting it
// (Auto).
#include "weft/sync/event.h"

#include "platform/backoff.h"
#include "platform/env.h"
#include "platform/race_finder.h"
#include "sync/spin.h"
#include "sync/wake_list.h"

namespace weft {

using namespace internal;

Event::Event(TaskScheduler &scheduler, EventReset reset, bool isSet) noexcept
    : m_queue(scheduler, isSet ? kSet : 0), m_isAuto(reset == EventReset::Auto) {}

bool Event::IsSet() const noexcept {
    // acquire: what was done before the Set
    const bool isSet = (m_queue.Word(kAcquire) & kSet) != 0;
    if (isSet) race::SawAll(const_cast<WaitQueue *>(&m_queue));
    return isSet;
}

// Writes even if it is set already: with a look alone, somebody who resets it after that look, and
// then checks what it is about, may see neither what was done before this Set nor the Set.
void Event::Set() noexcept {
    race::Finishes(&m_queue);
    uint64_t word = m_queue.Lock();
    WakeList list;
    if (m_isAuto && m_queue.First() != nullptr) {
        Waiter &first = *m_queue.First();
        m_queue.Remove(first);
        list.Add(first);
    } else {
        word |= kSet;
        while (Waiter *first = m_queue.First()) {
            m_queue.Remove(*first);
            list.Add(*first);
        }
    }
    TaskScheduler &scheduler = m_queue.Scheduler();
    m_queue.Unlock(word);
    // From here on the event may be gone.
    list.Wake(scheduler);
}

// acquire: what was done before a Set that this undoes; see Set. As a read-modify-write it hands on
// what it has read, for others.
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
            // acquire: what was done before the Set
            race::SawAll(&m_queue);
            return true;
        }
    }
    return false;
}

void Event::Wait() noexcept { Pass(nullptr); }

bool Event::Pass(const Clock::time_point *deadline) noexcept {
    if (TryWait()) return true;
    if (SpinBriefly(m_queue, [&] { return TryWait() ? Look::Done : Look::Again; })) return true;
    Waiter self;
    if (m_queue.CanWait(self)) return PassInLine(self, deadline);
    for (Backoff backoff; !TryWait(); backoff.Next()) {
        if (deadline != nullptr && Now() >= *deadline) return false;
    }
    return true;
}

bool Event::PassOrLineUp(Waiter &self) noexcept {
    const uint64_t word = m_queue.Lock();
    const bool isSet = (word & kSet) != 0;
    if (!isSet) m_queue.Append(self);
    m_queue.Unlock(isSet && m_isAuto ? word & ~kSet : word);
    // In line, who is called may find the event gone.
    return isSet;
}

bool Event::PassInLine(Waiter &self, const Clock::time_point *deadline) noexcept {
    void *const queue = &m_queue;
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (!PassOrLineUp(self) && !m_queue.WaitInLine(scheduler, self, deadline)) return false;
    race::SawAll(queue);
    return true;
}

}  // namespace weft
