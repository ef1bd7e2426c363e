// Macros for the checkers that this file is compiled for, and their headers.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#endif

#if defined(WEFT_RACE_FINDER)
#define WEFT_TSAN 1  // it must know of fibers, although the library is not instrumented
#endif

#if defined(WEFT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define WEFT_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define WEFT_NO_ASAN
#endif
#if defined(WEFT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#define WEFT_VALGRIND 1
#endif
#endif
