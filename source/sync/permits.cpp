// Permits, with a limit on how often a waiter is overtaken.
//
// Terms (wait_queue.cpp defines waiter, list and notified):
// - newcomer: a caller that is not in the list.
// - promised permits: free permits that notified waiters want and have not taken yet.
// - A newcomer overtakes the first waiter in the list if it takes permits before it.
// - A waiter wakes up in vain if it has been notified and then finds too few free permits, because
//   newcomers have taken them.
//
// Protocol:
// 1. A newcomer takes its permits if enough are free, even if others wait. The reason: it runs, but
//    a waiter must be woken first. If permits were handed over to the waiter, they would be unused
//    for the time of a switch, each time (a convoy).
// 2. Otherwise the newcomer enters the list at its end. A waiter stays in its place until it has
//    its permits or gives up. It leaves the list by itself.
// 3. Permits are released. The waiters are notified from the front, as long as the free permits
//    that are not promised suffice for the next one.
// 4. A notified waiter takes its permits if enough are still free. Otherwise it has woken up in
//    vain. It waits in its old place and will be notified again.
// 5. Some waiters cannot take their permit by themselves: a task that has not begun, and a wait for
//    the first of several semaphores (first_of.cpp). The notifier takes one permit for such a
//    waiter, and removes it from the list. It skips a Link whose wait is over; the wait removes it
//    soon.
//
// No waiter is forgotten. Invariant, while nobody holds the lock: either every waiter has been
// notified, or the first waiter that has not been notified wants more permits than are free and not
// promised. A Link whose wait is over does not count.
// - Taking permits keeps the invariant, because fewer are free afterwards.
// - Every other step takes the lock, and notifies waiters until the invariant holds again
//   (UnlockAndNotify). There is one exception: permits are released by a CAS without the lock if
//   CanNotifyNobody is true for the new word. Then the invariant holds, whatever the waiters want.
//   It concerns only waiters that are in the list already: a thread that enters the list takes the
//   lock and checks the word.
// - Each notified waiter runs again. It takes its permits, or newcomers have taken them. When these
//   release them, it is notified again.
//
// The limit. The word has a weight. Each overtaking adds to it, in the same write that takes the
// permits, and so does each time that the first waiter wakes up in vain. When the weight has
// reached kMaxOvertakes, newcomers have to wait as well. The weight restarts at zero when the first
// waiter leaves the list.
// - While a notified waiter is on its way, a newcomer adds 1. kMaxOvertakes is large, because it
//   takes long to wake a thread, and running threads should not stop for that.
// - While no notified waiter is on its way, a newcomer adds kMaxOvertakes / kMaxBeforeWake. For
//   example, a writer cannot be notified while readers hold permits.
// - The first waiter that wakes up in vain adds kMaxOvertakes / kMaxVainWakes.
// So a waiter with p others before it in the list is overtaken by at most (p + 1) * kMaxOvertakes
// newcomers. If several waiters are notified together, and newcomers take some of the promised
// permits, a later waiter may get its permits before an earlier one. That happens at most as often.
// It cannot happen with a Mutex, which has one permit.
#include "weft/sync/permits.h"

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/permit_word.h"
#include "sync/spin.h"
#include "sync/wake_list.h"
#include "weft/sync/first_of.h"

namespace weft::internal {

namespace {

// Pauses before a notified waiter takes the lock. If other threads take and give permits all the
// time, they and the waiter would slow each other down. The more often the first waiter has been
// overtaken, the longer the pause, up to about half a microsecond.
void PauseForNewcomers(PermitWord word) noexcept {
    for (uint32_t i = 0; i < word.Overtaken() && i < 32; ++i) env::Pause();
}

}  // namespace

Permits::Permits(TaskScheduler &scheduler, uint32_t free) noexcept
    : m_queue(scheduler, PermitWord::Of(free).bits) {}

bool Permits::TryAcquire(uint32_t n) noexcept {
    PermitWord word{m_queue.Word(kRelaxed)};  // the CAS decides
    while (word.MayTake(n)) {
        if (word.IsLocked()) {
            word.bits = m_queue.UnlockedWord();
            continue;
        }
        // acquire: pairs with the release in Release and in WaitQueue::Unlock. The caller sees what
        // was written before the permits were given back.
        if (m_queue.Change(word.bits, word.TakenByNewcomer(n).bits, kAcquire)) {
            race::SawAll(&m_queue);
            return true;
        }
    }
    return false;
}

bool Permits::Acquire(uint32_t n, Deadline *deadline) noexcept {
    SchedulingPoint(m_queue.Scheduler());
    if (TryAcquire(n)) return true;
    const bool got = SpinBriefly(m_queue, [&] {
        if (TryAcquire(n)) return Look::Done;
        // Others wait already. They should get the permits that are given back.
        return PermitWord{m_queue.Word(kRelaxed)}.AnyWaits() ? Look::Pointless : Look::Again;
    });
    if (got) return true;
    if (!AcquireInLine(n, deadline)) return false;
    race::SawAll(&m_queue);
    return true;
}

bool Permits::Lock(uint32_t n, Deadline *deadline) noexcept {
    if (WEFT_LIKELY(!AnyLocksWatched())) return Acquire(n, deadline);
    TaskScheduler &scheduler = m_queue.Scheduler();
    NoteLock(scheduler, LockStep::Awaits, this);
    const bool got = Acquire(n, deadline);
    NoteLock(scheduler, got ? LockStep::Locks : LockStep::GivesUp, this);
    return got;
}

bool Permits::TryLock(uint32_t n) noexcept {
    const bool got = TryAcquire(n);
    if (WEFT_LIKELY(!got || !AnyLocksWatched())) return got;
    NoteLock(m_queue.Scheduler(), LockStep::Locks, this);
    return true;
}

// After the release this object may be gone. So the holder is forgotten before it.
bool Permits::Unlock(uint32_t n, uint32_t most, uint32_t least) noexcept {
    if (WEFT_UNLIKELY(AnyLocksWatched())) NoteLock(m_queue.Scheduler(), LockStep::Unlocks, this);
    return Release(n, most, least);
}

bool Permits::Release(uint32_t n, uint32_t most, uint32_t least) noexcept {
    PermitWord word{m_queue.Word(kRelaxed)};  // the CAS decides
    race::Finishes(&m_queue);
    for (;;) {
        if (word.IsLocked()) word.bits = m_queue.UnlockedWord();
        if (n > most || word.Free() > most - n || word.Free() < least) return false;
        if (!word.Given(n).CanNotifyNobody()) break;
        // release: publishes what was written while the permits were held. This is the last access:
        // the next holder may destroy this object.
        if (m_queue.Change(word.bits, word.Given(n).bits, kRelease)) return true;
    }
    // The caller still has the permits. So the object lives until UnlockAndNotify publishes the new
    // word. Other threads may have given permits back since the check above.
    word.bits = m_queue.Lock();
    const bool isFit = word.Free() <= most - n && word.Free() >= least;
    UnlockAndNotify(isFit ? word.Given(n).bits : word.bits);
    return isFit;
}

// Notifies the waiters that can have their permits, and stores `bits` with what is promised now.
void Permits::UnlockAndNotify(uint64_t bits) noexcept {
    PermitWord word{bits};
    WakeList list;
    for (Waiter *next, *waiter = m_queue.First(); waiter != nullptr; waiter = next) {
        next = waiter->next;
        if (waiter->notified) continue;
        const bool isGiven = (waiter->wanted & (kGiven | FirstOf::kLink)) != 0;
        const uint32_t n = isGiven ? 1 : static_cast<uint32_t>(waiter->wanted);
        if (!word.CanNotify(n)) break;
        if (!isGiven) {
            word = word.WithPromise(n);
            list.Add(*waiter);
        } else if (Waiter *const chosen = FirstOf::Choose(*waiter)) {
            // If it is the first, the weight is zero: no permit was free for a newcomer.
            word = word.Taken(1);
            m_queue.Remove(*waiter);
            race::SawAll(&m_queue);  // for a task, which does not run yet
            list.Add(*chosen);
        }
    }
    TaskScheduler &scheduler = m_queue.Scheduler();
    m_queue.Unlock(word.bits);
    // From here on the object may be gone.
    list.Wake(scheduler);
}

bool Permits::LineUp(Waiter &waiter) noexcept {
    const PermitWord word{m_queue.Lock()};
    if (word.MayTake(1)) {
        const bool gets = FirstOf::Choose(waiter) != nullptr;
        m_queue.Unlock(gets ? word.TakenByNewcomer(1).bits : word.bits);
        return false;
    }
    waiter.notified = false;  // it may have been used before
    m_queue.Append(waiter);
    // MayTake may have failed because of the limit. Then one may be free for the first waiter.
    UnlockAndNotify(word.bits);
    return true;
}

bool Permits::Leave(Waiter &waiter) noexcept {
    PermitWord word{m_queue.Lock()};
    const bool isInLine = !waiter.notified;
    if (isInLine) {
        if (m_queue.First() == &waiter) word = word.NotOvertaken();
        m_queue.Remove(waiter);
    }
    // Nobody is notified: the waiter wanted one permit. If one were free, it would have got it.
    m_queue.Unlock(word.bits);
    return isInLine;
}

bool Permits::AcquireInLine(uint32_t n, Deadline *deadline) noexcept {
    Waiter self(n);
    if (!m_queue.CanWait(self)) return AcquireByPolling(n, deadline);
    PermitWord word{m_queue.Lock()};
    if (word.MayTake(n)) {
        m_queue.Unlock(word.TakenByNewcomer(n).bits);
        return true;
    }
    m_queue.Append(self);
    // MayTake may have failed because of the limit. Then enough may be free for the first waiter.
    UnlockAndNotify(word.bits);
    for (;;) {
        const bool inTime = WaitQueue::Suspend(m_queue.Scheduler(), self, deadline);
        // relaxed: an estimate
        if (inTime) PauseForNewcomers(PermitWord{m_queue.Word(kRelaxed)});
        word.bits = m_queue.Lock();
        if (!inTime && self.notified) {  // the notifier will decrement soon
            m_queue.Unlock(word.bits);
            WaitQueue::Suspend(m_queue.Scheduler(), self, nullptr);
            word.bits = m_queue.Lock();
        }
        const bool gets = self.notified && word.Free() >= n;
        if (self.notified) word = word.WithoutPromise(n);
        if (!gets && inTime) {
            PrepareNextWait(self);
            if (m_queue.First() == &self) word = word.InVain();
            UnlockAndNotify(word.bits);
            continue;
        }
        if (m_queue.First() == &self) word = word.NotOvertaken();
        m_queue.Remove(self);
        UnlockAndNotify(gets ? word.Taken(n).bits : word.bits);
        return gets;
    }
}

// The scheduler does not run, so no notifier could wake the caller. It polls the word.
bool Permits::AcquireByPolling(uint32_t n, Deadline *deadline) noexcept {
    return Poll(deadline, [&] { return TryAcquire(n); });
}

}  // namespace weft::internal
