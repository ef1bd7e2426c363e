// The time quota of a container.
#pragma once

#include <cstdint>

namespace weft::env {

/// Implements CpuQuota on Linux. `root`: a path that comes before each path of the system; "" but
/// in tests.
uint32_t ReadCpuQuota(const char *root) noexcept;

}  // namespace weft::env
