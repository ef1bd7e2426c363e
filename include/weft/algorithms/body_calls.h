// How the algorithms call the user's functions: they hand on the first exception to their caller.
#pragma once

#include "weft/data/exception_collector.h"

#include <type_traits>
#include <utility>

namespace weft::internal {

/// False if this code is compiled without exceptions: then nothing is caught.
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
inline constexpr bool kCatches = true;
#else
inline constexpr bool kCatches = false;
#endif

/// Calls the functions of one call of an algorithm, on any worker, and keeps the first exception.
///
/// After an exception, the algorithm leaves out what it has not begun. Then it calls Rethrow on the
/// task or thread that called it. If `kMayThrow` is false, the object is empty.
template <bool kMayThrow>
class BodyCalls {
public:
    /// Calls `function()`, and keeps an exception that leaves it. Thread-safe.
    template <class F>
    void Call(F &&function) noexcept {
        CallAndCatch(function,
                     [this](std::exception_ptr error) { m_thrown.Keep(std::move(error)); });
    }

    /// Returns true if a call has thrown. A hint while calls run. Thread-safe.
    bool HasThrown() const noexcept { return m_thrown.Count() != 0; }

    /// Throws the first exception, if there is one. Call it after a wait for all calls.
    void Rethrow() const {
        if (const std::exception_ptr first = m_thrown.First()) std::rethrow_exception(first);
    }

private:
    ExceptionCollector m_thrown;
};

template <>
class BodyCalls<false> {
public:
    template <class F>
    void Call(F &&function) noexcept {
        function();
    }
    static constexpr bool HasThrown() noexcept { return false; }
    static constexpr void Rethrow() noexcept {}
};

}  // namespace weft::internal
