// How everything in weft/sync/ waits.
//
// State and lock are one word. Whoever changes the state takes the lock (or does it by one CAS from
// a word without the lock), looks at the state, and either has what it wants or puts a Waiter into
// the line; whoever gives something takes the lock, marks waiters as called, and lowers their
// counters after the lock is free. So there is no moment at which a waiter has seen the old state
// and is not in the line yet: no wake-up is lost, without any argument about two words. And no word
// says that somebody waits unless somebody is in the line, so that nobody takes the lock in vain.
//
// Lifetime. The store that frees the lock is also what publishes the new state, and the last access
// of who gives. Whoever learns by that state that it may go on may destroy the queue at once. The
// waiters that are then woken lie on the stacks of those who wait: each stays until its counter is
// zero, because a waiter that was called returns from nothing before that. The decrement is the
// last access to the waiter (invariant 4 of source/README.md).
//
// Time-outs. Whether a waiter was called is decided under the lock. Whoever's deadline has passed
// takes the lock: if it was not called, it leaves the line and nobody will ever touch it; if it was
// called, it waits for the decrement that is on its way, and then has what it was called for. So
// what was given is never lost.
#include "weft/sync/wait_queue.h"

#include "platform/backoff.h"
#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "sync/wake_list.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

// Debug builds tell of a queue that dies while somebody waits: its line would lead into memory that
// is gone.
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
        // acquire: the line as the last holder left it, and all that was done before the word came
        // about.
        if ((word & kLocked) == 0 &&
            m_word.compare_exchange_strong(word, word | kLocked, kAcquire, kRelaxed))
            return word;
    }
}

void WaitQueue::Unlock(uint64_t word) noexcept {
    word &= ~(kLocked | kWaiters);
    // release: the line for the next holder, and what the caller did before for whoever goes on by
    // this word. A plain store is enough, because nobody changes the word while it has the lock.
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

// A task's scheduler runs. For other threads a counter tells: what does not run does not raise it,
// and reports that.
bool WaitQueue::CanWait(Waiter &waiter) const noexcept {
    const bool isTask = IsTaskOf(*m_scheduler);
    if (!waiter.polls) {
        Counter probe;
        waiter.polls = isTask ? !CallerMayWait(*m_scheduler, "a lock or wait of weft/sync/")
                              : !m_scheduler->IncrementCounter(&probe);
    }
    return isTask || !waiter.polls;
}

bool WaitQueue::Suspend(TaskScheduler &scheduler, Waiter &waiter,
                        const Clock::time_point *deadline) noexcept {
    // acquire: what was done before the call, and the caller's last access.
    const auto goesOn = [&] { return waiter.counter.IsZero() || waiter.wasRefused.load(kAcquire); };
    if (deadline != nullptr) {
        if (!waiter.polls) WaitForCounterUntil(scheduler, &waiter.counter, *deadline);
        if (goesOn()) return true;
        // Before the deadline it was refused, and that was reported: the run has ended.
        waiter.polls = waiter.polls || Now() < *deadline;
        return false;
    }
    if (!waiter.polls) {
        scheduler.WaitForCounter(&waiter.counter);
        waiter.polls = !goesOn();  // refused, as above
    }
    for (Backoff backoff; !goesOn(); backoff.Next()) {
    }
    return true;
}

bool WaitQueue::WaitInLine(TaskScheduler &scheduler, Waiter &waiter,
                           const Clock::time_point *deadline) noexcept {
    if (Suspend(scheduler, waiter, deadline)) return true;  // the queue may be gone
    const uint64_t word = Lock();
    const bool called = waiter.notified;
    if (!called) Remove(waiter);
    Unlock(word);
    return called && Suspend(scheduler, waiter, nullptr);
}

}  // namespace weft::internal
