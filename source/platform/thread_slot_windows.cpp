// The three thread slots on Windows.
#include "platform/env.h"

#include "platform/windows_api.h"

namespace weft::env {

namespace {

// Not thread_locals. With mingw these allocate memory at their first use in a thread, and have lost
// their values when an attached thread ends (thread_exit_windows.cpp). The system's slots keep
// their values until the thread is gone.
DWORD NewSlot() noexcept {
    const DWORD slot = TlsAlloc();
    if (WEFT_UNLIKELY(slot == TLS_OUT_OF_INDEXES)) Panic("there is a thread slot");
    return slot;
}

DWORD Slot() noexcept {
    static const DWORD slot = NewSlot();
    return slot;
}

DWORD SlotOfCalls() noexcept {
    static const DWORD slot = NewSlot();
    return slot;
}

DWORD SlotOfHooks() noexcept {
    static const DWORD slot = NewSlot();
    return slot;
}

}  // namespace

WEFT_NOINLINE void *ThreadSlot() noexcept { return TlsGetValue(Slot()); }

WEFT_NOINLINE void SetThreadSlot(void *value) noexcept { TlsSetValue(Slot(), value); }

WEFT_NOINLINE void *CallSlot() noexcept { return TlsGetValue(SlotOfCalls()); }

WEFT_NOINLINE void *ExchangeCallSlot(void *value) noexcept {
    void *const former = CallSlot();
    TlsSetValue(SlotOfCalls(), value);
    return former;
}

WEFT_NOINLINE void *HookSlot() noexcept { return TlsGetValue(SlotOfHooks()); }

WEFT_NOINLINE void SetHookSlot(void *value) noexcept { TlsSetValue(SlotOfHooks(), value); }

WEFT_NOINLINE uint32_t ThreadNumber() noexcept { return GetCurrentThreadId() & 0xffffff; }

}  // namespace weft::env
