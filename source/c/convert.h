// Converts what weft.h declares to the types of the C++ interface.
//
// A weft_scheduler is a TaskScheduler, and a weft_task_function is a TaskFunction. Counters and
// arrays of tasks and groups have the layout of their C++ types (layout.cpp), so pointers to them
// are converted and nothing is copied.
#pragma once

#include "weft/options.h"
#include "weft/report.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"
#include "weft/weft.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::internal {

inline Counter *ToCounter(weft_counter *counter) noexcept {
    return reinterpret_cast<Counter *>(counter);
}
inline const Counter *ToCounter(const weft_counter *counter) noexcept {
    return reinterpret_cast<const Counter *>(counter);
}
inline Counter *const *ToCounters(weft_counter *const *counters) noexcept {
    return reinterpret_cast<Counter *const *>(counters);
}
inline const Task *ToTasks(const weft_task *tasks) noexcept {
    return reinterpret_cast<const Task *>(tasks);
}

template <class Enum>
std::underlying_type_t<Enum> ToNumber(Enum value) noexcept {
    return static_cast<std::underlying_type_t<Enum>>(value);
}

/// Converts nanoseconds (weft_now) to a point in time. WEFT_NEVER, and all that the clock cannot
/// express, becomes the point that never comes.
inline Clock::time_point ToTime(uint64_t nanoseconds) noexcept {
    using Nanoseconds = std::chrono::nanoseconds;
    constexpr Nanoseconds kLast = std::chrono::duration_cast<Nanoseconds>(Clock::duration::max());
    if (nanoseconds >= static_cast<uint64_t>(kLast.count())) return Clock::time_point::max();
    return Clock::time_point(std::chrono::duration_cast<Clock::duration>(
        Nanoseconds(static_cast<int64_t>(nanoseconds))));
}

/// Copies a struct that begins with structBytes over `defaults`. If the program was compiled with
/// older headers, the struct is smaller, and the newer fields keep their defaults. Returns false if
/// structBytes is not set, or larger than the struct is here; `defaults` then has what could be
/// read. (So a new field must not lie where the struct had padding before.)
template <class Struct>
bool ReadStruct(const Struct &given, Struct &defaults) noexcept {
    static_assert(std::is_trivially_copyable_v<Struct>);
    const uint32_t bytes = given.structBytes;
    if (bytes == sizeof(Struct)) {
        std::memcpy(&defaults, &given, sizeof(Struct));
        return true;
    }
    if (bytes < sizeof bytes) return false;
    std::memcpy(&defaults, &given, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
    return bytes < sizeof(Struct);
}

/// Copies a struct to one of `bytes` bytes in a program, which may be smaller or larger.
template <class Struct>
void WriteStruct(const Struct &from, Struct *to, size_t bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<Struct>);
    unsigned char *const out = reinterpret_cast<unsigned char *>(to);
    std::memcpy(out, &from, bytes < sizeof(Struct) ? bytes : sizeof(Struct));
    if (bytes > sizeof(Struct)) std::memset(out + sizeof(Struct), 0, bytes - sizeof(Struct));
}

}  // namespace weft::internal
