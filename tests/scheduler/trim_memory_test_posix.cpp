// TrimMemory gives back memory that a scheduler needed only for a while.
#include "weft/hooks.h"

#include "support/pages.h"
#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>

#include <sys/mman.h>

using namespace weft;

namespace {

bool TrimUntil(TaskScheduler &scheduler, const std::function<bool()> &done) {
    return done() || test::SpinUntil([&] {
               TrimMemory(scheduler);
               return done();
           });
}

// A host that knows how much memory weft has from it, and how many pages of the stacks are in use.
class CountingHost {
public:
    explicit CountingHost(SchedulerOptions &options) {
        MemoryHooks &hooks = options.memory;
        hooks.user = this;
        hooks.allocate = [](size_t bytes, size_t alignment, void *user) {
            static_cast<CountingHost *>(user)->m_bytes.fetch_add(bytes);
            return test::AllocateAligned(bytes, alignment);
        };
        hooks.release = [](void *memory, size_t bytes, size_t, void *user) {
            static_cast<CountingHost *>(user)->m_bytes.fetch_sub(bytes);
            test::FreeAligned(memory);
        };
        hooks.reserveStacks = [](size_t bytes, void *user) {
            CountingHost &self = *static_cast<CountingHost *>(user);
            self.m_stacks.push_back({test::MapPages(bytes), bytes});
            return self.m_stacks.back().pages;
        };
        hooks.releaseStacks = [](void *memory, size_t bytes, void *) {
            test::UnmapPages(memory, bytes);
        };
    }

    size_t Bytes() const { return m_bytes.load(); }
    size_t StackPages() const {
        size_t used = 0;
        for (const Stacks &stacks : m_stacks) {
            std::vector<unsigned char> pages(stacks.bytes / test::PageBytes());
            REQUIRE(mincore(stacks.pages, stacks.bytes, pages.data()) == 0);
            for (const unsigned char page : pages) used += page & 1;
        }
        return used;
    }

private:
    struct Stacks {
        void *pages;
        size_t bytes;
    };
    std::atomic<size_t> m_bytes{0};
    std::vector<Stacks> m_stacks;  // written by Start
};

// Writes to so much of the stack that a trimmed stack is far smaller.
constexpr size_t kDeep = 40 << 10;
void UseStack() {
    volatile unsigned char room[kDeep];
    for (size_t i = 0; i < kDeep; i += 512) room[i] = 1;
    static_cast<void>(room[0]);
}

}  // namespace

TEST_CASE("TrimMemory: the stacks of free fibers are given back", "[memory]") {
    constexpr uint32_t kWaiters = 100;
    SchedulerOptions options = test::Options(2);
    options.stallMilliseconds = 60000;
    CountingHost host(options);
    test::Started runner(options);
    std::atomic<uint32_t> waiting{0};
    Counter gate(1), counter;
    test::Batch waits(kWaiters, [&](TaskScheduler &scheduler, uint32_t) {
        UseStack();
        waiting.fetch_add(1);
        scheduler.WaitForCounter(&gate);
    });
    runner.scheduler.AddTasks(kWaiters, waits.Tasks(), &counter);
    CHECK(test::SpinUntil([&] { return waiting.load() == kWaiters; }));
    runner.scheduler.DecrementCounter(&gate);
    runner.scheduler.WaitForCounter(&counter);
    const size_t before = host.StackPages();
    CHECK(before >= kWaiters * (kDeep / test::PageBytes()));
    // A worker that is not asleep yet keeps what it holds.
    CHECK(TrimUntil(runner.scheduler, [&] { return host.StackPages() <= before / 2; }));
    runner.scheduler.AddTasks(kWaiters, waits.Tasks(), &counter);
    runner.scheduler.WaitForCounter(&counter);
    CHECK(waiting.load() == 2 * kWaiters);
    runner.StopQuietly();
}

TEST_CASE("TrimMemory: queues that have grown are given back", "[memory]") {
    constexpr uint32_t kBurst = 100000;
    SchedulerOptions options = test::Options(1);
    CountingHost host(options);
    test::Started runner(options);
    std::atomic<bool> isHeld{false}, isOver{false};
    std::atomic<uint32_t> ran{0};
    Counter counter;
    test::Batch holds(1, [&](TaskScheduler &, uint32_t) {
        isHeld.store(true);
        test::SpinUntil([&] { return isOver.load(); });
    });
    test::Batch burst(kBurst, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    runner.scheduler.AddTask(holds[0], &counter);
    CHECK(test::SpinUntil([&] { return isHeld.load(); }));
    const size_t before = host.Bytes();
    for (uint32_t i = 0; i < kBurst; i += 100)
        runner.scheduler.AddTasks(100, burst.Tasks() + i, &counter);
    isOver.store(true);
    runner.scheduler.WaitForCounter(&counter);
    const size_t most = host.Bytes();
    CHECK(most >= before + kBurst * sizeof(Task));
    CHECK(
        TrimUntil(runner.scheduler, [&] { return host.Bytes() <= before + (most - before) / 2; }));
    runner.scheduler.AddTasks(kBurst, burst.Tasks(), &counter);
    runner.scheduler.WaitForCounter(&counter);
    CHECK(ran.load() == 2 * kBurst);
    runner.StopQuietly();
}
