// A line and nothing else. Who waits is in it before the mutex is unlocked; so whoever has had the
// mutex since then, and changed what it protects, sees kWaiters: by the mutex, the store of
// kWaiters comes before. A notifier that sees none need not take the lock.
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
    // relaxed: what it has to see came before, by the mutex; and nothing is read by way of it.
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
