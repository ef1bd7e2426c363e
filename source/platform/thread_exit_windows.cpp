// Exit calls with a fiber-local storage slot.
#include "platform/thread_exit.h"

#include "platform/windows_api.h"

#include <atomic>

namespace weft::env {

namespace {

SRWLOCK s_slotLock = SRWLOCK_INIT;
DWORD s_slot = FLS_OUT_OF_INDEXES;
std::atomic<bool> s_made{false};

// The system calls this once, when a thread ends and its slot has a value. If the call sets a new
// value, this makes that call, too, up to a bound, as pthreads do.
void WINAPI Call(void *exit) noexcept {
    for (int round = 0; exit != nullptr && round < 4; ++round) {
        const ExitCall called = *static_cast<ExitCall *>(exit);
        FlsSetValue(s_slot, nullptr);
        called.call(called.arg);
        exit = FlsGetValue(s_slot);
    }
    FlsSetValue(s_slot, nullptr);
}

// Makes the slot if there is none yet. After a failure the next caller tries again.
bool HasSlot() noexcept {
    // acquire: pairs with the release below. The slot is visible.
    if (s_made.load(std::memory_order_acquire)) return true;
    AcquireSRWLockExclusive(&s_slotLock);
    if (s_slot == FLS_OUT_OF_INDEXES) s_slot = FlsAlloc(Call);
    const bool made = s_slot != FLS_OUT_OF_INDEXES;
    // release: publishes the slot to callers that do not take the lock
    s_made.store(made, std::memory_order_release);
    ReleaseSRWLockExclusive(&s_slotLock);
    return made;
}

}  // namespace

bool AtThreadExit(ExitCall *exit) noexcept { return HasSlot() && FlsSetValue(s_slot, exit) != 0; }

}  // namespace weft::env
