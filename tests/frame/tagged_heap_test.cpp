#include "weft/frame/tagged_heap.h"

#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/scheduler_run.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr size_t kBlock = 64 << 10, kFirst = TaggedHeap::FirstPieceBytes(kBlock);

// A heap that no task uses. The only thread that uses it is no thread of a scheduler.
struct Alone {
    explicit Alone(uint32_t blocks = 8, uint32_t tags = 4)
        : pool(WithLog(), blocks, kBlock), heap(scheduler, WithLog(), pool, tags) {}
    SchedulerOptions WithLog() {
        SchedulerOptions options;
        log.AttachTo(options);
        return options;
    }
    test::ReportLog log;
    TaskScheduler scheduler;
    BlockPool pool;
    TaggedHeap heap;
};

// The same for the main task, which has a piece of its own.
void InTask(uint32_t workers, uint32_t blocks,
            const std::function<void(TaskScheduler &, TaggedHeap &, BlockPool &, test::ReportLog &)>
                &body) {
    test::Runner runner(test::Options(workers));
    SchedulerOptions options = test::Options(workers);
    runner.log.AttachTo(options);
    BlockPool pool(options, blocks, kBlock);
    TaggedHeap heap(runner.scheduler, options, pool, 4);
    REQUIRE(runner.Run([&](TaskScheduler &scheduler) {
        body(scheduler, heap, pool, runner.log);
    }) == Status::Ok);
    for (uint32_t tag = 0; tag < 4; ++tag) heap.Free(tag);
}

bool IsAligned(const void *memory, size_t alignment) {
    return reinterpret_cast<uintptr_t>(memory) % alignment == 0;
}

}  // namespace

TEST_CASE("TaggedHeap: allocations of tasks do not overlap until their tag is freed", "[frame]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        SchedulerOptions options = test::Options(point);
        runner.log.AttachTo(options);
        BlockPool pool(options, 64, kBlock);
        TaggedHeap heap(runner.scheduler, options, pool, 3);
        struct Piece {
            uint32_t *values;
            uint32_t count;
        };
        constexpr uint32_t kTasks = 60, kFrames = 12;
        std::vector<Piece> pieces(3 * kTasks);
        std::atomic<uint32_t> wrong{0};
        const auto check = [&](uint32_t tag) {
            for (uint32_t i = tag * kTasks; i < (tag + 1) * kTasks; ++i) {
                for (uint32_t k = 0; k < pieces[i].count; ++k)
                    wrong += pieces[i].values[k] != i + 1 ? 1 : 0;
            }
        };
        const Status status = runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t frame = 0; frame < kFrames; ++frame) {
                const uint32_t tag = frame % 3;
                test::Batch batch(kTasks, [&](TaskScheduler &self, uint32_t index) {
                    const uint32_t place = tag * kTasks + index;
                    Piece &piece = pieces[place];
                    piece.count = 1 + (place * 37 + frame) % 400;
                    piece.values = heap.NewArray<uint32_t>(tag, piece.count);
                    if (piece.values == nullptr) return void(++wrong);
                    // From here on the task may be on another worker.
                    if (index % 5 == 0) self.Yield();
                    for (uint32_t k = 0; k < piece.count; ++k) {
                        wrong += piece.values[k] != 0 ? 1 : 0;
                        piece.values[k] = place + 1;
                    }
                    if (heap.Allocate(tag, 16) == nullptr) ++wrong;
                });
                scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
                if (frame >= 2) {
                    const uint32_t oldest = (frame + 1) % 3;
                    check(oldest);
                    heap.Free(oldest);
                    if (heap.StatisticsOf(oldest).blocks != 0) ++wrong;
                }
            }
        });
        CHECK(status == Status::Ok);
        CHECK(wrong == 0);
        CHECK(heap.Statistics().tags == 2);
        for (uint32_t tag = 0; tag < 3; ++tag) heap.Free(tag);
        CHECK(pool.BlocksInUse() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaggedHeap: small allocations of a worker are contiguous in its piece", "[frame]") {
    InTask(1, 8, [](TaskScheduler &, TaggedHeap &heap, BlockPool &pool, test::ReportLog &) {
        char *first = static_cast<char *>(heap.Allocate(0, 24));
        char *second = static_cast<char *>(heap.Allocate(0, 8));
        CHECK(second == first + 32);
        CHECK(static_cast<char *>(heap.Allocate(1, 8)) - first >= static_cast<ptrdiff_t>(kBlock));
        CHECK(pool.BlocksInUse() == 2);
        CHECK(heap.Allocate(0, kFirst - 64) == first + 48);
        CHECK(heap.Allocate(0, 64) == first + kFirst);  // only 16 bytes were left
        CHECK(pool.BlocksInUse() == 2);
        CHECK(heap.Allocate(0, kBlock - 64) != nullptr);
        CHECK(pool.BlocksInUse() == 3);
        heap.Free(0);
        CHECK(pool.BlocksInUse() == 1);
        CHECK(heap.Allocate(0, 8) == first);
    });
}

// The pools are so small that no block may be taken without need, not even for a moment.
TEST_CASE("TaggedHeap: 32 workers with small allocations under three tags take three blocks",
          "[frame]") {
    constexpr uint32_t kWorkers = 32, kTags = 3, kRounds = 20;
    for (const size_t blockBytes : {kBlock, BlockPool::kDefaultBlockBytes}) {
        test::Runner runner(test::Options(kWorkers));
        SchedulerOptions options = test::Options(kWorkers);
        runner.log.AttachTo(options);
        BlockPool pool(options, kTags, blockBytes);
        TaggedHeap heap(runner.scheduler, options, pool, kTags);
        constexpr size_t kEach = 32;
        const size_t little = blockBytes / 32;
        std::atomic<uint32_t> wrong{0}, begun{0};
        const Status status = runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t round = 1; round <= kRounds; ++round) {
                test::Batch batch(kWorkers, [&](TaskScheduler &self, uint32_t index) {
                    begun.fetch_add(1);
                    wrong +=
                        test::YieldUntil(self, [&] { return begun >= round * kWorkers; }) ? 0 : 1;
                    uint32_t *pieces[kTags] = {};
                    for (size_t i = 0; i < little / kEach; ++i) {
                        for (uint32_t tag = 0; tag < kTags; ++tag) {
                            auto *piece = static_cast<uint32_t *>(heap.Allocate(tag, kEach));
                            if (piece == nullptr) return void(++wrong);
                            *piece = index;
                            if (i == 0) pieces[tag] = piece;
                        }
                    }
                    for (const uint32_t *piece : pieces) wrong += *piece != index ? 1 : 0;
                });
                Counter counter;
                for (uint32_t i = 0; i < kWorkers; ++i) {
                    scheduler.AddTask(batch[i], &counter, {Priority::Normal, i, "little"});
                }
                scheduler.WaitForCounter(&counter);
                if (heap.Statistics().blocks != kTags || pool.BlocksInUse() != kTags) ++wrong;
                for (uint32_t tag = 0; tag < kTags; ++tag) heap.Free(tag);
            }
        });
        CHECK(status == Status::Ok);
        CHECK(wrong == 0);
        CHECK(heap.Statistics().peakBlocks == kTags);
        CHECK(pool.BlocksInUse() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaggedHeap: a worker's pieces double up to a whole block, and start small after Free",
          "[frame]") {
    static_assert(TaggedHeap::FirstPieceBytes(BlockPool::kDefaultBlockBytes) == 64 << 10,
                  "as documented in the header");
    static_assert(TaggedHeap::FirstPieceBytes(4 << 10) == 1 << 10 &&
                  TaggedHeap::FirstPieceBytes(1 << 30) == 64 << 10);
    InTask(1, 8, [](TaskScheduler &, TaggedHeap &heap, BlockPool &pool, test::ReportLog &log) {
        for (uint32_t round = 0; round < 2; ++round) {
            CHECK(heap.Allocate(0, 1) != nullptr);
            std::thread([&] { heap.Allocate(0, 1); }).join();
            CHECK(heap.StatisticsOf(0).blocks == 1);  // so the worker has only a piece of the block
            heap.Free(0);
            size_t used = 0;
            char *begin = nullptr;
            for (size_t piece = kFirst; piece <= kBlock / 2; piece *= 2) {
                CHECK(heap.StatisticsOf(0).blocks == (used == 0 ? 0 : 1));
                for (size_t bytes = 0; bytes < piece; bytes += kFirst / 2, used += kFirst / 2) {
                    char *const memory = static_cast<char *>(heap.Allocate(0, kFirst / 2));
                    if (begin == nullptr) begin = memory;
                    CHECK(memory == begin + used);
                }
                CHECK(heap.Allocate(1, 1) != nullptr);  // another tag must not change this
            }
            CHECK(used == kBlock - kFirst);
            for (uint32_t block = 2; block <= 3; ++block) {
                CHECK(heap.StatisticsOf(0).blocks == block - 1);
                for (size_t bytes = 0; bytes < kBlock; bytes += kFirst)
                    CHECK(heap.Allocate(0, kFirst) != nullptr);
                CHECK(heap.StatisticsOf(0).blocks == block);
            }
            CHECK(heap.StatisticsOf(1).blocks == 1);
            heap.Free(0);
            heap.Free(1);
            CHECK(pool.BlocksInUse() == 0);
        }
        CHECK(log.Text() == "");
    });
}

TEST_CASE("TaggedHeap: the rest of the shared block is used before another block is taken",
          "[frame]") {
    InTask(1, 1, [](TaskScheduler &, TaggedHeap &heap, BlockPool &, test::ReportLog &log) {
        CHECK(heap.Allocate(0, kBlock / 2) != nullptr);  // fills a piece of its own
        // The next piece is half a block, which is just what is left of the shared block.
        CHECK(heap.Allocate(0, 3 * kBlock / 8) != nullptr);
        CHECK(heap.Allocate(0, kBlock / 8) != nullptr);  // exactly the rest
        CHECK(log.Text() == "");
        CHECK(heap.Allocate(0, 1) == nullptr);
        CHECK(log.CountOf(ReportCode::OutOfMemory) == 1);
    });
}

TEST_CASE("TaggedHeap: allocations are aligned, and 0 bytes have an address of their own",
          "[frame]") {
    const auto check = [](TaggedHeap &heap) {
        for (size_t alignment = 1; alignment <= kBlock; alignment *= 2) {
            heap.Allocate(0, 1, 1);
            CHECK(IsAligned(heap.Allocate(0, 3, alignment), alignment));
        }
        CHECK(heap.Allocate(0, 0) != heap.Allocate(0, 0));
        heap.Free(0);
    };
    Alone alone;
    check(alone.heap);
    CHECK(alone.log.Text() == "");
    InTask(1, 8,
           [&](TaskScheduler &, TaggedHeap &heap, BlockPool &, test::ReportLog &) { check(heap); });
}

TEST_CASE("TaggedHeap: a large allocation takes several blocks, and their rest is used",
          "[frame]") {
    InTask(1, 8, [](TaskScheduler &, TaggedHeap &heap, BlockPool &pool, test::ReportLog &log) {
        char *small = static_cast<char *>(heap.Allocate(0, kBlock - 16));
        char *large = static_cast<char *>(heap.Allocate(0, 2 * kBlock + 16));
        REQUIRE(large != nullptr);
        CHECK(pool.BlocksInUse() == 4);
        std::memset(small, 1, kBlock - 16);
        std::memset(large, 2, 2 * kBlock + 16);
        CHECK(heap.Allocate(0, 64) == large + 2 * kBlock + 16);
        CHECK(heap.Allocate(0, 4 * kBlock) != nullptr);
        CHECK(pool.BlocksInUse() == 8);
        CHECK(log.Text() == "");
        heap.Free(0);
        CHECK(pool.BlocksInUse() == 0);
    });
    Alone alone(64, 1);
    CHECK(alone.heap.Allocate(0, 64 * kBlock) != nullptr);
    alone.heap.Free(0);
    CHECK(alone.heap.Allocate(0, 64 * kBlock + 1) == nullptr);
    CHECK(alone.log.CountOf(ReportCode::OutOfMemory) == 1);
    CHECK(test::Names(alone.log.Text(), "more than 64 blocks"));
    CHECK(alone.heap.Allocate(0, SIZE_MAX) == nullptr);
    CHECK(alone.heap.NewArray<uint64_t>(0, SIZE_MAX / 2) == nullptr);
    CHECK(alone.log.CountOf(ReportCode::OutOfMemory) == 3);
}

TEST_CASE("TaggedHeap: a full pool is reported once, until a tag is freed", "[frame]") {
    const auto check = [](TaggedHeap &heap, test::ReportLog &log) {
        for (uint32_t round = 1; round <= 2; ++round) {
            for (int i = 0; i < 8; ++i) REQUIRE(heap.Allocate(i % 4, kBlock) != nullptr);
            for (int i = 0; i < 3; ++i) CHECK(heap.Allocate(0, 8) == nullptr);
            CHECK(log.CountOf(ReportCode::OutOfMemory) == round);
            CHECK(test::Names(log.Text(), "8 of 8 blocks"));
            for (uint32_t tag = 0; tag < 4; ++tag) heap.Free(tag);
        }
    };
    Alone alone;
    check(alone.heap, alone.log);
    InTask(1, 8, [&](TaskScheduler &, TaggedHeap &heap, BlockPool &, test::ReportLog &log) {
        check(heap, log);
    });
}

TEST_CASE("TaggedHeap: a full pool is reported again if another heap freed a block in between",
          "[frame]") {
    Alone alone(8, 1);
    TaggedHeap other(alone.scheduler, alone.WithLog(), alone.pool, 1);
    for (uint32_t round = 1; round <= 3; ++round) {
        CHECK(alone.heap.Allocate(0, kBlock) != nullptr);
        CHECK(other.Allocate(0, (8 - round) * kBlock) != nullptr);
        for (int i = 0; i < 3; ++i) CHECK(alone.heap.Allocate(0, kBlock) == nullptr);
        CHECK(alone.log.CountOf(ReportCode::OutOfMemory) == round);
        other.Free(0);
    }
    alone.heap.Free(0);
    CHECK(alone.log.Count() == 3);
}

TEST_CASE("TaggedHeap: external threads share one block for each tag", "[frame]") {
    Alone alone(64, 2);
    constexpr uint32_t kEach = 4000;
    std::atomic<uint32_t> wrong{0};
    const auto work = [&](uint32_t id) {
        std::vector<uint32_t *> mine;
        for (uint32_t i = 0; i < kEach; ++i) {
            mine.push_back(static_cast<uint32_t *>(alone.heap.Allocate(i % 2, 4 + i % 40, 8)));
            *mine.back() = id * kEach + i;
        }
        for (uint32_t i = 0; i < kEach; ++i) wrong += *mine[i] != id * kEach + i ? 1 : 0;
    };
    std::vector<std::thread> threads;
    for (uint32_t id = 0; id < 3; ++id) threads.emplace_back(work, id);
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(alone.heap.StatisticsOf(0).allocations == 3 * kEach / 2);
    CHECK(alone.heap.StatisticsOf(0).bytes + alone.heap.StatisticsOf(1).bytes ==
          3 * (kEach * 4 + kEach / 40 * 780));
    CHECK(alone.pool.BlocksInUse() <
          12);  // 3 * 4,000 allocations of at most 48 bytes take 576 kB, and a little is lost
    CHECK(alone.heap.Allocate(1, kBlock + 1) != nullptr);
    alone.heap.Free(0);
    alone.heap.Free(1);
    CHECK(alone.pool.BlocksInUse() == 0);
    CHECK(alone.log.Text() == "");
}

TEST_CASE("TaggedHeap: an attached thread has a piece of its own", "[frame]") {
    test::Runner runner(test::Options(2));
    SchedulerOptions options = test::Options(2);
    BlockPool pool(options, 8, kBlock);
    TaggedHeap heap(runner.scheduler, options, pool, 1);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    char *outside = static_cast<char *>(heap.Allocate(0, 16));
    REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
    char *inside = static_cast<char *>(heap.Allocate(0, 16));
    CHECK(inside != outside + 16);
    CHECK(heap.Allocate(0, 16) == inside + 16);
    runner.scheduler.DetachThread();
    CHECK(heap.Allocate(0, 16) == inside + kFirst);
    CHECK(pool.BlocksInUse() == 1);
    runner.scheduler.Stop();
    heap.Free(0);
    CHECK(pool.BlocksInUse() == 0);
}

TEST_CASE("TaggedHeap: statistics", "[frame]") {
    InTask(1, 8, [](TaskScheduler &, TaggedHeap &heap, BlockPool &, test::ReportLog &) {
        CHECK(heap.TagCount() == 4);
        heap.Allocate(1, 100);
        heap.Allocate(1, 3);
        heap.Allocate(2, 3 * kBlock);
        CHECK(heap.StatisticsOf(0).allocations == 0);
        CHECK(heap.StatisticsOf(1).allocations == 2);
        CHECK(heap.StatisticsOf(1).bytes == 103);
        CHECK(heap.StatisticsOf(1).blocks == 1);
        CHECK(heap.StatisticsOf(2).blocks == 3);
        CHECK(heap.Statistics().blocks == 4);
        CHECK(heap.Statistics().tags == 2);
        heap.Free(2);
        CHECK(heap.StatisticsOf(2).allocations == 0);
        CHECK(heap.StatisticsOf(2).bytes == 0);
        CHECK(heap.Statistics().blocks == 1);
        CHECK(heap.Statistics().peakBlocks == 4);
        heap.Free(1);
        heap.Allocate(1, 7);
        CHECK(heap.StatisticsOf(1).allocations == 1);
        CHECK(heap.StatisticsOf(1).bytes == 7);
    });
}

TEST_CASE("TaggedHeap: failed allocations are not in the statistics", "[frame]") {
    const auto check = [](TaggedHeap &heap) {
        CHECK(heap.Allocate(0, 8 * kBlock) != nullptr);
        CHECK(heap.Allocate(0, 100) == nullptr);
        CHECK(heap.Allocate(1, 100) == nullptr);
        CHECK(heap.Allocate(1, 65 * kBlock) == nullptr);
        CHECK(heap.StatisticsOf(0).allocations == 1);
        CHECK(heap.StatisticsOf(0).bytes == 8 * kBlock);
        CHECK(heap.StatisticsOf(1).allocations == 0);
        CHECK(heap.StatisticsOf(1).bytes == 0);
        heap.Free(0);
    };
    Alone alone;
    check(alone.heap);
    InTask(1, 8,
           [&](TaskScheduler &, TaggedHeap &heap, BlockPool &, test::ReportLog &) { check(heap); });
}

// One tag takes the blocks of another tag while that one is still giving them back.
TEST_CASE("TaggedHeap: peakBlocks never exceeds the number of blocks", "[frame]") {
    constexpr uint32_t kBlocks = 4096;
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    const TaskScheduler scheduler;
    BlockPool pool(options, kBlocks, 4 << 10);
    TaggedHeap heap(scheduler, options, pool, 2);
    for (int round = 0; round < 10; ++round) {
        while (heap.Allocate(0, 4 << 10) != nullptr) {
        }
        std::atomic<bool> trying{false};
        std::thread other([&] {
            while (heap.Allocate(1, 4 << 10) == nullptr) trying = true;
        });
        while (!trying) std::this_thread::yield();
        heap.Free(0);
        other.join();
        heap.Free(1);
        CHECK(heap.Statistics().peakBlocks == kBlocks);
    }
    CHECK(heap.Statistics().blocks == 0);
    CHECK(pool.BlocksInUse() == 0);
}

TEST_CASE("TaggedHeap: a retained tag is not freed", "[frame]") {
    Alone alone;
    auto *value = alone.heap.NewArray<uint32_t>(1, 1);
    *value = 5;
    alone.heap.Retain(1);
    alone.heap.Retain(1);
    alone.heap.Free(1);
    alone.heap.Release(1);
    alone.heap.Free(1);
    CHECK(alone.log.CountOf(ReportCode::MemoryInUse) == 2);
    CHECK(alone.heap.StatisticsOf(1).allocations == 1);
    CHECK(*value == 5);
    alone.heap.Release(1);
    alone.heap.Free(1);
    CHECK(alone.log.Count() == 2);
    CHECK(alone.pool.BlocksInUse() == 0);
    alone.heap.Release(1);
    CHECK(alone.log.CountOf(ReportCode::BadOption) == 1);
}

TEST_CASE("TaggedHeap: invalid tags and alignments are reported", "[frame]") {
    Alone alone;
    CHECK(alone.heap.Allocate(4, 8) == nullptr);
    alone.heap.Free(4);
    alone.heap.Retain(99);
    alone.heap.Release(99);
    CHECK(alone.heap.StatisticsOf(4).blocks == 0);
    CHECK(alone.log.CountOf(ReportCode::BadOption) == 5);
    for (const size_t alignment : {size_t{0}, size_t{3}, 2 * kBlock})
        CHECK(alone.heap.Allocate(0, 8, alignment) == nullptr);
    CHECK(alone.log.CountOf(ReportCode::BadOption) == 8);
    CHECK(alone.pool.BlocksInUse() == 0);
    for (const uint32_t tags : {0u, TaggedHeap::kMaxTags + 1}) {
        TaggedHeap none(alone.scheduler, alone.WithLog(), alone.pool, tags);
        CHECK(none.Allocate(0, 8) == nullptr);
        none.Free(0);
        CHECK(none.TagCount() == 0);
        CHECK(none.Statistics().blocks == 0);
    }
    CHECK(alone.log.CountOf(ReportCode::BadOption) == 10);
}

TEST_CASE("TaggedHeap: tags that still own blocks are reported at its destruction", "[frame]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    const TaskScheduler scheduler;
    BlockPool pool(options, 8, kBlock);
    {
        TaggedHeap heap(scheduler, options, pool, 4);
        heap.Allocate(1, 100);
        heap.Allocate(3, 2 * kBlock);
        heap.Allocate(2, 8);
        heap.Free(2);
    }
    CHECK(log.CountOf(ReportCode::MemoryLeaked) == 2);
    CHECK(test::Names(log.Text(), "tag 1 has 100 bytes of 1 allocations in 1 blocks"));
    CHECK(test::Names(log.Text(), "tag 3 has"));
    CHECK(pool.BlocksInUse() == 0);
}

TEST_CASE("TaggedHeap: it allocates only in its constructor, and releases all", "[frame]") {
    test::HostMemory memory;
    SchedulerOptions options;
    memory.AttachTo(options.memory);
    {
        const TaskScheduler scheduler;
        BlockPool pool(options, 8, kBlock);
        TaggedHeap heap(scheduler, options, pool, 4);
        CHECK(memory.Allocations() == 3);
        for (int i = 0; i < 100; ++i) {
            heap.Allocate(i % 4, kBlock / 2);
            heap.Allocate(i % 4, kBlock + 1);
            heap.Free(i % 4);
        }
        CHECK(memory.Calls() == 3);
    }
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
}

TEST_CASE("TaggedHeap: without memory for its bookkeeping it reports, and Allocate fails",
          "[frame]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    const TaskScheduler scheduler;
    BlockPool pool(options, 8, kBlock);
    const test::FailingAllocation failing(0);
    TaggedHeap heap(scheduler, options, pool, 4);
    CHECK(log.CountOf(ReportCode::OutOfMemory) == 1);
    CHECK(heap.Allocate(0, 8) == nullptr);
    heap.Free(0);
    CHECK(log.Count() == 1);
}
