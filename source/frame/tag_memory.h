// The memory that a tag of a TaggedHeap owns: blocks of its own, and pieces of a block that all
// share who allocate under it.
#pragma once

#include "frame/tagged_heap_state.h"

namespace weft::internal {

struct Piece {
    char *begin;  // null: none, which was reported
    char *end;
};

/// Blocks in a row that nobody else gets anything of.
Piece TakeBlocks(TaggedHeapState &heap, HeapTag &tag, size_t bytes) noexcept;

/// At least `bytes` of the tag's shared block, and up to `most` if it has so many; of a new one if
/// it has not enough. Blocks of its own for what is too large to share one.
Piece TakeShared(TaggedHeapState &heap, HeapTag &tag, size_t bytes, size_t most,
                 size_t alignment) noexcept;

/// Gives back all that the tag owns; how many blocks that were.
uint32_t FreeAll(TaggedHeapState &heap, HeapTag &tag) noexcept;

}  // namespace weft::internal
