// Notices that a thread ends in the middle of a function. pthread_exit and a cancellation unwind
// the stack like an exception, and no handler can stop that.
#pragma once

#include <exception>

#if defined(__GLIBCXX__) && defined(__cpp_exceptions)
#include <cxxabi.h>
#endif

// Without exceptions no function of weft notices it. The C library leaves them all, up to the one
// that has registered for this.
#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND) && !defined(_WIN32) && \
    !defined(__EMSCRIPTEN__) && !defined(WEFT_SIMULATOR)
#define WEFT_WATCH_THREAD_END 1
#include <pthread.h>
#endif

// The reference that a handler of abi::__forced_unwind gets names no object.
#if defined(__GNUC__)
#define WEFT_NO_UBSAN __attribute__((no_sanitize("undefined")))
#else
#define WEFT_NO_UBSAN
#endif

namespace weft::internal {

/// Call it in a handler of all exceptions. Calls `act`, which must not return, if the thread is
/// ending. The C library aborts when a handler that has stopped the end of a thread returns.
WEFT_NO_UBSAN inline void IfThreadEnds([[maybe_unused]] void (*act)()) noexcept {
    if (std::current_exception() != nullptr) return;  // an exception of C++
#if defined(__GLIBCXX__) && defined(__cpp_exceptions)
    try {
        throw;
    } catch (abi::__forced_unwind &) {
        act();
    } catch (...) {  // an exception of another language
    }
#elif !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
    act();  // weft is compiled without exceptions, and its user with them
#endif
}

/// Calls `function()`. If the thread ends meanwhile, and weft is compiled without exceptions, calls
/// `ended(nullptr)` on the thread's own stack.
template <class Function>
void CallToEnd(Function function, [[maybe_unused]] void (*ended)(void *)) noexcept {
#if defined(WEFT_WATCH_THREAD_END)
    pthread_cleanup_push(ended, nullptr);
    function();
    pthread_cleanup_pop(0);
#else
    function();
#endif
}

}  // namespace weft::internal
