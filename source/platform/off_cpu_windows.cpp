// Implements off_cpu.h. On Windows the time is always 0.
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
