// ForkMark without an effect.
#include "platform/fork_mark.h"

namespace weft::env {

// Windows has no fork.
void ForkMark::Acquire(void *value) noexcept { m_value = value; }
void ForkMark::Release() noexcept { m_value = nullptr; }

}  // namespace weft::env
