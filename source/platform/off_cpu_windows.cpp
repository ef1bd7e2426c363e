// Implements off_cpu.h. Windows does not tell.
#include "platform/off_cpu.h"

namespace weft::env {

namespace {

constexpr uint64_t kNever = 1;

}  // namespace

void OffCpuWatch::Begin() noexcept { m_word = &kNever; }

uint64_t OffCpuWatch::TakeLost() noexcept {
    Begin();
    return 0;
}

}  // namespace weft::env
