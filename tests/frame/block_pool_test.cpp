#include "weft/frame/block_pool.h"

#include "frame/blocks.h"
#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/scheduler_run.h"
#include "weft/frame/tagged_heap.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using internal::Blocks;
using internal::kNoBlock;

namespace {

constexpr size_t kBytes = 4 << 10;

uint32_t Claim(const BlockPool &pool, uint32_t count = 1) {
    return Blocks::Claim(*Blocks::StateOf(pool), count, 0);
}
void Release(const BlockPool &pool, uint32_t first, uint32_t count = 1) {
    Blocks::Release(*Blocks::StateOf(pool), first, count);
}

}  // namespace

TEST_CASE("BlockPool: each block is claimed once, and again after its release", "[frame]") {
    for (const uint32_t blocks : {1u, 5u, 64u, 65u, 200u}) {
        const BlockPool pool({}, blocks, kBytes);
        REQUIRE(pool.BlockCount() == blocks);
        CHECK(pool.BlockBytes() == kBytes);
        std::vector<bool> given(blocks);
        for (uint32_t i = 0; i < blocks; ++i) {
            const uint32_t block = Claim(pool);
            REQUIRE(block < blocks);
            CHECK(!given[block]);
            given[block] = true;
            char *memory = Blocks::At(*Blocks::StateOf(pool), block);
            CHECK(reinterpret_cast<uintptr_t>(memory) % kBytes == 0);
            std::memset(memory, 1, kBytes);
        }
        CHECK(pool.BlocksInUse() == blocks);
        CHECK(Claim(pool) == kNoBlock);
        Release(pool, blocks / 2);
        CHECK(Claim(pool) == blocks / 2);
        for (uint32_t i = 0; i < blocks; ++i) Release(pool, i);
        CHECK(pool.BlocksInUse() == 0);
    }
}

TEST_CASE("BlockPool: consecutive blocks never overlap blocks in use", "[frame]") {
    const BlockPool pool({}, 70, kBytes);
    CHECK(Claim(pool, 64) == 0);
    CHECK(Claim(pool, 7) == kNoBlock);
    CHECK(Claim(pool, 6) == 64);
    CHECK(pool.BlocksInUse() == 70);
    Release(pool, 0, 64);
    const uint32_t first = Claim(pool), other = Claim(pool, 5);
    CHECK(first == 0);
    CHECK(other == 1);
    Release(pool, 0);
    CHECK(Claim(pool, 2) == 6);
    CHECK(Claim(pool) == 0);
    for (const uint32_t count : {58u, 57u}) CHECK(Claim(pool, count) == kNoBlock);
    CHECK(Claim(pool, 56) == 8);
    CHECK(Claim(pool) == kNoBlock);
    Release(pool, 0, 64);
    Release(pool, 64, 6);
}

TEST_CASE("BlockPool: options out of range are reported, and the pool has no blocks", "[frame]") {
    struct Wrong {
        uint32_t blocks;
        size_t bytes;
    };
    for (const Wrong &wrong :
         {Wrong{0, kBytes}, Wrong{BlockPool::kMaxBlocks + 1, kBytes}, Wrong{4, 0}, Wrong{4, 2048},
          Wrong{4, 5000}, Wrong{4, size_t{2} << 30}}) {
        test::ReportLog log;
        SchedulerOptions options;
        log.AttachTo(options);
        const BlockPool pool(options, wrong.blocks, wrong.bytes);
        CHECK(log.CountOf(ReportCode::BadOption) == 1);
        CHECK(pool.BlockCount() == 0);
        CHECK(pool.BlocksInUse() == 0);
    }
}

TEST_CASE("BlockPool: an incomplete pair of memory hooks is reported, and the pool has no blocks",
          "[frame]") {
    for (const bool allocates : {true, false}) {
        test::ReportLog log;
        test::HostMemory memory;
        SchedulerOptions options;
        log.AttachTo(options);
        memory.AttachTo(options.memory);
        if (allocates) options.memory.release = nullptr;
        if (!allocates) options.memory.allocate = nullptr;
        {
            BlockPool pool(options, 8, kBytes);
            CHECK(pool.BlockCount() == 0);
            const TaskScheduler scheduler;
            // The heap takes its bookkeeping from the same memory hooks.
            TaggedHeap heap(scheduler, options, pool, 4);
            CHECK(heap.TagCount() == 0);
        }
        CHECK(log.Count() == 1);
        CHECK(test::Names(log.First(ReportCode::BadOption).what,
                          "SchedulerOptions::memory is not complete"));
        CHECK(memory.Calls() == 0);
    }
}

TEST_CASE("BlockPool: its memory is two allocations of the host, and is released", "[frame]") {
    test::HostMemory memory;
    SchedulerOptions options;
    memory.AttachTo(options.memory);
    {
        const BlockPool pool(options, 8, 64 << 10);
        CHECK(memory.Allocations() == 2);
        CHECK(memory.OutstandingBytes() >= 8 * (64 << 10));
    }
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
}

TEST_CASE("BlockPool: without memory it reports, and has no blocks", "[frame]") {
    for (int64_t nth = 0; nth < 3; ++nth) {
        test::ReportLog log;
        SchedulerOptions options;
        log.AttachTo(options);
        const int64_t before = test::OutstandingAllocations();
        {
            const test::FailingAllocation failing(nth);
            const BlockPool pool(options, 8, kBytes);
            CHECK(failing.HasFailed() == (nth < 2));
            CHECK(log.CountOf(ReportCode::OutOfMemory) == (nth < 2 ? 1 : 0));
            CHECK(pool.BlockCount() == (nth < 2 ? 0 : 8));
        }
        CHECK(test::OutstandingAllocations() == before);
    }
}

TEST_CASE("BlockPool: blocks still in use are reported at its destruction", "[frame]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    {
        const BlockPool pool(options, 8, kBytes);
        Claim(pool, 3);
    }
    CHECK(log.CountOf(ReportCode::MemoryLeaked) == 1);
    CHECK(test::Names(log.Text(), "3 of 8"));
}

TEST_CASE("BlockPool: threads never own the same block at the same time", "[frame]") {
    const BlockPool pool({}, 70, kBytes);
    std::atomic<uint32_t> wrong{0};
    const auto work = [&](uint32_t id) {
        for (uint32_t i = 0; i < 20000; ++i) {
            const uint32_t count = 1 + (i + id) % 9;
            const uint32_t first = Claim(pool, count);
            if (first == kNoBlock) continue;
            auto *value =
                reinterpret_cast<uint32_t *>(Blocks::At(*Blocks::StateOf(pool), first + count - 1));
            *value = id;  // plain: ThreadSanitizer has to find the order in Claim and Release
            if (*value != id) ++wrong;
            Release(pool, first, count);
        }
    };
    std::vector<std::thread> threads;
    for (uint32_t id = 0; id < 3; ++id) threads.emplace_back(work, id);
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(pool.BlocksInUse() == 0);
}
