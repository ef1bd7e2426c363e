// Room for handlers on the stack of a fiber, and the fault handler as a vectored handler.
#include "platform/signal_stack.h"

#include "platform/stack_end.h"
#include "platform/windows_api.h"

#include <atomic>
#include <cstring>

namespace weft::env {

namespace {

SRWLOCK s_lock = SRWLOCK_INIT;
unsigned s_installs = 0;  // guarded by the lock
void *s_handler = nullptr;
// relaxed: written before the handler is installed
std::atomic<void (*)(const void *)> s_describe{nullptr};

// Runs on the stack that overflowed, before all other handlers. They run afterwards as if this one
// did not exist.
LONG CALLBACK Handle(EXCEPTION_POINTERS *fault) noexcept {
    const EXCEPTION_RECORD &record = *fault->ExceptionRecord;
    const bool isFault = record.ExceptionCode == STATUS_STACK_OVERFLOW ||
                         record.ExceptionCode == STATUS_ACCESS_VIOLATION ||
                         record.ExceptionCode == STATUS_GUARD_PAGE_VIOLATION;
    const auto describe = s_describe.load(std::memory_order_relaxed);
    if (isFault && describe != nullptr && record.NumberParameters >= 2) {
        describe(reinterpret_cast<const void *>(record.ExceptionInformation[1]));
    }
    return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

void WriteError(const char *text) noexcept {
    const HANDLE out = GetStdHandle(STD_ERROR_HANDLE);
    for (auto left = static_cast<DWORD>(std::strlen(text)); left > 0;) {
        DWORD written = 0;
        if (WriteFile(out, text, left, &written, nullptr) == 0 || written == 0) return;
        text += written;
        left -= written;
    }
}

// Windows has no signal stacks. Instead there is room for handlers at the end of each fiber's
// stack, and the thread must ask for this room. That cannot be undone, so an attached thread keeps
// it.
bool SignalStack::Acquire(internal::Memory) noexcept { return true; }

void SignalStack::Set() noexcept {
    ULONG bytes = internal::kHandlerBytes;
    m_isSet = SetThreadStackGuarantee(&bytes) != 0;
}

void SignalStack::Reset() noexcept { m_isSet = false; }

bool InstallFaultHandler(void (*describe)(const void *address)) noexcept {
    AcquireSRWLockExclusive(&s_lock);
    if (s_installs == 0) {
        s_describe.store(describe, std::memory_order_relaxed);
        s_handler = AddVectoredExceptionHandler(1, Handle);
    }
    const bool installed = s_handler != nullptr;
    if (installed) ++s_installs;
    ReleaseSRWLockExclusive(&s_lock);
    return installed;
}

void RemoveFaultHandler() noexcept {
    AcquireSRWLockExclusive(&s_lock);
    if (--s_installs == 0) {
        RemoveVectoredExceptionHandler(s_handler);
        s_handler = nullptr;
    }
    ReleaseSRWLockExclusive(&s_lock);
}

}  // namespace weft::env
