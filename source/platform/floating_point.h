// The floating-point control words: rounding, flush-to-zero, exception masks.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace weft::internal {

/// Returns the calling thread's control words, without the sticky status flags; 0 on other
/// processors. On x86-64: MXCSR, and above it the control word of the x87 unit. Visual C++ does not
/// use this unit and has no inline assembly.
inline uint64_t FloatingPointControl() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    uint16_t x87;
    __asm__ __volatile__("fnstcw %0" : "=m"(x87));
    return (_mm_getcsr() & ~0x3fu) | uint64_t{x87} << 32;
#elif defined(_M_X64)
    return _mm_getcsr() & ~0x3fu;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
    return control;
#else
    return 0;
#endif
}

/// Sets what FloatingPointControl returned.
inline void SetFloatingPointControl(uint64_t control) noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    const auto x87 = static_cast<uint16_t>(control >> 32);
    __asm__ __volatile__("fldcw %0" : : "m"(x87));
    _mm_setcsr(static_cast<unsigned>(control));
#elif defined(_M_X64)
    _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
    __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
#else
    (void)control;
#endif
}

/// On x86-64 Boost's fcontext keeps the control words for each context. On aarch64 it does not.
#if defined(__aarch64__)
inline constexpr bool kFcontextKeepsFloatingPoint = false;
#else
inline constexpr bool kFcontextKeepsFloatingPoint = true;
#endif

}  // namespace weft::internal
