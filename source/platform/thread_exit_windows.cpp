// Exit calls with a fiber-local storage slot.
#include "platform/thread_exit.h"

#include "platform/windows_api.h"

#include <cstddef>

namespace weft::env {

namespace {

// As with the key in thread_exit_posix.cpp: the slot exists while there are calls.
SRWLOCK s_slotLock = SRWLOCK_INIT;
DWORD s_slot = FLS_OUT_OF_INDEXES;
size_t s_calls = 0;  // guarded by the lock

void WINAPI Call(void *exit) noexcept;

bool AddCall() noexcept {
    AcquireSRWLockExclusive(&s_slotLock);
    if (s_slot == FLS_OUT_OF_INDEXES) s_slot = FlsAlloc(Call);
    const bool hasSlot = s_slot != FLS_OUT_OF_INDEXES;
    if (hasSlot) ++s_calls;
    ReleaseSRWLockExclusive(&s_slotLock);
    return hasSlot;
}

// `mayFree`: false in `Call`. The system does not say whether a slot may be freed there; then the
// slot stays until the next call is withdrawn.
void RemoveCall(bool mayFree) noexcept {
    AcquireSRWLockExclusive(&s_slotLock);
    if (--s_calls == 0 && mayFree) {
        FlsFree(s_slot);
        s_slot = FLS_OUT_OF_INDEXES;
    }
    ReleaseSRWLockExclusive(&s_slotLock);
}

void Withdraw(ExitCall *exit, bool mayFree) noexcept {
    if (!exit->isSet) return;
    exit->isSet = false;
    FlsSetValue(s_slot, exit->outer);
    RemoveCall(mayFree);
}

// The system calls this once, when a thread ends and its slot has a value. If there is an earlier
// call, or the call sets a new one, this makes that call, too, up to a bound, as pthreads do.
void WINAPI Call(void *exit) noexcept {
    AddCall();  // so that the slot stays until the end of this function
    for (int round = 0; exit != nullptr && round < 4; ++round) {
        ExitCall *const ending = static_cast<ExitCall *>(exit);
        const ExitCall called = *ending;
        Withdraw(ending, false);
        called.call(called.arg);
        exit = FlsGetValue(s_slot);
    }
    FlsSetValue(s_slot, nullptr);
    RemoveCall(false);
}

}  // namespace

bool AtThreadExit(ExitCall *exit) noexcept {
    if (!AddCall()) return false;
    exit->outer = static_cast<ExitCall *>(FlsGetValue(s_slot));
    exit->isSet = FlsSetValue(s_slot, exit) != 0;
    if (!exit->isSet) RemoveCall(true);
    return exit->isSet;
}

void CancelAtThreadExit(ExitCall *exit) noexcept { Withdraw(exit, true); }

}  // namespace weft::env
