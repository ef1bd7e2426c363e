// The memory that a tag of a TaggedHeap owns: whole blocks, and pieces of a block that all threads
// share which allocate under the tag.
#pragma once

#include "frame/tagged_heap_state.h"

namespace weft::internal {

/// The memory [begin, end).
struct Piece {
    char *begin;  // null: no memory, which was reported
    char *end;
};

/// Takes blocks in a row for the caller alone, enough for `bytes`.
Piece TakeBlocks(TaggedHeapState &heap, HeapTag &tag, size_t bytes) noexcept;

/// Takes a piece of the tag's shared block, at least `bytes` and at most `most`. If this block has
/// not enough room, shares a new one. If `bytes` are too many to share a block, takes blocks for
/// the caller alone.
Piece TakeShared(TaggedHeapState &heap, HeapTag &tag, size_t bytes, size_t most,
                 size_t alignment) noexcept;

/// Gives back all that the tag owns. Returns how many blocks that were.
uint32_t FreeAll(TaggedHeapState &heap, HeapTag &tag) noexcept;

}  // namespace weft::internal
