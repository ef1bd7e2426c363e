// A shared mutex is a Permits with all kMax permits. A reader takes one, a writer takes all.
#include "weft/sync/shared_mutex.h"

#include "scheduler/api/internal_api.h"

namespace weft {

constexpr uint32_t kAllPermits = internal::Permits::kMax;

SharedMutex::SharedMutex(TaskScheduler &scheduler) noexcept : m_permits(scheduler, kAllPermits) {}

void SharedMutex::lock() noexcept { m_permits.Lock(kAllPermits); }

bool SharedMutex::try_lock() noexcept { return m_permits.TryLock(kAllPermits); }

void SharedMutex::unlock() noexcept {
    Unlock(kAllPermits, 0,
           "SharedMutex::unlock was called, and nobody has locked it, or it is shared");
}

void SharedMutex::lock_shared() noexcept { m_permits.Lock(1); }

bool SharedMutex::try_lock_shared() noexcept { return m_permits.TryLock(1); }

// `least` is 1: if no permit is free, a writer has all of them, and there is no reader.
void SharedMutex::unlock_shared() noexcept {
    Unlock(1, 1, "SharedMutex::unlock_shared was called, and nobody shares it");
}

bool SharedMutex::LockUntil(internal::Deadline deadline) noexcept {
    return m_permits.Lock(kAllPermits, &deadline);
}

bool SharedMutex::LockSharedUntil(internal::Deadline deadline) noexcept {
    return m_permits.Lock(1, &deadline);
}

void SharedMutex::Unlock(uint32_t permits, uint32_t least, const char *what) noexcept {
    if (m_permits.Unlock(permits, kAllPermits, least)) return;
    internal::ReportMisuse(m_permits.Scheduler(), ReportCode::WrongThread,
                           "Unlock once after each lock, and as it was locked.", what);
}

}  // namespace weft
