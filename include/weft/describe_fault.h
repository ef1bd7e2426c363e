// For crash handlers: whose stack an address belongs to.
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

/// Writes which task and fiber of which stack class `address` belongs to, and whether it lies in a
/// guard page (then the stack has overflowed), as one line without an end of line, at most `bytes`
/// bytes with a 0 at the end. Returns the length; 0 if the address is on no stack of weft's. Any
/// thread; async-signal-safe. Set `reportStackOverflow` in the options and weft does this by
/// itself.
WEFT_API size_t DescribeFault(const void *address, char *out, size_t bytes) noexcept;

}  // namespace weft
