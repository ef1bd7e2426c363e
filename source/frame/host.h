// What the frame layer takes from the options of the scheduler: memory, and where reports go.
#pragma once

#include "weft/options.h"

#include <cstddef>

#if defined(__clang__)
#define WEFT_FRAME_PRINTF(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__)  // for Windows "printf" is the system's own, without %zu
#define WEFT_FRAME_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define WEFT_FRAME_PRINTF(text, first)
#endif

namespace weft::internal {

/// As the scheduler reports: calls `onReport`, which must not wait, or writes one line to stderr if
/// there is none, or if it is onReport that is wrong. `what` is a printf format. The call that is
/// wrong has no effect.
void ReportFrameMistake(void (*onReport)(const Report &report, void *user), void *user,
                        ReportCode code, const char *hint, const char *what, ...) noexcept
    WEFT_FRAME_PRINTF(5, 6);

/// By the host's memory functions, or the aligned operator new; not initialised. Null without
/// memory.
void *AllocateFrom(const MemoryHooks &hooks, size_t bytes, size_t alignment) noexcept;
/// With the same figures.
void ReleaseTo(const MemoryHooks &hooks, void *memory, size_t bytes, size_t alignment) noexcept;

}  // namespace weft::internal
