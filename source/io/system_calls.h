// The system calls of the operations, made by the calling thread.
#pragma once

#include "weft/io/async_io.h"

namespace weft::internal {

/// Linux transfers no more bytes in one call.
inline constexpr uint64_t kMostIoBytes = 0x7ffff000;

/// Makes the call and returns its result, or -errno. May block.
int64_t CallFor(const IoNode &node) noexcept;

}  // namespace weft::internal
