// A list of waiters without any other state.
//
// A waiter enters the list before it unlocks the mutex. Suppose that another thread has locked the
// mutex after that, has changed the condition, and now notifies. The store of kWaiters happens
// before that unlock, and the unlock happens before that lock. So the notifier sees kWaiters.
// Therefore a notifier that does not see kWaiters has no waiter to notify, and need not take the
// lock of the queue.
#include "weft/sync/condition_variable.h"

#include "platform/env.h"
#include "sync/wake_list.h"

namespace weft {

using namespace internal;

ConditionVariable::ConditionVariable(TaskScheduler &scheduler) noexcept : m_queue(scheduler, 0) {}

void ConditionVariable::notify_one() noexcept { Notify(false); }

void ConditionVariable::notify_all() noexcept { Notify(true); }

bool ConditionVariable::GetInLine(Waiter &waiter) noexcept {
    if (!m_queue.CanWait(waiter)) return false;
    const uint64_t word = m_queue.Lock();
    m_queue.Append(waiter);
    m_queue.Unlock(word);
    return true;
}

void ConditionVariable::Notify(bool all) noexcept {
    // relaxed: the mutex orders the store of kWaiters before this load (see above), and nothing is
    // read through this load.
    if ((m_queue.Word(kRelaxed) & (WaitQueue::kWaiters | WaitQueue::kLocked)) == 0) return;
    const uint64_t word = m_queue.Lock();
    WakeList list;
    while (Waiter *first = m_queue.First()) {
        m_queue.Remove(*first);
        list.Add(*first);
        if (!all) break;
    }
    TaskScheduler &scheduler = m_queue.Scheduler();
    m_queue.Unlock(word);
    // From here on the condition variable may be gone.
    list.Wake(scheduler);
}

}  // namespace weft
