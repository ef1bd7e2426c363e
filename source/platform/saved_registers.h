// Where a suspended context keeps its registers. Boost.Context saves them on the stack of the
// context. The context's handle (fcontext_t) is the address of the first of them.
//
// Boost does not document this layout. tests/scheduler/debug_root_test.cpp checks it with
// the Boost that weft is built with. For other platforms the table is empty; debuggers then show no
// stacks.
#pragma once

#include <cstdint>

namespace weft::internal {

/// A name and a number, for debuggers. The name lies in the record itself: a core dump has no
/// constants.
struct NamedValue {
    char name[32];
    uint64_t value;
};

// Not const, because a core dump has no constants.
extern NamedValue g_contextLayout;  // the name of the layout, and the version of Boost
// The stack pointer comes first: it is the handle plus this value. Each other register lies at this
// distance from the handle. The names are those of debuggers.
extern NamedValue g_savedRegisters[];
#if defined(__aarch64__) && !defined(_WIN32)
inline constexpr uint32_t kSavedRegisterCount = 14;
#else
inline constexpr uint32_t kSavedRegisterCount = 8;
#endif

}  // namespace weft::internal
