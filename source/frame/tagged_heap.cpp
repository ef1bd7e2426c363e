// TaggedHeap: allocating in the current piece of a worker, freeing by tag, statistics.
#include "weft/frame/tagged_heap.h"

#include "frame/tag_memory.h"

#include <algorithm>

namespace weft {

using namespace internal;

namespace {

// of workers, and of attached threads: no scheduler has more of them
constexpr uint32_t kMaxRows = 1024;

// Adds to a counter that only the caller writes, without a read-modify-write.
void AddAlone(env::Atomic<uint64_t> &sum, uint64_t n) noexcept {
    sum.store(sum.load(kRelaxed) + n, kRelaxed);
}

void ReportTag(const TaggedHeapState &heap, ReportCode code, const char *hint, const char *call,
               uint32_t tag) noexcept {
    ReportTo(heap.blocks.onReport, heap.blocks.user, code, hint, "%s: tag %u of %u", call, tag,
             heap.tagCount);
}

// Returns false if there is no such tag, which is reported.
bool IsTag(const TaggedHeapState *heap, uint32_t tag, const char *call) noexcept {
    if (WEFT_UNLIKELY(heap == nullptr)) return false;  // the constructor has reported why
    if (WEFT_LIKELY(tag < heap->tagCount)) return true;
    ReportTag(*heap, ReportCode::BadOption, "Give a tag from 0 to TagCount() - 1.", call, tag);
    return false;
}

// Takes memory when the current piece has not enough room. A worker first takes pieces of the
// shared block, each twice as large as the last. After a piece of half a block it takes whole
// blocks.
WEFT_NOINLINE char *TakeMore(TaggedHeapState &heap, HeapTag &tag, WorkerCache &cache, size_t bytes,
                             size_t alignment) noexcept {
    const size_t blockBytes = heap.blocks.blockBytes;
    Piece piece;
    if (bytes > blockBytes / 2 || cache.pieceBytes > blockBytes / 2) {
        piece = TakeBlocks(heap, tag, bytes);
    } else {
        // Whole cache lines, so that two workers never write to the same line.
        const size_t most = std::max(cache.pieceBytes, TaggedHeapState::Lines(bytes));
        piece = TakeShared(heap, tag, bytes, most, std::max(alignment, size_t{kLineBytes}));
        cache.pieceBytes *= 2;
    }
    // The piece that has more room left becomes the current piece.
    if (piece.begin != nullptr && piece.end - (piece.begin + bytes) > cache.end - cache.next) {
        cache.next = piece.begin + bytes;
        cache.end = piece.end;
    }
    return piece.begin;
}

// Allocates in the cache of the calling worker.
void *AllocateAt(TaggedHeapState &heap, HeapTag &tag, WorkerCache &cache, size_t bytes,
                 size_t alignment) noexcept {
    // relaxed: the user orders Free before or after this call.
    const uint64_t generation = tag.generation.load(kRelaxed);
    if (WEFT_UNLIKELY(cache.generation.load(kRelaxed) != generation)) {
        cache.generation.store(generation, kRelaxed);
        cache.allocations.store(0, kRelaxed);
        cache.bytes.store(0, kRelaxed);
        cache.next = cache.end = nullptr;
        cache.pieceBytes = TaggedHeap::FirstPieceBytes(heap.blocks.blockBytes);
    }
    char *begin = AlignUp(cache.next, alignment);
    if (WEFT_LIKELY(begin <= cache.end && bytes <= static_cast<size_t>(cache.end - begin))) {
        cache.next = begin + bytes;
    } else {
        begin = TakeMore(heap, tag, cache, bytes, alignment);
        if (begin == nullptr) return nullptr;
    }
    AddAlone(cache.allocations, 1);
    AddAlone(cache.bytes, bytes);
    return begin;
}

// For external threads.
void *AllocateShared(TaggedHeapState &heap, HeapTag &tag, size_t bytes, size_t alignment) noexcept {
    char *const begin = TakeShared(heap, tag, bytes, bytes, alignment).begin;
    if (begin == nullptr) return nullptr;
    tag.sharedAllocations.fetch_add(1, kRelaxed);  // relaxed, both: only figures
    tag.sharedBytes.fetch_add(bytes, kRelaxed);
    return begin;
}

TaggedHeapState *NewState(const TaskScheduler &scheduler, const SchedulerOptions &options,
                          BlockPool &pool, uint32_t tagCount) noexcept {
    BlockPoolState &blocks = *Blocks::StateOf(pool);
    const uint32_t rows =
        std::min(scheduler.WorkerCount(), kMaxRows) + std::min(options.maxAttached, kMaxRows);
    const size_t bytes = TaggedHeapState::BytesFor(tagCount, rows, blocks.blockCount);
    char *memory = static_cast<char *>(AllocateWith(blocks.memory, bytes, kLineBytes));
    if (memory == nullptr) return nullptr;
    char *tags = memory + TaggedHeapState::OwnBytes(), *caches = tags + tagCount * sizeof(HeapTag);
    const size_t rowBytes = TaggedHeapState::RowBytes(tagCount);
    void *const runs = caches + rows * rowBytes;
    auto *heap = new (memory)
        TaggedHeapState{scheduler, pool,     blocks,
                        tagCount,  rows,     static_cast<HeapTag *>(static_cast<void *>(tags)),
                        caches,    rowBytes, static_cast<HeapRun *>(runs)};
    for (uint32_t tag = 0; tag < tagCount; ++tag) {
        new (&heap->tags[tag]) HeapTag();
        for (uint32_t row = 0; row < rows; ++row) new (&heap->CacheOf(row, tag)) WorkerCache();
    }
    for (uint32_t block = 0; block < blocks.blockCount; ++block) new (&heap->runs[block]) HeapRun();
    return heap;
}

}  // namespace

TaggedHeap::TaggedHeap(const TaskScheduler &scheduler, const SchedulerOptions &options,
                       BlockPool &pool, uint32_t tags) noexcept
    : m_state(nullptr) {
    if (tags < 1 || tags > kMaxTags) {
        ReportTo(options.onReport, options.user, ReportCode::BadOption, "Give 1 to 4,096 tags.",
                 "TaggedHeap: %u tags", tags);
        return;
    }
    if (pool.BlockCount() == 0) return;  // the pool has reported why
    m_state = NewState(scheduler, options, pool, tags);
    if (m_state != nullptr) return;
    ReportTo(options.onReport, options.user, ReportCode::OutOfMemory, "Give it fewer tags.",
             "TaggedHeap: there is no memory for the bookkeeping of %u tags", tags);
}

TaggedHeap::~TaggedHeap() {
    if (m_state == nullptr) return;
    for (uint32_t i = 0; i < m_state->tagCount; ++i) {
        const TagStatistics left = StatisticsOf(i);
        if (FreeAll(*m_state, m_state->tags[i]) == 0) continue;
        ReportTo(m_state->blocks.onReport, m_state->blocks.user, ReportCode::MemoryLeaked,
                 "Free every tag before the heap ends.",
                 "TaggedHeap: it ends while tag %u has %llu bytes of %llu allocations in %u blocks",
                 i, static_cast<unsigned long long>(left.bytes),
                 static_cast<unsigned long long>(left.allocations), left.blocks);
    }
    const MemoryHooks memory = m_state->blocks.memory;
    const size_t bytes = m_state->Bytes();
    for (uint32_t tag = 0; tag < m_state->tagCount; ++tag) {
        for (uint32_t row = 0; row < m_state->cacheRows; ++row)
            m_state->CacheOf(row, tag).~WorkerCache();
        m_state->tags[tag].~HeapTag();
    }
    m_state->~TaggedHeapState();
    ReleaseWith(memory, m_state, bytes, kLineBytes);
}

void *TaggedHeap::Allocate(uint32_t tag, size_t bytes, size_t alignment) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Allocate")) return nullptr;
    TaggedHeapState &heap = *m_state;
    if (WEFT_UNLIKELY(!IsPowerOfTwo(alignment) || alignment > heap.blocks.blockBytes)) {
        ReportTo(heap.blocks.onReport, heap.blocks.user, ReportCode::BadOption,
                 "Give a power of two, at most a block.",
                 "TaggedHeap::Allocate: an alignment of %zu bytes", alignment);
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    const uint32_t worker = heap.scheduler.CurrentWorker();
    void *const memory =
        WEFT_LIKELY(worker < heap.cacheRows)
            ? AllocateAt(heap, heap.tags[tag], heap.CacheOf(worker, tag), bytes, alignment)
            : AllocateShared(heap, heap.tags[tag], bytes, alignment);
    if (race::kFinder && memory != nullptr)
        Blocks::SawOwnersBefore(heap.blocks, static_cast<char *>(memory));
    return memory;
}

void TaggedHeap::Free(uint32_t tag) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Free")) return;
    // acquire: pairs with Release. What a holder did with the memory comes before the memory is
    // given back.
    if (m_state->tags[tag].retained.load(kAcquire) != 0) {
        ReportTag(*m_state, ReportCode::MemoryInUse, "Release it first.",
                  "TaggedHeap::Free of a retained tag", tag);
        return;
    }
    FreeAll(*m_state, m_state->tags[tag]);
}

void TaggedHeap::Retain(uint32_t tag) noexcept {
    // relaxed: the user orders Retain before Free.
    if (IsTag(m_state, tag, "TaggedHeap::Retain"))
        m_state->tags[tag].retained.fetch_add(1, kRelaxed);
}

void TaggedHeap::Release(uint32_t tag) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Release")) return;
    env::Atomic<uint32_t> &retained = m_state->tags[tag].retained;
    uint32_t count = retained.load(kRelaxed);  // relaxed: the exchange below decides
    while (count != 0) {
        // release: pairs with the acquire in Free.
        if (retained.compare_exchange_strong(count, count - 1, kRelease, kRelaxed)) return;
    }
    ReportTag(*m_state, ReportCode::BadOption, "Retain it first, once for each Release.",
              "TaggedHeap::Release of a tag that is not retained", tag);
}

TagStatistics TaggedHeap::StatisticsOf(uint32_t tag) const noexcept {
    TagStatistics sum;
    if (!IsTag(m_state, tag, "TaggedHeap::StatisticsOf")) return sum;
    const HeapTag &of = m_state->tags[tag];
    // relaxed, all of them: figures, which are consistent only while no thread allocates or frees.
    const uint64_t generation = of.generation.load(kRelaxed);
    sum.allocations = of.sharedAllocations.load(kRelaxed);
    sum.bytes = of.sharedBytes.load(kRelaxed);
    sum.blocks = of.blocks.load(kRelaxed);
    for (uint32_t row = 0; row < m_state->cacheRows; ++row) {
        const WorkerCache &cache = m_state->CacheOf(row, tag);
        if (cache.generation.load(kRelaxed) != generation) continue;
        sum.allocations += cache.allocations.load(kRelaxed);
        sum.bytes += cache.bytes.load(kRelaxed);
    }
    return sum;
}

HeapStatistics TaggedHeap::Statistics() const noexcept {
    HeapStatistics sum;
    if (m_state == nullptr) return sum;
    sum.blocks = m_state->owned.load(kRelaxed);  // relaxed, all of them: only figures
    sum.peakBlocks = m_state->peak.load(kRelaxed);
    for (uint32_t i = 0; i < m_state->tagCount; ++i)
        sum.tags += m_state->tags[i].blocks.load(kRelaxed) != 0 ? 1u : 0u;
    return sum;
}

uint32_t TaggedHeap::TagCount() const noexcept {
    return m_state != nullptr ? m_state->tagCount : 0;
}

}  // namespace weft
