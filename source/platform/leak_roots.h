// Tells LeakSanitizer where to look for pointers. It looks by itself only into the heap, into
// global variables, and into the stacks on which threads run.
#pragma once

#include <cstddef>

#if defined(__ELF__)
// From sanitizer/lsan_interface.h. Null if the program is not linked with LeakSanitizer. weft
// itself need not be compiled for it.
namespace weft::internal {
extern "C" __attribute__((weak)) void LsanRegister(const void *memory,
                                                   size_t bytes) asm("__lsan_register_root_region");
extern "C" __attribute__((weak)) void LsanUnregister(const void *memory, size_t bytes) asm(
    "__lsan_unregister_root_region");
}  // namespace weft::internal
#endif

namespace weft::internal {

/// Returns true if the program is linked with LeakSanitizer.
inline bool HasLeakSanitizer() noexcept {
#if defined(__ELF__)
    return LsanRegister != nullptr;
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
    if (HasLeakSanitizer()) LsanRegister(memory, bytes);
#endif
}
inline void RemoveLeakRoot([[maybe_unused]] const void *memory,
                           [[maybe_unused]] size_t bytes) noexcept {
#if defined(__ELF__)
    if (HasLeakSanitizer()) LsanUnregister(memory, bytes);
#endif
}

}  // namespace weft::internal
