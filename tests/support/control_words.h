// Bits of the floating-point control words, for the processors that the tests know.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(__aarch64__)
#define WEFT_TEST_CONTROL_WORDS 1

namespace test {

#if defined(__x86_64__)
constexpr uint64_t kFlush = 0x8040;   // MXCSR: flush to zero, denormals are zero
constexpr uint64_t kToZero = 0x6000;  // rounding
#else
constexpr uint64_t kFlush = uint64_t{1} << 24;   // FPCR: flush to zero, of operands too
constexpr uint64_t kToZero = uint64_t{3} << 22;  // rounding
#endif

}  // namespace test

#endif
