#include "frame/host.h"

#include "platform/race_finder.h"
#include "scheduler/reporting.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace weft::internal {

void ReportFrameMistake(void (*onReport)(const Report &report, void *user), void *user,
                        ReportCode code, const char *hint, const char *what, ...) noexcept {
    char text[256];
    va_list arguments;
    va_start(arguments, what);
    std::vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    SchedulerOptions options;  // a report takes these two of them
    options.onReport = onReport;
    options.user = user;
    ReportMistake(options, code, hint, "%s", text);
}

void *AllocateFrom(const MemoryHooks &hooks, size_t bytes, size_t alignment) noexcept {
    const race::Unwatched unwatched;  // ThreadSanitizer takes an allocation for a write
    return hooks.allocate != nullptr
               ? CallAllocate(hooks, bytes, alignment)
               : ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
}

void ReleaseTo(const MemoryHooks &hooks, void *memory, size_t bytes, size_t alignment) noexcept {
    if (memory == nullptr) return;
    const race::Unwatched unwatched;
    if (hooks.allocate != nullptr) {
        CallRelease(hooks, memory, bytes, alignment);
    } else {
        ::operator delete(memory, std::align_val_t(alignment));
    }
}

}  // namespace weft::internal
