// What C++17 has no word for.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define WEFT_NOINLINE __declspec(noinline)
#define WEFT_LIKELY(x) (x)
#define WEFT_UNLIKELY(x) (x)
#else
#define WEFT_NOINLINE __attribute__((noinline))
#define WEFT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#endif
