// Fibers or memory run out.
#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/pages.h"
#include "support/quiet_run.h"
#include "support/stack_overflow.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("report BadOption: an incomplete pair of memory hooks", "[hooks]") {
    for (int missing = 0; missing < 4; ++missing) {
        test::HostMemory memory;
        SchedulerOptions options = test::Options(1);
        memory.AttachTo(options.memory);
        if (missing == 0) options.memory.allocate = nullptr;
        if (missing == 1) options.memory.release = nullptr;
        if (missing == 2) options.memory.reserveStacks = nullptr;
        if (missing == 3) options.memory.releaseStacks = nullptr;
        test::Runner runner(options);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::BadOption);
        CHECK(runner.scheduler.Start() == Status::BadOption);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, "SchedulerOptions::memory"));
        CHECK(test::Names(report.hint, missing < 2 ? "allocate" : "reserveStacks"));
        CHECK(memory.Calls() == 0);
    }
}

TEST_CASE("memory hooks: each call in turn returns null, and nothing leaks", "[hooks]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        int64_t failures = 0;
        for (; failures < 1000; ++failures) {
            test::HostMemory memory;
            SchedulerOptions options = test::Options(2, 6);
            memory.AttachTo(options.memory);
            memory.FailFrom(failures, 1);
            test::Runner runner(options);
            const Status status = life == test::Life::Run ? runner.Run([](TaskScheduler &) {})
                                                          : runner.scheduler.Start();
            if (life == test::Life::Start && status == Status::Ok) runner.scheduler.Stop();
            REQUIRE(memory.OutstandingBytes() == 0);
            REQUIRE(memory.Wrong() == 0);
            if (!memory.HasFailed()) break;
            REQUIRE(status == Status::OutOfMemory);
        }
        CHECK(failures > 10);
        CHECK(failures < 1000);
    }
}

TEST_CASE("memory hooks: memory without the alignment that weft asked for counts as no memory",
          "[hooks]") {
    struct Shifted {
        static void *Allocate(size_t bytes, size_t alignment, void *user) {
            auto &self = *static_cast<Shifted *>(user);
            char *memory = static_cast<char *>(test::AllocateAligned(bytes + alignment, alignment));
            if (alignment < self.from) return memory;
            ++self.shifted;
            return memory + 16;
        }
        static void Release(void *memory, size_t, size_t alignment, void *user) {
            auto &self = *static_cast<Shifted *>(user);
            if (alignment < self.from) return test::FreeAligned(memory);
            ++self.released;
            test::FreeAligned(static_cast<char *>(memory) - 16);
        }
        size_t from;
        uint32_t shifted = 0, released = 0;
    };
    // up to the largest alignment that weft asks for
    constexpr size_t kMost = 64;
    for (size_t from = 32; from <= kMost; from *= 2) {
        Shifted host{from};
        SchedulerOptions options = test::Options(1);
        options.memory.allocate = Shifted::Allocate;
        options.memory.release = Shifted::Release;
        options.memory.user = &host;
        test::Runner runner(options);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::OutOfMemory);
        CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).hint, "alignment"));
        CHECK(host.shifted > 0);
        CHECK(host.released == host.shifted);
    }
}

TEST_CASE("memory hooks: guard pages lie in the host's pages", "[hooks]") {
    const test::ChildResult child = test::RunInChild([=] {
        signal(SIGSEGV, SIG_DFL);
        test::HostMemory memory;
        SchedulerOptions options = test::Options(1, 8);
        memory.AttachTo(options.memory);
        TaskScheduler scheduler(options);
        scheduler.Run([](TaskScheduler *, void *) { test::OverflowStack(); });
    });
    CHECK(child.signal == SIGSEGV);
}

TEST_CASE("memory hooks: AttachThread without memory gives a status, and works again later",
          "[hooks]") {
    for (bool reports : {false, true}) {
        test::HostMemory memory;
        SchedulerOptions options = test::Options(1, 6);
        options.reportStackOverflow = reports;
        memory.AttachTo(options.memory);
        test::Started runner(options);
        int64_t failures = 0;
        test::Marks marks(20);
        std::thread([&] {
            for (; failures < 1000; ++failures) {
                memory.FailFrom(failures, 1);
                const Status status = runner.scheduler.AttachThread();
                if (status == Status::Ok) break;
                if (status != Status::OutOfMemory || runner.scheduler.CurrentWorker() != kAnyWorker)
                    return;
            }
            memory.FailFrom(INT64_MAX);
            runner.scheduler.AddTasksAndWait(20, marks.Tasks());
            runner.scheduler.DetachThread();
        }).join();
        runner.scheduler.Stop();
        CHECK(failures < 1000);
        CHECK(marks.Wrong() == 0);
        CHECK(memory.OutstandingBytes() == 0);
        CHECK(memory.Wrong() == 0);
        CHECK(runner.log.Text() == "");
    }
}

namespace {

// Keeps a worker busy until it is released.
struct Busy {
    std::atomic<bool> started{false}, released{false};
    test::Batch task{1, [this](TaskScheduler &, uint32_t) {
                         started.store(true);
                         test::SpinUntil([&] { return released.load(); });
                     }};
    bool Begin(TaskScheduler &scheduler) {
        scheduler.AddTask(task[0]);
        return test::SpinUntil([&] { return started.load(); });
    }
};

}  // namespace

TEST_CASE("posted tasks: any number, each runs once, and their memory is freed", "[exhaustion]") {
    for (bool pinned : {false, true}) {
        const int64_t before = test::OutstandingAllocations();
        test::HostQuietly(test::Options(1, 10), [&](TaskScheduler &scheduler) {
            for (int round = 0; round < 2; ++round) {
                // So many blocks that the pool has to grow.
                test::Marks batches(200 * 45), singles(4200);
                const TaskOptions options = pinned ? test::PinnedTo(0) : TaskOptions();
                Busy busy;
                CHECK(busy.Begin(scheduler));
                Counter counter;
                for (uint32_t i = 0; i < 200; ++i)
                    scheduler.AddTasks(45, batches.Tasks() + i * 45, &counter, options);
                for (uint32_t i = 0; i < 4200; ++i)
                    scheduler.AddTask(singles[i], &counter, options);
                CHECK(counter.Value() == 200 * 45 + 4200);
                busy.released.store(true);
                scheduler.WaitForCounter(&counter);
                CHECK(batches.Wrong() == 0);
                CHECK(singles.Wrong() == 0);
            }
        });
        CHECK(test::OutstandingAllocations() == before);
    }
}

TEST_CASE("report OutOfMemory: posting without memory is fatal", "[exhaustion]") {
    const bool pinned = GENERATE(false, true);
    const bool single = GENERATE(false, true);
    const test::ChildResult child = test::RunInChild([=] {
        test::Batch batch(30, [](TaskScheduler &, uint32_t) {});
        const TaskOptions options = pinned ? test::PinnedTo(0) : TaskOptions();
        TaskScheduler scheduler(test::Options(1));
        if (scheduler.Start() != Status::Ok) _exit(1);
        Busy busy;
        if (!busy.Begin(scheduler)) _exit(2);
        const test::FailingAllocation failing(0);
        // More blocks than the first segments have.
        for (uint32_t i = 0; i < 1000; ++i)
            scheduler.AddTasks(single ? 1 : batch.Count(), batch.Tasks(), nullptr, options);
        _exit(3);
    });
    INFO(child.output);
    CHECK(child.signal == SIGABRT);
    CHECK(test::Names(child.output, "weft: fatal: no memory to queue tasks"));
    CHECK(test::Names(child.output, "Give the process more memory"));
}
