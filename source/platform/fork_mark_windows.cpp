#include "platform/fork_mark.h"

namespace weft::env {

// Nobody forks on Windows, so nobody has to know.
void ForkMark::Acquire() noexcept {}
void ForkMark::Release() noexcept {}

}  // namespace weft::env
