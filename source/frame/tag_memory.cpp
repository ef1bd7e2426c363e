// How a tag takes blocks and pieces, and frees them.
#include "frame/tag_memory.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Raises the heap's peak to `owned` if it is lower.
void RaisePeak(TaggedHeapState &heap, uint32_t owned) noexcept {
    uint32_t peak = heap.peak.load(kRelaxed);  // relaxed: only a figure
    while (peak < owned && !heap.peak.compare_exchange_strong(peak, owned, kRelaxed, kRelaxed)) {
    }
}

// Adds the blocks to the tag. The caller has claimed them, and allocates under the tag, so Free
// comes after this.
void Own(TaggedHeapState &heap, HeapTag &tag, uint32_t first, uint32_t count) noexcept {
    // There is room again: another heap may have given blocks back. Read first, so that the cache
    // line stays shared. relaxed: only decides which thread reports.
    if (WEFT_UNLIKELY(heap.saidFull.load(kRelaxed) != 0)) heap.saidFull.store(0, kRelaxed);
    RaisePeak(heap, heap.owned.fetch_add(count, kRelaxed) + count);
    tag.blocks.fetch_add(count, kRelaxed);
    uint32_t newest = tag.newest.load(kRelaxed);  // relaxed: the exchange below decides
    do {
        heap.runs[first] = {newest, count};
        // release: publishes the run to FreeAll. The exchange continues the release sequences of
        // the earlier pushes, so the older runs are visible, too.
    } while (!tag.newest.compare_exchange_strong(newest, first + 1, kRelease, kRelaxed));
}

// Reports that there is no memory, but only once until there is room again. A request for more
// than 64 blocks is always reported. Returns no piece.
Piece ReportFull(TaggedHeapState &heap, size_t bytes) noexcept {
    const bool mayFit = Blocks::For(heap.blocks, bytes) <= BlockPool::kMaxContiguous;
    // relaxed: only decides which thread reports.
    if (!mayFit || heap.saidFull.exchange(1, kRelaxed) == 0)
        Blocks::ReportFull(heap.pool, "TaggedHeap", bytes);
    return {nullptr, nullptr};
}

}  // namespace

Piece TakeBlocks(TaggedHeapState &heap, HeapTag &tag, size_t bytes) noexcept {
    const uint32_t count = Blocks::For(heap.blocks, bytes);
    const uint32_t first =
        count <= BlockPool::kMaxContiguous ? Blocks::Claim(heap.blocks, count, 0) : kNoBlock;
    if (first == kNoBlock) return ReportFull(heap, bytes);
    Own(heap, tag, first, count);
    char *const begin = Blocks::At(heap.blocks, first);
    return {begin, begin + count * heap.blocks.blockBytes};
}

// Many workers may begin with a tag at the same time, and each then finds no shared block. One of
// their blocks becomes the shared block. The others come back, or the tag would own a block for
// each worker.
Piece TakeShared(TaggedHeapState &heap, HeapTag &tag, size_t bytes, size_t most,
                 size_t alignment) noexcept {
    const size_t blockBytes = heap.blocks.blockBytes;
    // acquire: pairs with the release of the thread that made this block the shared one. What was
    // written into the block before it came from the pool comes before what the caller writes.
    SharedBlock current{tag.shared.load(kAcquire)};
    for (;;) {
        if (!current.IsNone()) {
            // a block is aligned to its size
            const size_t begin = (current.Used() + alignment - 1) & ~(alignment - 1);
            if (begin <= blockBytes && bytes <= blockBytes - begin) {
                const size_t end = begin + std::min(most, blockBytes - begin);
                const uint64_t next = SharedBlock::Of(current.Block(), end);
                // acq_rel: acquire as above; release for the thread that takes the next bytes.
                if (!tag.shared.compare_exchange_strong(current.word, next, kAcqRel, kAcquire))
                    continue;
                char *const block = Blocks::At(heap.blocks, current.Block());
                return {block + begin, block + end};
            }
        }
        const size_t end = std::min(most, blockBytes);
        // The block that has more room left becomes the shared block.
        if (bytes >= blockBytes || (!current.IsNone() && end >= current.Used()))
            return TakeBlocks(heap, tag, bytes);
        Blocks::Trial trial(heap.blocks);
        if (trial.Block() == kNoBlock) {
            const uint64_t seen = current.word;
            current.word = tag.shared.load(kAcquire);  // acquire: as above
            // another thread got the last block, and it is the shared block now
            if (current.word != seen) continue;
            return ReportFull(heap, bytes);
        }
        // release: pairs with the acquire of the threads that take pieces of the block.
        if (tag.shared.compare_exchange_strong(current.word, SharedBlock::Of(trial.Block(), end),
                                               kRelease, kAcquire)) {
            trial.Keep();
            Own(heap, tag, trial.Block(), 1);
            char *const block = Blocks::At(heap.blocks, trial.Block());
            return {block, block + end};
        }
    }
}

uint32_t FreeAll(TaggedHeapState &heap, HeapTag &tag) noexcept {
    // relaxed: the user orders the next allocation under the tag after this call.
    tag.generation.store(tag.generation.load(kRelaxed) + 1, kRelaxed);
    tag.shared.store(0, kRelaxed);
    tag.sharedAllocations.store(0, kRelaxed);
    tag.sharedBytes.store(0, kRelaxed);
    // acquire: pairs with the pushes. The runs are visible.
    uint32_t next = tag.newest.exchange(0, kAcquire);
    // relaxed: each run was counted before its push
    const uint32_t blocks = tag.blocks.exchange(0, kRelaxed);
    // Before any block is released. Otherwise another tag could claim a block and count it while it
    // still counts here, and the peak would be too high. relaxed: Release publishes it, so the next
    // owner adds to the lower value.
    heap.owned.fetch_sub(blocks, kRelaxed);
    while (next != 0) {
        // read it before: the next owner of the block writes to it
        const HeapRun run = heap.runs[next - 1];
        Blocks::Release(heap.blocks, next - 1, run.blocks);
        next = run.older;
    }
    heap.saidFull.store(0, kRelaxed);
    return blocks;
}

}  // namespace weft::internal
