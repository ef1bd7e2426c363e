#include "weft/sync/semaphore.h"

#include "scheduler/api/internal_api.h"

namespace weft {

namespace {

void ReportTooMany(TaskScheduler &scheduler, const char *what) noexcept {
    internal::ReportMisuse(scheduler, ReportCode::BadOption,
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

bool Semaphore::AcquireUntil(Clock::time_point deadline) noexcept {
    return m_permits.Acquire(1, &deadline);
}

void Semaphore::release(uint32_t permits) noexcept {
    if (permits == 0 || m_permits.Release(permits, kMax)) return;
    ReportTooMany(m_permits.Scheduler(),
                  "Semaphore::release: it would have more permits than it can have");
}

}  // namespace weft
