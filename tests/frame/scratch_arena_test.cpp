#include "weft/frame/scratch_arena.h"

#include "support/scheduler_run.h"

#include <atomic>
#include <cstring>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr size_t kBlock = 4 << 10;

SchedulerOptions WithLog(test::ReportLog &log) {
    SchedulerOptions options;
    log.AttachTo(options);
    return options;
}

}  // namespace

TEST_CASE("ScratchArena: it takes blocks when needed, and releases all of them", "[frame]") {
    test::ReportLog log;
    BlockPool pool(WithLog(log), 8, kBlock);
    {
        ScratchArena arena(pool);
        CHECK(pool.BlocksInUse() == 0);
        auto *first = arena.NewArray<uint64_t>(100);
        REQUIRE(first != nullptr);
        CHECK(pool.BlocksInUse() == 1);
        for (int i = 0; i < 100; ++i) CHECK(first[i] == 0);
        std::memset(first, 1, 800);
        CHECK(arena.NewArray<uint64_t>(500) != nullptr);
        CHECK(pool.BlocksInUse() == 2);
        CHECK(arena.Allocate(3 * kBlock) != nullptr);  // four blocks, with its header
        CHECK(pool.BlocksInUse() == 6);
        CHECK(first[99] == 0x0101010101010101);
        CHECK(arena.Allocate(0) != arena.Allocate(0));
    }
    CHECK(pool.BlocksInUse() == 0);
    CHECK(log.Text() == "");
}

TEST_CASE("ScratchArena: allocations are aligned", "[frame]") {
    test::ReportLog log;
    BlockPool pool(WithLog(log), 64, kBlock);
    ScratchArena arena(pool);
    for (size_t alignment = 1; alignment <= kBlock / 2; alignment *= 2) {
        ScratchArena fresh(pool);
        for (int i = 0; i < 3; ++i) {
            arena.Allocate(1, 1);
            for (ScratchArena *of : {&arena, &fresh}) {
                void *memory = of->Allocate(kBlock / 2 - 31, alignment);
                REQUIRE(memory != nullptr);
                CHECK(reinterpret_cast<uintptr_t>(memory) % alignment == 0);
                std::memset(memory, 0xff, kBlock / 2 - 31);  // must not write over a header
            }
        }
        arena.Rewind({});
    }
    CHECK(log.Text() == "");
    for (const size_t alignment : {size_t{0}, size_t{3}, kBlock})
        CHECK(arena.Allocate(8, alignment) == nullptr);
    CHECK(log.CountOf(ReportCode::BadOption) == 3);
}

TEST_CASE("ScratchArena: Rewind frees all that came after the mark, also in other blocks",
          "[frame]") {
    test::ReportLog log;
    BlockPool pool(WithLog(log), 8, kBlock);
    ScratchArena arena(pool);
    const ScratchArena::Mark empty = arena.GetMark();
    auto *kept = static_cast<char *>(arena.Allocate(16));
    *kept = 7;
    const ScratchArena::Mark mark = arena.GetMark();
    void *next = arena.Allocate(16);
    for (int i = 0; i < 100; ++i) {
        for (int k = 0; k < 4; ++k) REQUIRE(arena.Allocate(kBlock / 2) != nullptr);
        arena.Rewind(mark);
        CHECK(pool.BlocksInUse() == 1);
    }
    CHECK(arena.Allocate(16) == next);
    CHECK(*kept == 7);
    arena.Rewind(empty);
    CHECK(pool.BlocksInUse() == 0);
    CHECK(arena.Allocate(16) != nullptr);
    CHECK(log.Text() == "");
}

TEST_CASE("ScratchArena: a pool without blocks is reported", "[frame]") {
    test::ReportLog log;
    BlockPool pool(WithLog(log), 2, kBlock);
    ScratchArena arena(pool), other(pool);
    CHECK(arena.Allocate(kBlock) != nullptr);
    CHECK(other.Allocate(8) == nullptr);
    CHECK(arena.Allocate(8) != nullptr);
    CHECK(log.CountOf(ReportCode::OutOfMemory) == 1);
    CHECK(arena.Allocate(SIZE_MAX) == nullptr);
    CHECK(arena.NewArray<uint64_t>(SIZE_MAX / 2) == nullptr);
    CHECK(log.CountOf(ReportCode::OutOfMemory) == 3);
    BlockPool none(WithLog(log), 0, kBlock);
    ScratchArena empty(none);
    CHECK(empty.Allocate(8) == nullptr);
}

TEST_CASE("ScratchArena: it stays with its task across waits", "[frame]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        SchedulerOptions options = test::Options(point);
        runner.log.AttachTo(options);
        BlockPool pool(options, 256, kBlock);
        std::atomic<uint32_t> wrong{0};
        test::Batch batch(50, [&](TaskScheduler &scheduler, uint32_t index) {
            ScratchArena arena(pool);
            uint32_t *pieces[20];
            for (uint32_t *&piece : pieces) {
                piece = arena.NewArray<uint32_t>(50 + index);
                if (piece == nullptr) return void(++wrong);
                for (uint32_t k = 0; k < 50 + index; ++k) piece[k] = index;
                scheduler.Yield();
            }
            for (const uint32_t *piece : pieces) {
                for (uint32_t k = 0; k < 50 + index; ++k) wrong += piece[k] != index ? 1 : 0;
            }
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(pool.BlocksInUse() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("report BadOption: an arena is rewound to another arena's mark or to an old one",
          "[frame][report]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    BlockPool pool(options, 8, kBlock);
    ScratchArena arena(pool), other(pool);
    auto *kept = static_cast<uint32_t *>(arena.Allocate(sizeof(uint32_t)));
    *kept = 7;
    const ScratchArena::Mark early = arena.GetMark();
    other.Allocate(64);
    arena.Rewind(other.GetMark());
    CHECK(log.CountOf(ReportCode::BadOption) == 1);
    arena.Allocate(64);
    const ScratchArena::Mark late = arena.GetMark();
    arena.Allocate(kBlock);
    const ScratchArena::Mark inNextRun = arena.GetMark();
    arena.Rewind(late);  // a valid mark
    arena.Rewind(inNextRun);
    CHECK(log.CountOf(ReportCode::BadOption) == 2);
    arena.Rewind(early);  // a valid mark
    arena.Rewind(late);
    CHECK(log.CountOf(ReportCode::BadOption) == 3);
    ScratchArena::Mark forged = early;
    forged.used = 0;
    arena.Rewind(forged);
    CHECK(log.CountOf(ReportCode::BadOption) == 4);
    CHECK(pool.BlocksInUse() == 2);
    CHECK(*kept == 7);
    CHECK(arena.Allocate(sizeof(uint32_t)) != kept);
    arena.Rewind({});
    CHECK(pool.BlocksInUse() == 1);
    CHECK(log.Count() == 4);
}
