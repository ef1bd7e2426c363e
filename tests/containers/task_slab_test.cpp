#include "containers/task_slab.h"

#include "support/failing_allocation.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

void Fill(Task *first, uint32_t count, uintptr_t value) {
    for (uint32_t i = 0; i < count; ++i) first[i] = {nullptr, reinterpret_cast<void *>(value)};
}

bool Holds(const Task *first, uint32_t count, uintptr_t value) {
    for (uint32_t i = 0; i < count; ++i) {
        if (first[i].arg != reinterpret_cast<void *>(value)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("slab: runs in use do not overlap", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    std::vector<Task *> runs;
    for (uint32_t i = 0; i < 200; ++i) {
        Task *run = slab.Take(1 + i % TaskSlab::kMaxRun);
        REQUIRE(run != nullptr);
        Fill(run, 1 + i % TaskSlab::kMaxRun, i);
        runs.push_back(run);
    }
    for (uint32_t i = 0; i < 200; ++i) CHECK(Holds(runs[i], 1 + i % TaskSlab::kMaxRun, i));
}

TEST_CASE("slab: runs that were given back are reused without new memory", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    const test::FailingAllocation failing(0);
    for (int i = 0; i < 1000; ++i) {
        Task *run = slab.Take(64);
        REQUIRE(run != nullptr);
        slab.GiveBack(run, 10);
        slab.GiveBack(run + 10, 54);  // in two pieces
    }
    CHECK(!failing.HasFailed());
}

TEST_CASE("slab: nothing is allocated while others hold all blocks but one", "[slab]") {
    for (uint32_t blocks : {2u, 5u}) {
        TaskSlab slab, thief;
        REQUIRE(slab.Acquire(blocks));
        REQUIRE(thief.Acquire());
        const test::FailingAllocation failing(0);
        std::vector<Task *> held;
        Task *last = nullptr;  // the run that was held last: its block is held, too
        const auto isOfThatBlock = [&](const Task *run) {
            return last != nullptr && run > last &&
                   run < last + TaskSlab::kBlockBytes / sizeof(Task);
        };
        for (int i = 0; i < 1000; ++i) {
            Task *run = slab.Take(255);
            REQUIRE(run != nullptr);
            if (held.size() + 1 < blocks && !isOfThatBlock(run)) {
                held.push_back(last = run);
            } else {
                slab.GiveBack(run, 255);
            }
        }
        CHECK(held.size() == blocks - 1);
        CHECK(!failing.HasFailed());
        for (Task *run : held) thief.GiveBack(run, 255);
        thief.FlushOthers();
    }
}

TEST_CASE("slab: a block is not reused while a slice of it is in use", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    Task *pinned = slab.Take(8);
    Fill(pinned, 8, 4711);
    slab.GiveBack(pinned, 7);  // one of its tasks still runs
    for (int i = 0; i < 5000; ++i) {
        Task *run = slab.Take(64);
        REQUIRE(run != nullptr);
        REQUIRE((run + 64 <= pinned || run >= pinned + 8));
        Fill(run, 64, 1);
        slab.GiveBack(run, 64);
    }
    CHECK(Holds(pinned + 7, 1, 4711));
    slab.GiveBack(pinned + 7, 1);
}

TEST_CASE("slab: the ring does not grow without bound while one task stays in use", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    const int64_t before = test::OutstandingAllocations();
    Task *pinned = slab.Take(1);
    for (int i = 0; i < 20000; ++i) slab.GiveBack(slab.Take(64), 64);
    CHECK(test::OutstandingAllocations() <= before + 2);
    slab.GiveBack(pinned, 1);
}

TEST_CASE("slab: the ring grows while all runs are in use, and all of it is reused", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    int64_t afterFirst = 0;
    for (int round = 0; round < 5; ++round) {
        std::vector<Task *> runs;
        for (int i = 0; i < 100; ++i) {
            runs.push_back(slab.Take(64));
            REQUIRE(runs.back() != nullptr);
        }
        CHECK(std::set<Task *>(runs.begin(), runs.end()).size() == 100);
        for (Task *run : runs) slab.GiveBack(run, 64);
        if (round == 0) afterFirst = test::OutstandingAllocations();
        CHECK(test::OutstandingAllocations() <= afterFirst + 1);
    }
}

TEST_CASE("slab: Take returns null without memory, and works again later", "[slab]") {
    TaskSlab slab;
    REQUIRE(slab.Acquire());
    std::vector<Task *> runs;
    {
        const test::FailingAllocation failing(0);
        for (Task *run; (run = slab.Take(64)) != nullptr;) runs.push_back(run);
        CHECK(failing.HasFailed());
    }
    CHECK(runs.size() >= 10);
    CHECK(slab.Take(64) != nullptr);
    TaskSlab none;
    const test::FailingAllocation failing(0);
    CHECK(!none.Acquire());
}

// A thief gives back stolen tasks while the owner fills runs. The thief's last reads must come
// before the owner's next writes.
TEST_CASE("slab: tasks are overwritten only after a thief has given them back", "[slab]") {
    TaskSlab owner, thief;
    REQUIRE(owner.Acquire());
    REQUIRE(thief.Acquire());
    std::atomic<Task *> stolen{nullptr};
    std::atomic<bool> finished{false};
    std::atomic<uint64_t> wrong{0};
    std::thread thread([&] {
        while (!finished.load()) {
            Task *run = stolen.exchange(nullptr, std::memory_order_acquire);
            if (run == nullptr) {
                std::this_thread::yield();
                continue;
            }
            const uintptr_t expected = reinterpret_cast<uintptr_t>(run[0].arg);
            if (!Holds(run, 64, expected)) wrong.fetch_add(1);
            thief.GiveBack(run, 64);
        }
    });
    for (uintptr_t i = 1; i <= 20000; ++i) {
        Task *run = owner.Take(64);
        Fill(run, 64, i);
        Task *untaken = stolen.exchange(run, std::memory_order_acq_rel);
        if (untaken != nullptr) owner.GiveBack(untaken, 64);
    }
    while (stolen.load() != nullptr) std::this_thread::yield();
    finished.store(true);
    thread.join();
    CHECK(wrong.load() == 0);
}

TEST_CASE("slab: tasks that another worker gives back are free after it has flushed them",
          "[slab]") {
    TaskSlab owner, other;
    REQUIRE(owner.Acquire());
    REQUIRE(other.Acquire());
    Task *first = owner.Take(64);
    other.GiveBack(first, 60);
    other.GiveBack(first + 60, 4);
    CHECK(owner.Take(1) == first + 64);  // the owner does not know yet that the block is drained
    other.GiveBack(first + 64, 1);
    other.FlushOthers();
    CHECK(owner.Take(64) == first);  // the block is drained, so it is filled from its start

    const auto blockOf = [](const Task *task) {
        return reinterpret_cast<uintptr_t>(task) / TaskSlab::kBlockBytes;
    };
    std::vector<Task *> runs{first};
    std::set<uintptr_t> blocks{blockOf(first)};
    for (int i = 0; i < 64; ++i) {
        runs.push_back(owner.Take(64));
        blocks.insert(blockOf(runs.back()));
    }
    CHECK(blocks.size() > 3);
    for (Task *run : runs) other.GiveBack(run, 64);
    other.FlushOthers();
    for (int i = 0; i < 64; ++i) CHECK(blocks.count(blockOf(owner.Take(64))) == 1);
}

TEST_CASE("slab: HasRoom tells whether tasks fit without a new block", "[slab]") {
    TaskSlab slab, other;
    REQUIRE(slab.Acquire(14));
    uint32_t random = 1, fit = 0;
    const auto below = [&](uint32_t end) {
        return (random = random * 1664525 + 1013904223) / 65536 % end;
    };
    struct Run {
        Task *first;
        uint32_t count;
    };
    std::vector<Run> runs;
    constexpr uint32_t kTurns = 2000;
    for (uint32_t turn = 0; turn < kTurns; ++turn) {
        const uint32_t run = 1 + below(TaskSlab::kMaxRun), count = run * (1 + below(12000 / run));
        const bool hasRoom = slab.HasRoom(count, run);
        const test::FailingAllocation failing(0);
        for (uint32_t taken = 0; taken < count; taken += run) {
            Task *const first = slab.Take(run);
            if (first == nullptr) break;
            runs.push_back({first, run});
        }
        REQUIRE(failing.HasFailed() == !hasRoom);
        fit += hasRoom ? 1 : 0;
        // a few runs stay, now and then none
        const uint32_t kept = below(20) == 0 ? 0 : below(12);
        while (runs.size() > kept) {
            const size_t i = below(static_cast<uint32_t>(runs.size()));
            (below(2) == 0 ? slab : other).GiveBack(runs[i].first, runs[i].count);
            runs[i] = runs.back();
            runs.pop_back();
        }
        other.FlushOthers();
    }
    CHECK(fit > kTurns / 10);
    CHECK(fit < kTurns - kTurns / 10);
}
