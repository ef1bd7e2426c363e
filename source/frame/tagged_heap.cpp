// Who writes what, so that most allocations need no atomic read-modify-write:
//
// A Place is what one worker has of one tag: its current block and its sums. Only that worker's thread writes to it, and a
// task stays on its thread from the beginning to the end of Allocate, because nothing in there waits. Free runs
// anywhere and leaves the places alone: it raises the tag's generation, and a place of an older one counts as empty.
//
// A worker sees the new generation when it allocates under the tag again, because that comes after Free: users order the
// two by a counter, as they must, for memory under the tag is theirs or not theirs.
#include "weft/frame/tagged_heap.h"

#include "frame/blocks.h"
#include "platform/compiler.h"
#include "weft/task_scheduler.h"

#include <algorithm>

namespace weft {

namespace internal {

namespace {

struct Place {
    env::Atomic<uint64_t> generation{0}, allocations{0}, bytes{0};  // written by one thread, read by statistics
    char *next = nullptr, *end = nullptr;
};

// The block that threads which are no workers share: its number + 1, and how many of its bytes are taken. 0: none.
struct SharedBlock {
    static constexpr uint32_t kUsedBits = 40;
    uint64_t word;
    bool IsNone() const noexcept { return word == 0; }
    uint32_t Block() const noexcept { return static_cast<uint32_t>(word >> kUsedBits) - 1; }
    size_t Used() const noexcept { return word & ((uint64_t{1} << kUsedBits) - 1); }
    static uint64_t Of(uint32_t block, size_t used) noexcept { return uint64_t{block + 1} << kUsedBits | used; }
};

struct alignas(kLineBytes) Tag {
    env::Atomic<uint64_t> generation{1};  // 0 is of places that were never used
    env::Atomic<uint32_t> newest{0};      // of its runs of blocks: the first one's number + 1
    env::Atomic<uint32_t> blocks{0};      // in them
    env::Atomic<uint32_t> retained{0};
    env::Atomic<uint64_t> shared{0}, sharedAllocations{0}, sharedBytes{0};
};

// Blocks in a row that a tag owns, kept at the first one's number. Written before the run is pushed, read after it was
// taken off.
struct Run {
    uint32_t older;  // the run that was pushed before, + 1
    uint32_t blocks;
};

constexpr uint32_t kMostRows = 1024;  // of workers, and of attached threads: more are never running

// Of a counter that only the caller writes: no read-modify-write.
void AddAlone(env::Atomic<uint64_t> &sum, uint64_t n) noexcept { sum.store(sum.load(kRelaxed) + n, kRelaxed); }

}  // namespace

struct TaggedHeapState {
    const TaskScheduler &scheduler;
    BlockPool &pool;
    BlockPoolState &blocks;
    uint32_t tagCount, placeRows;  // a row of places for each worker
    Tag *tags;
    char *rows;
    size_t rowBytes;
    Run *runs;
    env::Atomic<uint32_t> owned{0}, peak{0};
    env::Atomic<uint32_t> saidFull{0};

    Place &PlaceOf(uint32_t row, uint32_t tag) const noexcept {
        return reinterpret_cast<Place *>(rows + row * rowBytes)[tag];
    }
    size_t Bytes() const noexcept { return BytesFor(tagCount, placeRows, blocks.blockCount); }
    static size_t RowBytes(uint32_t tagCount) noexcept {
        return (tagCount * sizeof(Place) + kLineBytes - 1) / kLineBytes * kLineBytes;
    }
    static size_t OwnBytes() noexcept;
    static size_t BytesFor(uint32_t tagCount, uint32_t placeRows, uint32_t blockCount) noexcept {
        return OwnBytes() + tagCount * sizeof(Tag) + placeRows * RowBytes(tagCount) + blockCount * sizeof(Run);
    }
};

size_t TaggedHeapState::OwnBytes() noexcept {
    return (sizeof(TaggedHeapState) + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace internal

using namespace internal;

namespace {

void ReportTag(const TaggedHeapState &heap, ReportCode code, const char *cure, const char *call,
               uint32_t tag) noexcept {
    ReportFrameMistake(heap.blocks.onReport, heap.blocks.user, code, cure, "%s: tag %u of %u", call, tag,
                       heap.tagCount);
}

bool IsTag(const TaggedHeapState *heap, uint32_t tag, const char *call) noexcept {
    if (WEFT_UNLIKELY(heap == nullptr)) return false;  // the constructor has reported it
    if (WEFT_LIKELY(tag < heap->tagCount)) return true;
    ReportTag(*heap, ReportCode::BadOption, "Give a tag from 0 to TagCount() - 1.", call, tag);
    return false;
}

void RaisePeak(TaggedHeapState &heap, uint32_t owned) noexcept {
    uint32_t peak = heap.peak.load(kRelaxed);  // a figure; nothing is read by it
    while (peak < owned && !heap.peak.compare_exchange_strong(peak, owned, kRelaxed, kRelaxed)) {
    }
}

// Blocks for that many bytes, owned by the tag from now on; null after a report.
char *TakeRun(TaggedHeapState &heap, Tag &tag, size_t bytes) noexcept {
    const uint32_t count = Blocks::For(heap.blocks, bytes);
    const bool mayFit = count <= BlockPool::kMostInARow;
    const uint32_t first = mayFit ? Blocks::Claim(heap.blocks, count, 0) : kNoBlock;
    if (first == kNoBlock) {
        // relaxed: only who sets it reports; nothing else depends on it.
        if (!mayFit || heap.saidFull.exchange(1, kRelaxed) == 0) Blocks::ReportFull(heap.pool, "TaggedHeap", bytes);
        return nullptr;
    }
    // Another heap of the pool may have made room, and none of ours is freed. Looked at first, so that the line stays shared;
    // relaxed as above.
    if (WEFT_UNLIKELY(heap.saidFull.load(kRelaxed) != 0)) heap.saidFull.store(0, kRelaxed);
    RaisePeak(heap, heap.owned.fetch_add(count, kRelaxed) + count);
    tag.blocks.fetch_add(count, kRelaxed);
    uint32_t newest = tag.newest.load(kRelaxed);  // only a number; the exchange below decides
    do {
        heap.runs[first] = {newest, count};
        // release: publishes the run to Free, and so do the runs below it, whose pushes this exchange continues.
    } while (!tag.newest.compare_exchange_strong(newest, first + 1, kRelease, kRelaxed));
    return Blocks::At(heap.blocks, first);
}

void *AllocateAt(TaggedHeapState &heap, Tag &tag, Place &place, size_t bytes, size_t alignment) noexcept {
    // relaxed: Free comes before this by its user's order, or after it.
    const uint64_t generation = tag.generation.load(kRelaxed);
    if (WEFT_UNLIKELY(place.generation.load(kRelaxed) != generation)) {
        place.generation.store(generation, kRelaxed);
        place.allocations.store(0, kRelaxed);
        place.bytes.store(0, kRelaxed);
        place.next = place.end = nullptr;
    }
    char *begin = AlignUp(place.next, alignment);
    if (WEFT_LIKELY(begin <= place.end && bytes <= static_cast<size_t>(place.end - begin))) {
        place.next = begin + bytes;
    } else {
        begin = TakeRun(heap, tag, bytes);
        if (begin == nullptr) return nullptr;
        char *const end = begin + Blocks::For(heap.blocks, bytes) * heap.blocks.blockBytes;
        // What has more room left is the current block.
        if (end - (begin + bytes) > place.end - place.next) {
            place.next = begin + bytes;
            place.end = end;
        }
    }
    AddAlone(place.allocations, 1);
    AddAlone(place.bytes, bytes);
    return begin;
}

// From the tag's shared block, or from a new run; null after a report.
char *TakeShared(TaggedHeapState &heap, Tag &tag, size_t bytes, size_t alignment) noexcept {
    const size_t blockBytes = heap.blocks.blockBytes;
    // acquire: pairs with the release of who made this block the shared one: what was written into it before it came
    // from the pool comes before what we write.
    SharedBlock current{tag.shared.load(kAcquire)};
    while (!current.IsNone()) {
        const size_t begin = (current.Used() + alignment - 1) & ~(alignment - 1);  // a block is aligned to its size
        if (begin > blockBytes || bytes > blockBytes - begin) break;
        // acq_rel: as above, and for who takes the next bytes.
        if (tag.shared.compare_exchange_strong(current.word, SharedBlock::Of(current.Block(), begin + bytes), kAcqRel,
                                               kAcquire)) {
            return Blocks::At(heap.blocks, current.Block()) + begin;
        }
    }
    char *begin = TakeRun(heap, tag, bytes);
    if (begin != nullptr && bytes < blockBytes && (current.IsNone() || bytes < current.Used())) {
        // If somebody else was faster, theirs is the shared block, and the rest of ours is not used.
        const auto block = static_cast<uint32_t>(static_cast<size_t>(begin - heap.blocks.blocks) / blockBytes);
        tag.shared.compare_exchange_strong(current.word, SharedBlock::Of(block, bytes), kRelease, kRelaxed);
    }
    return begin;
}

// By threads that are no workers.
void *AllocateShared(TaggedHeapState &heap, Tag &tag, size_t bytes, size_t alignment) noexcept {
    char *const begin = TakeShared(heap, tag, bytes, alignment);
    if (begin == nullptr) return nullptr;
    tag.sharedAllocations.fetch_add(1, kRelaxed);  // figures
    tag.sharedBytes.fetch_add(bytes, kRelaxed);
    return begin;
}

TaggedHeapState *NewState(const TaskScheduler &scheduler, const SchedulerOptions &options, BlockPool &pool,
                          uint32_t tagCount) noexcept {
    BlockPoolState &blocks = *Blocks::StateOf(pool);
    const uint32_t rows = std::min(scheduler.WorkerCount(), kMostRows) + std::min(options.maxAttached, kMostRows);
    const size_t bytes = TaggedHeapState::BytesFor(tagCount, rows, blocks.blockCount);
    char *memory = static_cast<char *>(AllocateFrom(blocks.memory, bytes, kLineBytes));
    if (memory == nullptr) return nullptr;
    char *tags = memory + TaggedHeapState::OwnBytes(), *places = tags + tagCount * sizeof(Tag);
    const size_t rowBytes = TaggedHeapState::RowBytes(tagCount);
    auto *heap = new (memory) TaggedHeapState{scheduler, pool,     blocks,
                                              tagCount,  rows,     reinterpret_cast<Tag *>(tags),
                                              places,    rowBytes, reinterpret_cast<Run *>(places + rows * rowBytes)};
    for (uint32_t tag = 0; tag < tagCount; ++tag) {
        new (&heap->tags[tag]) Tag();
        for (uint32_t row = 0; row < rows; ++row) new (&heap->PlaceOf(row, tag)) Place();
    }
    for (uint32_t block = 0; block < blocks.blockCount; ++block) new (&heap->runs[block]) Run();
    return heap;
}

// Gives back all runs of the tag; how many blocks that were.
uint32_t FreeRuns(TaggedHeapState &heap, Tag &tag) noexcept {
    // relaxed: who allocates under the tag next comes after us by its user's order.
    tag.generation.store(tag.generation.load(kRelaxed) + 1, kRelaxed);
    tag.shared.store(0, kRelaxed);
    tag.sharedAllocations.store(0, kRelaxed);
    tag.sharedBytes.store(0, kRelaxed);
    // acquire: pairs with the pushes; we read what they wrote of their runs.
    uint32_t next = tag.newest.exchange(0, kAcquire);
    const uint32_t blocks = tag.blocks.exchange(0, kRelaxed);  // relaxed: each run was counted before its push
    // Before any is released. Otherwise another tag claims one and counts it while it still counts for us, and the peak is
    // more than there are. relaxed: published by Release, so that whoever claims adds to what we leave.
    heap.owned.fetch_sub(blocks, kRelaxed);
    while (next != 0) {
        const Run run = heap.runs[next - 1];  // whoever claims it writes there
        Blocks::Release(heap.blocks, next - 1, run.blocks);
        next = run.older;
    }
    heap.saidFull.store(0, kRelaxed);
    return blocks;
}

}  // namespace

TaggedHeap::TaggedHeap(const TaskScheduler &scheduler, const SchedulerOptions &options, BlockPool &pool,
                       uint32_t tags) noexcept
    : m_state(nullptr) {
    if (tags < 1 || tags > kMostTags) {
        ReportFrameMistake(options.onReport, options.user, ReportCode::BadOption, "Give 1 to 4,096 tags.",
                           "TaggedHeap: %u tags", tags);
        return;
    }
    if (pool.BlockCount() == 0) return;  // the pool has reported why
    m_state = NewState(scheduler, options, pool, tags);
    if (m_state != nullptr) return;
    ReportFrameMistake(options.onReport, options.user, ReportCode::OutOfMemory, "Give it fewer tags.",
                       "TaggedHeap: there is no memory for the bookkeeping of %u tags", tags);
}

TaggedHeap::~TaggedHeap() {
    if (m_state == nullptr) return;
    for (uint32_t i = 0; i < m_state->tagCount; ++i) {
        const TagStatistics left = StatisticsOf(i);
        if (FreeRuns(*m_state, m_state->tags[i]) == 0) continue;
        ReportFrameMistake(m_state->blocks.onReport, m_state->blocks.user, ReportCode::MemoryLeaked,
                           "Free every tag before the heap ends.",
                           "TaggedHeap: it ends while tag %u has %llu bytes of %llu allocations in %u blocks", i,
                           static_cast<unsigned long long>(left.bytes),
                           static_cast<unsigned long long>(left.allocations), left.blocks);
    }
    const MemoryHooks memory = m_state->blocks.memory;
    const size_t bytes = m_state->Bytes();
    for (uint32_t tag = 0; tag < m_state->tagCount; ++tag) {
        for (uint32_t row = 0; row < m_state->placeRows; ++row) m_state->PlaceOf(row, tag).~Place();
        m_state->tags[tag].~Tag();
    }
    m_state->~TaggedHeapState();
    ReleaseTo(memory, m_state, bytes, kLineBytes);
}

void *TaggedHeap::Allocate(uint32_t tag, size_t bytes, size_t alignment) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Allocate")) return nullptr;
    TaggedHeapState &heap = *m_state;
    if (WEFT_UNLIKELY(!IsPowerOfTwo(alignment) || alignment > heap.blocks.blockBytes)) {
        ReportFrameMistake(heap.blocks.onReport, heap.blocks.user, ReportCode::BadOption,
                           "Give a power of two, at most a block.", "TaggedHeap::Allocate: an alignment of %zu bytes",
                           alignment);
        return nullptr;
    }
    if (bytes == 0) bytes = 1;
    const uint32_t worker = heap.scheduler.CurrentWorker();
    void *const memory = WEFT_LIKELY(worker < heap.placeRows)
                             ? AllocateAt(heap, heap.tags[tag], heap.PlaceOf(worker, tag), bytes, alignment)
                             : AllocateShared(heap, heap.tags[tag], bytes, alignment);
    if (race::kFinder && memory != nullptr) Blocks::SawOwnersBefore(heap.blocks, static_cast<char *>(memory));
    return memory;
}

void TaggedHeap::Free(uint32_t tag) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Free")) return;
    // acquire: pairs with Release, so that the memory is given back after what its holder did with it.
    if (m_state->tags[tag].retained.load(kAcquire) != 0) {
        ReportTag(*m_state, ReportCode::MemoryInUse, "Release it first.", "TaggedHeap::Free of what is retained", tag);
        return;
    }
    FreeRuns(*m_state, m_state->tags[tag]);
}

void TaggedHeap::Retain(uint32_t tag) noexcept {
    // relaxed: whoever retains comes before who frees by their user's order.
    if (IsTag(m_state, tag, "TaggedHeap::Retain")) m_state->tags[tag].retained.fetch_add(1, kRelaxed);
}

void TaggedHeap::Release(uint32_t tag) noexcept {
    if (!IsTag(m_state, tag, "TaggedHeap::Release")) return;
    env::Atomic<uint32_t> &retained = m_state->tags[tag].retained;
    uint32_t count = retained.load(kRelaxed);  // a guess; the exchange below decides
    while (count != 0) {
        // release: pairs with the acquire in Free.
        if (retained.compare_exchange_strong(count, count - 1, kRelease, kRelaxed)) return;
    }
    ReportTag(*m_state, ReportCode::BadOption, "Retain it first, once for each Release.",
              "TaggedHeap::Release of what is not retained", tag);
}

TagStatistics TaggedHeap::StatisticsOf(uint32_t tag) const noexcept {
    TagStatistics sum;
    if (!IsTag(m_state, tag, "TaggedHeap::StatisticsOf")) return sum;
    const Tag &of = m_state->tags[tag];
    // relaxed, all of them: figures, that belong together only when nobody allocates or frees.
    const uint64_t generation = of.generation.load(kRelaxed);
    sum.allocations = of.sharedAllocations.load(kRelaxed);
    sum.bytes = of.sharedBytes.load(kRelaxed);
    sum.blocks = of.blocks.load(kRelaxed);
    for (uint32_t row = 0; row < m_state->placeRows; ++row) {
        const Place &place = m_state->PlaceOf(row, tag);
        if (place.generation.load(kRelaxed) != generation) continue;
        sum.allocations += place.allocations.load(kRelaxed);
        sum.bytes += place.bytes.load(kRelaxed);
    }
    return sum;
}

HeapStatistics TaggedHeap::Statistics() const noexcept {
    HeapStatistics sum;
    if (m_state == nullptr) return sum;
    sum.blocks = m_state->owned.load(kRelaxed);  // figures
    sum.peakBlocks = m_state->peak.load(kRelaxed);
    for (uint32_t i = 0; i < m_state->tagCount; ++i) sum.tags += m_state->tags[i].blocks.load(kRelaxed) != 0 ? 1 : 0;
    return sum;
}

uint32_t TaggedHeap::TagCount() const noexcept { return m_state != nullptr ? m_state->tagCount : 0; }

}  // namespace weft
