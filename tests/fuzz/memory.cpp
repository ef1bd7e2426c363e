// TaggedHeap and ScratchArena: several tasks allocate under tags, and tags are freed. Also their
// mistakes.
#include "fuzz/script.h"
#include "weft/frame/scratch_arena.h"
#include "weft/frame/tagged_heap.h"

#include <cstring>

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kBlockBytes = 4096, kMaxTags = 3, kMaxPieces = 12;

// The allocations of one task: at most one block under a tag, and one for its scratch memory.
struct Piece {
    TaggedHeap *heap;
    BlockPool *pool;
    uint32_t tag, bytes;
    uint8_t mark;
    uint8_t *first = nullptr;

    void Allocate() {
        const size_t alignment = size_t{1} << mark % 8;
        first = static_cast<uint8_t *>(heap->Allocate(tag, bytes, alignment));
        Require(first != nullptr, "there was no memory under a tag");
        Require(reinterpret_cast<uintptr_t>(first) % alignment == 0,
                "an allocation is not aligned");
        std::memset(first, mark, bytes);
    }
    void Check(const uint8_t *of) const {
        for (uint32_t i = 0; i < bytes; ++i)
            Require(of[i] == mark, "somebody has written to memory of another one");
    }
};

void Allocating(TaskScheduler *scheduler, void *arg) {
    Piece &piece = *static_cast<Piece *>(static_cast<Cell *>(arg)->target);
    ScratchArena arena(*piece.pool);
    uint8_t *const kept = arena.NewArray<uint8_t>(piece.bytes);
    Require(kept != nullptr, "there was no scratch memory");
    std::memset(kept, piece.mark, piece.bytes);
    const ScratchArena::Mark here = arena.GetMark();
    void *const given = arena.Allocate(1);
    arena.Rewind(here);
    piece.Allocate();
    Require(given != nullptr && arena.Allocate(1) == given,
            "what was given back is not the next that is allocated");
    scheduler->Yield();
    piece.Check(kept);
    Leaf(scheduler, arg);
}

// The tags from `first` on must have what their pieces say, and the others nothing.
void CheckTags(const TaggedHeap &heap, const Piece *pieces, uint32_t count, uint32_t first,
               uint32_t tags) {
    uint32_t owners = 0, blocks = 0;
    for (uint32_t tag = 0; tag < tags; ++tag) {
        uint64_t allocations = 0, bytes = 0;
        for (uint32_t i = 0; tag >= first && i < count; ++i) {
            if (pieces[i].tag != tag) continue;
            pieces[i].Check(pieces[i].first);
            ++allocations;
            bytes += pieces[i].bytes;
        }
        const TagStatistics has = heap.StatisticsOf(tag);
        Require(has.allocations == allocations && has.bytes == bytes, "what a tag has");
        Require(has.blocks <= allocations && (has.blocks != 0) == (allocations != 0),
                "the blocks of a tag");
        owners += has.blocks != 0 ? 1 : 0;
        blocks += has.blocks;
    }
    Require(heap.Statistics().tags == owners && heap.Statistics().blocks == blocks,
            "what a heap has");
}

}  // namespace

void Script::UseMemory() {
    const uint32_t shape = m_bytes.Next(), size = m_bytes.Next();
    const TaskOptions options = Options();
    const uint32_t tags = 1 + shape % kMaxTags, count = 1 + shape / kMaxTags % kMaxPieces;
    const bool alone = shape >= 216;  // no tasks: the script allocates everything
    Cell *cells = m_mayWait && !alone ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr && !alone) return;
    BlockPool pool(m_world.options, 2 * kMaxPieces, kBlockBytes);
    TaggedHeap heap(m_scheduler, m_world.options, pool, tags);
    Piece pieces[kMaxPieces];
    for (uint32_t i = 0; i < count; ++i) {
        pieces[i] = {&heap, &pool, i % tags, 1 + size * 4 + i, static_cast<uint8_t>(1 + i)};
    }
    Counter done;
    for (uint32_t i = 1; i < count && !alone; ++i) {
        cells[i].accepted = true;
        cells[i].target = &pieces[i];
        m_scheduler.AddTask({Allocating, &cells[i]}, &done, options);
    }
    pieces[0].Allocate();  // this may be an external thread
    for (uint32_t i = 1; i < count && alone; ++i) pieces[i].Allocate();
    if (!alone) m_scheduler.WaitForCounter(&done);
    for (uint32_t freed = 0; freed <= tags; ++freed) {
        CheckTags(heap, pieces, count, freed, tags);
        if (freed != tags) heap.Free(freed);
    }
    Require(pool.BlocksInUse() == 0, "memory that was freed is in use");
}

void Script::MistakeInMemory() {
    const uint32_t kind = m_bytes.Below(10), n = m_bytes.Next();
    const SchedulerOptions &options = m_world.options;
    const auto expect = [&](ReportCode code, auto mistake) {
        m_world.oracle.Expect(code, mistake);
    };
    BlockPool pool(options, 2, kBlockBytes);
    if (kind == 0) {
        expect(ReportCode::BadOption, [&] {
            BlockPool none(options, n % 2, n % 2 == 0 ? kBlockBytes : kBlockBytes + 1 + n);
            Require(none.BlockCount() == 0, "blocks that cannot be");
            Require(TaggedHeap(m_scheduler, options, none).Allocate(0, 1) == nullptr,
                    "memory out of no blocks");
            Require(ScratchArena(none).Allocate(1) == nullptr, "scratch out of no blocks");
        });
    } else if (kind == 1) {
        expect(ReportCode::BadOption, [&] {
            TaggedHeap none(m_scheduler, options, pool, n % 2 == 0 ? 0 : TaggedHeap::kMaxTags + n);
            Require(none.TagCount() == 0 && none.Allocate(0, 1) == nullptr, "tags that cannot be");
        });
    } else if (kind == 2) {
        ScratchArena arena(pool);
        Require(arena.Allocate(kBlockBytes / 2) != nullptr &&
                    arena.Allocate(kBlockBytes / 2) != nullptr,
                "scratch");
        expect(ReportCode::OutOfMemory,
               [&] { Require(arena.Allocate(kBlockBytes / 2) == nullptr, "a third block"); });
        expect(ReportCode::BadOption,
               [&] { Require(arena.Allocate(1, 3) == nullptr, "an alignment of 3"); });
    } else {
        TaggedHeap heap(m_scheduler, options, pool, 2);
        uint8_t *const first = static_cast<uint8_t *>(heap.Allocate(0, 1 + n));
        Require(first != nullptr, "there was no memory under a tag");
        std::memset(first, 1, 1 + n);
        if (kind == 3)
            expect(ReportCode::BadOption,
                   [&] { Require(!heap.Allocate(2 + n, 1), "no such tag"); });
        if (kind == 4)
            expect(ReportCode::BadOption,
                   [&] { Require(!heap.Allocate(0, 1, 3), "an alignment of 3"); });
        if (kind == 5) {
            Require(heap.Allocate(1, kBlockBytes) != nullptr, "there was no second block");
            expect(ReportCode::OutOfMemory, [&] {
                // Both attempts must fail. The mistake is reported once.
                for (uint32_t i = 0; i < 2; ++i) Require(!heap.Allocate(1, 1), "a third block");
            });
            heap.Free(1);
            Require(heap.Allocate(1, kBlockBytes) != nullptr,
                    "there was no memory after a tag was freed");
            heap.Free(1);
        }
        if (kind == 6) {
            heap.Retain(0);
            expect(ReportCode::MemoryInUse, [&] { heap.Free(0); });
            heap.Release(0);
        }
        if (kind == 7) expect(ReportCode::BadOption, [&] { heap.Release(n % 2); });
        if (kind == 8) expect(ReportCode::BadOption, [&] { heap.Free(2 + n); });
        if (kind == 9) {
            expect(ReportCode::OutOfMemory,
                   [&] { Require(!heap.Allocate(1, size_t{65} * kBlockBytes), "too much"); });
        }
        for (uint32_t i = 0; i <= n; ++i) Require(first[i] == 1, "a mistake has changed memory");
        Require(heap.Statistics().blocks == 1, "a mistake has changed a heap");
        heap.Free(0);
    }
    Require(pool.BlocksInUse() == 0, "a mistake has left memory behind");
    expect(ReportCode::MemoryLeaked,
           [&] { TaggedHeap(m_scheduler, options, pool, 1).Allocate(0, n); });
}

}  // namespace fuzz
