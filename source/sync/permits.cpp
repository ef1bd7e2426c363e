// Permits, and a bound for how long one waits.
//
// Who finds enough permits takes them, also if others wait: a newcomer runs, and a waiter has to be
// woken first, so handing the permits over would leave them idle for the time of a switch, each
// time (a convoy). But only kMaxOvertakes newcomers may do that while the same waiter is the first
// in line; then newcomers wait too, until that one has left the line. That are many, so that
// threads, which take long to wake, do not make each other wait; but a newcomer counts for several
// while the first in line cannot be called (a writer, for readers: kMaxBeforeWake of them), and so
// does its coming in vain (kMaxVainWakes).
//
//   Waiters stay in line until they have what they want or give up, and leave it by themselves. Who
//   gives permits calls waiters from the front: as many as can have theirs, one after the other
//   (`promised`). A waiter that was called takes its permits if they are still there; if not,
//   newcomers have them, and it waits in its old place to be called again.
//
// Nobody is forgotten. While nobody holds the lock: nobody waits who was not called, or the first
// of those who were not wants more than is free beside what is promised. Taking permits keeps that
// true; every other step takes the lock and calls until it is true again (UnlockAndCall), but for
// giving permits when CanCallNobody: then it holds for whatever is wanted, and only who is in line
// can be meant, because who gets in line takes the lock and looks. Who was called comes, and takes
// its permits or leaves them to others, who will give them.
//
// The bound. Overtakings are weighed in the word, with the CAS that takes the permits, and begin
// anew when the first in line leaves it. So whoever has p others before it in line sees at most (p
// + 1) * kMaxOvertakes newcomers go before it. Of those in line, the one that wants one permit of
// one (Mutex) is never overtaken; others may be, by those who were called together with them, each
// time that newcomers took what was promised: that is bounded by the same number.
#include "weft/sync/permits.h"

#include "platform/backoff.h"
#include "platform/env.h"
#include "platform/race_finder.h"
#include "sync/permit_word.h"
#include "sync/spin.h"
#include "sync/wake_list.h"

#include <new>

namespace weft::internal {

namespace {

// It was called in vain. Nobody else touches the counter any more, and nobody yet.
void CallAgainLater(Waiter &waiter) noexcept {
    waiter.counter.~Counter();
    new (&waiter.counter) Counter(1);
    waiter.notified = false;
    // its caller has gone, and the next one comes by the lock
    waiter.wasRefused.store(false, kRelaxed);
}

// Who comes to what others take and give all the time disturbs them, and they it: the more they
// have done so meanwhile, the longer it lets them go on first, up to half a microsecond or so.
// relaxed, at the call: an estimate.
void LetGoOn(PermitWord word) noexcept {
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
        // acquire: what was done before the permits were given.
        if (m_queue.Change(word.bits, word.TakenByNewcomer(n).bits, kAcquire)) {
            race::SawAll(&m_queue);
            return true;
        }
    }
    return false;
}

bool Permits::Acquire(uint32_t n, const Clock::time_point *deadline) noexcept {
    if (TryAcquire(n)) return true;
    const bool got = SpinBriefly(m_queue, [&] {
        if (TryAcquire(n)) return Look::Done;
        // Others wait already: the permits come back, and they are to have them.
        return PermitWord{m_queue.Word(kRelaxed)}.AnyWaits() ? Look::Pointless : Look::Again;
    });
    if (got) return true;
    if (!AcquireInLine(n, deadline)) return false;
    race::SawAll(&m_queue);
    return true;
}

bool Permits::Release(uint32_t n, uint32_t most, uint32_t least) noexcept {
    PermitWord word{m_queue.Word(kRelaxed)};  // the CAS decides
    race::Finishes(&m_queue);
    for (;;) {
        if (word.IsLocked()) word.bits = m_queue.UnlockedWord();
        if (n > most || word.Free() > most - n || word.Free() < least) return false;
        if (!word.Given(n).CanCallNobody()) break;
        // release: what was done with the permits. The last access: who takes them may destroy
        // this.
        if (m_queue.Change(word.bits, word.Given(n).bits, kRelease)) return true;
    }
    // The caller still has the permits, so the object stays until UnlockAndCall publishes that it
    // has not. Others may have given some since the look above.
    word.bits = m_queue.Lock();
    const bool isFit = word.Free() <= most - n && word.Free() >= least;
    UnlockAndCall(isFit ? word.Given(n).bits : word.bits);
    return isFit;
}

// Calls those who can have their permits, and makes `bits` the word.
void Permits::UnlockAndCall(uint64_t bits) noexcept {
    PermitWord word{bits};
    WakeList list;
    for (Waiter *waiter = m_queue.First(); waiter != nullptr; waiter = waiter->next) {
        if (waiter->notified) continue;
        const uint32_t n = static_cast<uint32_t>(waiter->wanted);
        if (!word.CanCall(n)) break;
        word = word.WithPromise(n);
        list.Add(*waiter);
    }
    TaskScheduler &scheduler = m_queue.Scheduler();
    m_queue.Unlock(word.bits);
    // From here on the object may be gone, if nobody was called.
    list.Wake(scheduler);
}

bool Permits::AcquireInLine(uint32_t n, const Clock::time_point *deadline) noexcept {
    Waiter self(n);
    if (!m_queue.CanWait(self)) return AcquireByLooking(n, deadline);
    PermitWord word{m_queue.Lock()};
    if (word.MayTake(n)) {
        m_queue.Unlock(word.TakenByNewcomer(n).bits);
        return true;
    }
    m_queue.Append(self);
    UnlockAndCall(word.bits);  // there may be enough, and newcomers must not take it any more
    for (;;) {
        const bool inTime = WaitQueue::Suspend(m_queue.Scheduler(), self, deadline);
        if (inTime) LetGoOn(PermitWord{m_queue.Word(kRelaxed)});
        word.bits = m_queue.Lock();
        if (!inTime && self.notified) {  // the decrement is on its way
            m_queue.Unlock(word.bits);
            WaitQueue::Suspend(m_queue.Scheduler(), self, nullptr);
            word.bits = m_queue.Lock();
        }
        const bool gets = self.notified && word.Free() >= n;
        if (self.notified) word = word.WithoutPromise(n);
        if (!gets && inTime) {
            CallAgainLater(self);
            if (m_queue.First() == &self) word = word.InVain();
            UnlockAndCall(word.bits);
            continue;
        }
        if (m_queue.First() == &self) word = word.NotOvertaken();
        m_queue.Remove(self);
        UnlockAndCall(gets ? word.Taken(n).bits : word.bits);
        return gets;
    }
}

// Without a scheduler that runs: nobody could wake the caller, so it looks by itself.
bool Permits::AcquireByLooking(uint32_t n, const Clock::time_point *deadline) noexcept {
    for (Backoff backoff; !TryAcquire(n); backoff.Next()) {
        if (deadline != nullptr && Now() >= *deadline) return false;
    }
    return true;
}

}  // namespace weft::internal
