// A mutex is a Permits with one permit.
#include "weft/sync/mutex.h"

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/permit_word.h"

namespace weft {

using namespace internal;

Mutex::Mutex(TaskScheduler &scheduler) noexcept : m_permit(scheduler, 1) {}

void Mutex::lock() noexcept {
    // acquire: pairs with the release in unlock. The caller sees what was written before it.
    if (WEFT_LIKELY(!AnyLocksWatched() && ChangeFree(m_permit, 1, 0, kAcquire))) {
        race::SawAll(&m_permit.Queue());
    } else {
        m_permit.Lock(1);
    }
}

bool Mutex::try_lock() noexcept { return m_permit.TryLock(1); }

bool Mutex::LockUntil(Deadline deadline) noexcept { return m_permit.Lock(1, &deadline); }

void Mutex::unlock() noexcept {
    race::Finishes(&m_permit.Queue());
    // release: publishes what was written while the mutex was locked. This is the last access: the
    // next holder may destroy the mutex.
    if (WEFT_LIKELY(!AnyLocksWatched() && ChangeFree(m_permit, 0, 1, kRelease)) ||
        m_permit.Unlock(1, 1))
        return;
    ReportMisuse(m_permit.Scheduler(), ReportCode::WrongThread, "Unlock once after each lock.",
                 "Mutex::unlock was called, and nobody has locked it");
}

}  // namespace weft
