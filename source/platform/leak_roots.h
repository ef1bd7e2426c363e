// Tells LeakSanitizer where to look for pointers. It looks by itself only into the heap, into
// global variables, and into the stacks on which threads run.
#pragma once

#include <cstddef>

#if defined(__ELF__)
// From sanitizer/lsan_interface.h. Null if the program is not linked with LeakSanitizer. weft
// itself need not be compiled for it.
extern "C" __attribute__((weak)) void __lsan_register_root_region(const void *memory, size_t bytes);
extern "C" __attribute__((weak)) void __lsan_unregister_root_region(const void *memory,
                                                                    size_t bytes);
#endif

namespace weft::internal {

/// Returns true if the program is linked with LeakSanitizer.
inline bool HasLeakSanitizer() noexcept {
#if defined(__ELF__)
    return __lsan_register_root_region != nullptr;
#else
    return false;
#endif
}

/// What pointers in this memory point to is no leak, until RemoveLeakRoot with the same arguments.
/// A page that cannot be read must have no read permission (mprotect). LeakSanitizer crashes at a
/// guard of MADV_GUARD_INSTALL.
inline void AddLeakRoot([[maybe_unused]] const void *memory,
                        [[maybe_unused]] size_t bytes) noexcept {
#if defined(__ELF__)
    if (HasLeakSanitizer()) __lsan_register_root_region(memory, bytes);
#endif
}
inline void RemoveLeakRoot([[maybe_unused]] const void *memory,
                           [[maybe_unused]] size_t bytes) noexcept {
#if defined(__ELF__)
    if (HasLeakSanitizer()) __lsan_unregister_root_region(memory, bytes);
#endif
}

}  // namespace weft::internal
