// For crash handlers: finds the task on whose stack an address lies.
//
//     void OnSegmentationFault(int, siginfo_t *info, void *) {
//         char text[256];
//         const size_t length = weft::DescribeFault(info->si_addr, text, sizeof text);
//         write(STDERR_FILENO, text, length);
//     }
#pragma once

#include "weft/export.h"

#include <cstddef>

namespace weft {

/// Writes to `out` which task and which fiber the stack at `address` belongs to.
///
/// The text also has the size of the stack, and says whether the address lies in a guard page: then
/// the stack has overflowed. It is one line without a line end, and takes at most `bytes` bytes,
/// with the 0 at its end. Returns the length of the text, or 0 if the address is on no stack of
/// weft. Thread-safe and async-signal-safe.
///
/// With SchedulerOptions::reportStackOverflow weft installs such a handler itself.
WEFT_API size_t DescribeFault(const void *address, char *out, size_t bytes) noexcept;

}  // namespace weft
