#include "frame/tag_memory.h"

#include <algorithm>

namespace weft::internal {

namespace {

void RaisePeak(TaggedHeapState &heap, uint32_t owned) noexcept {
    uint32_t peak = heap.peak.load(kRelaxed);  // a figure; nothing is read by it
    while (peak < owned && !heap.peak.compare_exchange_strong(peak, owned, kRelaxed, kRelaxed)) {
    }
}

// The tag owns them from now on. They were claimed by the caller, who allocates under the tag, so
// Free comes after this.
void Own(TaggedHeapState &heap, HeapTag &tag, uint32_t first, uint32_t count) noexcept {
    // Another heap of the pool may have made room, and none of ours is freed. Looked at first, so
    // that the line stays shared; relaxed: only who sets it reports.
    if (WEFT_UNLIKELY(heap.saidFull.load(kRelaxed) != 0)) heap.saidFull.store(0, kRelaxed);
    RaisePeak(heap, heap.owned.fetch_add(count, kRelaxed) + count);
    tag.blocks.fetch_add(count, kRelaxed);
    uint32_t newest = tag.newest.load(kRelaxed);  // only a number; the exchange below decides
    do {
        heap.runs[first] = {newest, count};
        // release: publishes the run to Free, and so do the runs below it, whose pushes this
        // exchange continues.
    } while (!tag.newest.compare_exchange_strong(newest, first + 1, kRelease, kRelaxed));
}

Piece ReportFull(TaggedHeapState &heap, size_t bytes) noexcept {
    const bool mayFit = Blocks::For(heap.blocks, bytes) <= BlockPool::kMaxContiguous;
    // relaxed: only who sets it reports; nothing else depends on it.
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
// their blocks becomes it; the others come back, or the tag would own a block for each worker.
Piece TakeShared(TaggedHeapState &heap, HeapTag &tag, size_t bytes, size_t most,
                 size_t alignment) noexcept {
    const size_t blockBytes = heap.blocks.blockBytes;
    // acquire: pairs with the release of who made this block the shared one: what was written into
    // it before it came from the pool comes before what we write.
    SharedBlock current{tag.shared.load(kAcquire)};
    for (;;) {
        if (!current.IsNone()) {
            // a block is aligned to its size
            const size_t begin = (current.Used() + alignment - 1) & ~(alignment - 1);
            if (begin <= blockBytes && bytes <= blockBytes - begin) {
                const size_t end = begin + std::min(most, blockBytes - begin);
                const uint64_t next = SharedBlock::Of(current.Block(), end);
                // acq_rel: as above, and for who takes the next bytes.
                if (!tag.shared.compare_exchange_strong(current.word, next, kAcqRel, kAcquire))
                    continue;
                char *const block = Blocks::At(heap.blocks, current.Block());
                return {block + begin, block + end};
            }
        }
        const size_t end = std::min(most, blockBytes);
        // What has more room left is the shared block.
        if (bytes >= blockBytes || (!current.IsNone() && end >= current.Used()))
            return TakeBlocks(heap, tag, bytes);
        Blocks::Trial trial(heap.blocks);
        if (trial.Block() == kNoBlock) {
            const uint64_t seen = current.word;
            current.word = tag.shared.load(kAcquire);  // as above
            // somebody else got the last block, and it is shared
            if (current.word != seen) continue;
            return ReportFull(heap, bytes);
        }
        // release: pairs with the acquire of who takes a piece of it.
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
    // relaxed: who allocates under the tag next comes after us by its user's order.
    tag.generation.store(tag.generation.load(kRelaxed) + 1, kRelaxed);
    tag.shared.store(0, kRelaxed);
    tag.sharedAllocations.store(0, kRelaxed);
    tag.sharedBytes.store(0, kRelaxed);
    // acquire: pairs with the pushes; we read what they wrote of their runs.
    uint32_t next = tag.newest.exchange(0, kAcquire);
    // relaxed: each run was counted before its push
    const uint32_t blocks = tag.blocks.exchange(0, kRelaxed);
    // Before any is released. Otherwise another tag claims one and counts it while it still counts
    // for us, and the peak is more than there are. relaxed: published by Release, so that whoever
    // claims adds to what we leave.
    heap.owned.fetch_sub(blocks, kRelaxed);
    while (next != 0) {
        const HeapRun run = heap.runs[next - 1];  // whoever claims it writes there
        Blocks::Release(heap.blocks, next - 1, run.blocks);
        next = run.older;
    }
    heap.saidFull.store(0, kRelaxed);
    return blocks;
}

}  // namespace weft::internal
