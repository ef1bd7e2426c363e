#include "platform/memory.h"

#include <cstring>

namespace weft::internal {

void *AllocateZeroed(size_t bytes, size_t alignment) noexcept {
    void *memory = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    if (memory != nullptr) std::memset(memory, 0, bytes);
    return memory;
}

void FreeMemory(void *memory, size_t alignment) noexcept { ::operator delete(memory, std::align_val_t(alignment)); }

}  // namespace weft::internal
