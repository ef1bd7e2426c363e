// One bit, kSet.
//
// Invariant: while kSet is set, no waiter in the list can be notified. A waiter checks kSet under
// the lock before it enters the list. Set, under the lock, removes and notifies all waiters and
// sets kSet (Manual); or it removes and notifies the first waiter, and sets kSet only if there is
// none (Auto).
//
// A wait for several events (AnyEvent) has a Link in the list of each event, and one Waiter that is
// in no list. AnyEvent::chosen decides: the first CAS on it names the event that ends the wait, or
// the deadline. An event makes this CAS under its lock, before it gives anything to the waiter. So
// an event that is not chosen has given nothing, and nothing has to be given back. Then its Set
// leaves the link in the list, as if it were not there, and goes on with the next waiter. The wait
// removes these links at its end. The chosen event removes its link itself, and may be gone then.
// relaxed, at `chosen`: it publishes nothing. What was written before Set comes with the counter of
// the waiter (wait_queue.cpp), or with the lock of the event.
#include "weft/sync/event.h"

#include "platform/backoff.h"
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
        Waiter *const waiter = AnyEvent::Choose(*inLine);
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

bool Event::Pass(const Clock::time_point *deadline) noexcept {
    SchedulingPoint(m_queue.Scheduler());
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
    // From here on the event may be gone if the waiter is in the list: it may have been notified.
    return isSet;
}

bool Event::PassInLine(Waiter &self, const Clock::time_point *deadline) noexcept {
    void *const queue = &m_queue;
    TaskScheduler &scheduler = m_queue.Scheduler();
    if (!PassOrLineUp(self) && !m_queue.WaitInLine(scheduler, self, deadline)) return false;
    race::SawAll(queue);
    return true;
}

bool AnyEvent::Choose(uint32_t index) noexcept {
    uint32_t none = kNone;
    return chosen.compare_exchange_strong(none, index, kRelaxed, kRelaxed);
}

// Returns the waiter to notify in place of the one in the list, or null if that one is not to be
// notified any more. Call it under the lock of the event.
Waiter *AnyEvent::Choose(Waiter &inLine) noexcept {
    if (inLine.wanted == 0) return &inLine;
    Link &link = static_cast<Link &>(inLine);
    return link.any->Choose(link.index) ? &link.any->self : nullptr;
}

// Puts the link into the event's list. Returns false if the event is set, so that there is nothing
// to wait for: then it has been chosen, or another event before it.
bool AnyEvent::Join(Event &event, Link &link) noexcept {
    uint64_t word = event.m_queue.Lock();
    const bool isSet = (word & Event::kSet) != 0;
    if (!isSet) event.m_queue.Append(link);
    if (isSet && Choose(link.index) && event.m_isAuto) word &= ~Event::kSet;
    event.m_queue.Unlock(word);
    return !isSet;
}

void AnyEvent::Leave(Event &event, Link &link) noexcept {
    const uint64_t word = event.m_queue.Lock();
    event.m_queue.Remove(link);
    event.m_queue.Unlock(word);
}

uint32_t AnyEvent::TryAll(uint32_t count, Event *const *events) noexcept {
    uint32_t i = 0;
    while (i < count && !events[i]->TryWait()) ++i;
    return i;
}

bool AnyEvent::Check(TaskScheduler &scheduler, uint32_t count, Event *const *events) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        if (events[i] != nullptr && &events[i]->m_queue.Scheduler() == &scheduler) continue;
        const bool isNull = events[i] == nullptr;
        ReportMisuse(scheduler, isNull ? ReportCode::BadOption : ReportCode::WrongScheduler,
                     isNull ? "Give pointers to events."
                            : "Wait with the scheduler that the events were made with.",
                     isNull ? "WaitForAny: an event is null"
                            : "WaitForAny: an event belongs to another scheduler");
        return false;
    }
    return true;
}

uint32_t AnyEvent::Wait(TaskScheduler &scheduler, uint32_t count, Event *const *events, Link *links,
                        const Clock::time_point *deadline) noexcept {
    if (!Check(scheduler, count, events)) return count;
    SchedulingPoint(scheduler);
    uint32_t first = TryAll(count, events);
    if (first != count) return first;
    AnyEvent any;
    if (!events[0]->m_queue.CanWait(any.self)) {
        for (Backoff backoff; (first = TryAll(count, events)) == count; backoff.Next()) {
            if (deadline != nullptr && Now() >= *deadline) break;
        }
        return first;
    }
    uint32_t joined = 0;
    for (; joined < count; ++joined) {
        links[joined].any = &any;
        links[joined].index = joined;
        if (!any.Join(*events[joined], links[joined])) break;
    }
    // No event has a link with the number `joined`, so this call has chosen that one itself.
    const bool wasSet = joined != count && any.chosen.load(kRelaxed) == joined;
    if (!wasSet && !WaitQueue::Suspend(scheduler, any.self, deadline) && !any.Choose(count))
        WaitQueue::Suspend(scheduler, any.self, nullptr);  // the decrement will come soon
    first = any.chosen.load(kRelaxed);
    for (uint32_t i = 0; i < joined; ++i) {
        if (i != first) Leave(*events[i], links[i]);
    }
    if (first != count) race::SawAll(&events[first]->m_queue);
    return first;
}

}  // namespace weft
