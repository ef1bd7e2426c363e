#include "platform/fork_mark.h"

namespace weft::env {

// Nobody forks on Windows, so nobody has to know.
void ForkMark::Acquire(void *value) noexcept { m_value = value; }
void ForkMark::Release() noexcept { m_value = nullptr; }

}  // namespace weft::env
