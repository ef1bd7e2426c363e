// How everything in weft/sync/ waits.
//
// Terms:
// - word: the atomic word of the queue. It holds the state of the queue's owner, kLocked and
//   kWaiters.
// - list: the waiters that have been inserted and not been removed. Only the holder of the lock
//   accesses it.
// - waiter: a task or thread that waits, with its Waiter, which has a counter.
// - notifier: a task or thread that gives something: a permit, a signal, a turn.
// - notified: a notifier has set Waiter::notified under the lock.
//
// Protocol. To wait, take the lock and check the state. Either take what you want, or insert a
// Waiter into the list; then free the lock. (Instead, the state may be changed by one CAS from a
// word without kLocked.) To notify, take the lock, change the state, mark the waiters as notified,
// free the lock, and then decrement the counters of these waiters.
//
// No wake-up is lost. State and lock are in one word. So a notifier can never run between the check
// of a waiter and its insertion into the list. No argument about two words is necessary. kWaiters
// is set only while the list is not empty, so no notifier takes the lock in vain.
//
// Lifetime of the queue. The store in Unlock frees the lock, publishes the new state, and is the
// last access of a notifier to the queue. A thread that continues because of that state may destroy
// the queue at once.
//
// Lifetime of a waiter. It lies on the stack of its task or thread. A waiter that was notified does
// not return before its counter is zero. So it stays until then. The decrement is the last access
// of the notifier to the waiter (invariant 4 of source/README.md).
//
// Timeouts. The lock decides whether a waiter has been notified. A waiter whose deadline has passed
// takes the lock. If it has not been notified, it leaves the list, and no notifier will access it.
// If it has been notified, it waits for the decrement, which will come soon, and then has what it
// was notified for. So nothing that was given is lost.
//
// Waits that are refused (CanWait). In a hook the scheduler runs. So the waiter keeps its place in
// the list and is notified as usual. While the scheduler does not run, no notifier could decrement
// the counter. The run may also end after CanWait. Then the scheduler refuses the wait and reports
// that, and Suspend sets Waiter::polls. A notifier whose decrement is refused sets
// Waiter::wasRefused.
#include "weft/sync/wait_queue.h"

#include "platform/backoff.h"
#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "sync/spin.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

// Debug builds report a queue that is destroyed while its list is not empty: the waiters would
// access memory that is gone.
WaitQueue::~WaitQueue() {
#if defined(WEFT_DEBUG)
    if (m_first != nullptr) {
        ReportMisuse(*m_scheduler, ReportCode::DestroyedInUse,
                     "Let it live until every wait has returned.",
                     "a synchronisation object was destroyed while somebody waited for it");
    }
#endif
}

uint64_t WaitQueue::UnlockedWord() const noexcept {
    for (Backoff backoff;; backoff.Next()) {
        const uint64_t word = m_word.load(kRelaxed);  // the caller's CAS decides
        if ((word & kLocked) == 0) return word;
    }
}

uint64_t WaitQueue::Lock() noexcept {
    for (Backoff backoff;; backoff.Next()) {
        uint64_t word = m_word.load(kRelaxed);  // the CAS decides
        // acquire: pairs with the release in Unlock. The caller sees the list as the last holder
        // left it, and everything that was written before the word was stored.
        if ((word & kLocked) == 0 &&
            m_word.compare_exchange_strong(word, word | kLocked, kAcquire, kRelaxed))
            return word;
    }
}

void WaitQueue::Unlock(uint64_t word) noexcept {
    word &= ~(kLocked | kWaiters);
    // release: publishes the list to the next holder, and what the caller has written to each
    // thread that continues because of this word. A plain store is enough, because no other thread
    // changes the word while the lock is held.
    m_word.store(m_first != nullptr ? word | kWaiters : word, kRelease);
    // From here on the queue may be gone.
}

void WaitQueue::InsertAfter(Waiter *previous, Waiter &waiter) noexcept {
    Waiter *next = previous != nullptr ? previous->next : m_first;
    waiter.previous = previous;
    waiter.next = next;
    (previous != nullptr ? previous->next : m_first) = &waiter;
    (next != nullptr ? next->previous : m_last) = &waiter;
}

void WaitQueue::Remove(Waiter &waiter) noexcept {
    (waiter.previous != nullptr ? waiter.previous->next : m_first) = waiter.next;
    (waiter.next != nullptr ? waiter.next->previous : m_last) = waiter.previous;
}

// The scheduler of a task runs. Other threads increment a counter: a scheduler that does not run
// refuses that, and reports it.
bool WaitQueue::CanWait(Waiter &waiter) const noexcept {
    const bool isTask = WorkerOf(*m_scheduler) != nullptr;
    if (!waiter.polls) {
        Counter probe;
        waiter.polls = isTask ? !CallerMayWait(*m_scheduler, "a lock or wait of weft/sync/")
                              : !m_scheduler->IncrementCounter(&probe);
    }
    return isTask || !waiter.polls;
}

bool WaitQueue::Suspend(TaskScheduler &scheduler, Waiter &waiter, Deadline *deadline) noexcept {
    // acquire: pairs with the release in WakeList::Wake. The waiter sees what was written before
    // the notification. The last access of the notifier to the waiter happens before this.
    const auto isOver = [&] { return waiter.counter.IsZero() || waiter.wasRefused.load(kAcquire); };
    if (deadline != nullptr) {
        do {
            if (!waiter.polls) WaitForCounterUntil(scheduler, &waiter.counter, deadline->Point());
            if (isOver()) return true;
            // A wait that returns before the deadline was refused, and reported: the run has ended.
            waiter.polls = waiter.polls || Now() < deadline->Point();
        } while (!waiter.polls && !deadline->HasPassed());
        return false;
    }
    if (!waiter.polls) {
        scheduler.WaitForCounter(&waiter.counter);
        waiter.polls = !isOver();  // refused, as above
    }
    return Poll(nullptr, isOver);
}

bool WaitQueue::WaitInLine(TaskScheduler &scheduler, Waiter &waiter, Deadline *deadline) noexcept {
    if (Suspend(scheduler, waiter, deadline)) return true;  // the queue may be gone
    return Leave(scheduler, waiter);
}

bool WaitQueue::Leave(TaskScheduler &scheduler, Waiter &waiter) noexcept {
    const uint64_t word = Lock();
    const bool notified = waiter.notified;
    if (!notified) Remove(waiter);
    Unlock(word);
    return notified && Suspend(scheduler, waiter, nullptr);
}

}  // namespace weft::internal
