// The exception state of the C++ runtime: for each thread, the chain of exceptions that are being
// handled. A fiber that waits inside a catch block must find its own chain again, on any thread. So
// the chain moves with the fiber.
#pragma once

// Emscripten keeps it elsewhere: fiber_context_emscripten.cpp.
#if defined(__GNUC__) && !defined(__EMSCRIPTEN__) && (!defined(_WIN32) || defined(__MINGW32__))
#define WEFT_EXCEPTION_STATE 1
#include <cxxabi.h>
#endif

namespace weft::internal {

/// What __cxa_get_globals points to (Itanium C++ ABI, section 2.2.2).
struct ExceptionState {
    void *caught = nullptr;
    unsigned uncaught = 0;
#if defined(__arm__)
    void *propagating = nullptr;  // one more word in the ARM EHABI
#endif
};

/// Returns the calling thread's state; null if the runtime does not give access to it.
inline ExceptionState *ThreadExceptionState() noexcept {
#if defined(WEFT_EXCEPTION_STATE)
    return reinterpret_cast<ExceptionState *>(__cxxabiv1::__cxa_get_globals());
#else
    return nullptr;
#endif
}

}  // namespace weft::internal
