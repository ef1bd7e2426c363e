#include "weft/sync/semaphore.h"

#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

namespace weft {

using namespace internal;

namespace {

void ReportTooMany(TaskScheduler &scheduler, const char *what) noexcept {
    ReportMisuse(scheduler, ReportCode::BadOption,
                 "Keep it at 16,777,215 (Semaphore::kMax) or less.", what);
}

}  // namespace

Semaphore::Semaphore(TaskScheduler &scheduler, uint32_t permits) noexcept
    : m_permits(scheduler, permits <= kMax ? permits : kMax) {
    if (permits > kMax)
        ReportTooMany(scheduler, "Semaphore: it was made with more permits than it can have");
}

void Semaphore::acquire() noexcept { m_permits.Acquire(1); }

bool Semaphore::try_acquire() noexcept { return m_permits.TryAcquire(1); }

bool Semaphore::AcquireUntil(Deadline deadline) noexcept { return m_permits.Acquire(1, &deadline); }

void Semaphore::release(uint32_t permits) noexcept {
    if (permits == 0 || m_permits.Release(permits, kMax)) return;
    ReportTooMany(m_permits.Scheduler(),
                  "Semaphore::release: it would have more permits than it can have");
}

bool Semaphore::AddTask(QueuedTask &place, Task task, Counter *counter,
                        const TaskOptions &options) noexcept {
    TaskScheduler &scheduler = m_permits.Scheduler();
    if (!place.Prepare(scheduler, options, "Semaphore::AddTask")) return false;
    Waiter &waiter = place.m_waiter;
    waiter.wanted = Permits::kGiven;
    // First into the list: without memory AddTaskAfter waits itself until there is a permit.
    const bool waits = m_permits.LineUp(waiter);
    if (!waits) race::SawAll(&m_permits.Queue());
    if (place.Submit(scheduler, waits, task, counter, options)) return true;  // this may be gone
    if (!waits || !m_permits.Leave(waiter)) {
        if (waits)
            WaitQueue::Suspend(scheduler, waiter, nullptr);  // the notifier will decrement soon
        release();
    }
    place.GiveUp();
    return false;
}

WaitQueue &FirstOf::QueueOf(Semaphore &semaphore) noexcept { return semaphore.m_permits.Queue(); }

bool FirstOf::TryTake(Semaphore &semaphore) noexcept { return semaphore.try_acquire(); }

bool FirstOf::Join(Semaphore &semaphore, Link &link) noexcept {
    return semaphore.m_permits.LineUp(link);
}

void FirstOf::Leave(Semaphore &semaphore, Link &link) noexcept { semaphore.m_permits.Leave(link); }

}  // namespace weft
