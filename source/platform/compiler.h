// Attributes and bit operations that C++17 lacks.
#pragma once

#include <cstdint>

// The calls of Linux may be used. WEFT_PTHREAD builds weft for Linux as for a system that has only
// the calls of POSIX.
#if defined(__linux__) && !defined(WEFT_PTHREAD)
#define WEFT_LINUX 1
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define WEFT_NOINLINE __declspec(noinline)
#define WEFT_FORCEINLINE __forceinline
#define WEFT_LIKELY(x) (x)
#define WEFT_UNLIKELY(x) (x)
// An address in or beside the frame of the function that contains the expression.
#define WEFT_FRAME_ADDRESS() _AddressOfReturnAddress()
#else
#define WEFT_NOINLINE __attribute__((noinline))
#define WEFT_FORCEINLINE __attribute__((always_inline)) inline
#define WEFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WEFT_FRAME_ADDRESS() __builtin_frame_address(0)
#endif

namespace weft::internal {

/// Returns the index of the lowest set bit. `value` must not be 0.
inline uint32_t LowestBit(uint64_t value) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanForward64(&index, value);
    return index;
#else
    return static_cast<uint32_t>(__builtin_ctzll(value));
#endif
}

/// Returns the index of the highest set bit. `value` must not be 0.
inline uint32_t HighestBit(uint64_t value) noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long index;
    _BitScanReverse64(&index, value);
    return index;
#else
    return 63u - static_cast<uint32_t>(__builtin_clzll(value));
#endif
}

}  // namespace weft::internal
