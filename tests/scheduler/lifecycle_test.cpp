#include "weft/task_scheduler.h"

#include "platform/sanitizers.h"
#include "platform/thread.h"
#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/pages.h"
#include "support/quiet_run.h"
#include "support/threads.h"
#include "support/variable.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#if !defined(_WIN32)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("Run runs the main task and returns on the calling thread", "[lifecycle][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        for (int round = 0; round < 5; ++round) {
            test::Runner runner(point);
            uint32_t runs = 0, worker = kAnyWorker;
            std::thread::id mainThread;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                ++runs;
                worker = scheduler.CurrentWorker();
                mainThread = std::this_thread::get_id();
            }) == Status::Ok);
            CHECK(runs == 1);
            CHECK(worker == 0);  // the caller is worker 0
            CHECK(mainThread == std::this_thread::get_id());
            CHECK(TaskScheduler::Current() == nullptr);
        }
    }
}

TEST_CASE("Run again after Run; stacks and fibers do not leak", "[lifecycle]") {
    const SchedulerOptions options = test::Options(3, 43);
    test::Runner runner(options);
    uint32_t failed = 0;
    test::Marks marks(20);
    const auto run = [&] {
        failed += runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(20, marks.Tasks());
        }) != Status::Ok;
    };
    const int64_t allocations = test::OutstandingAllocations();
    for (int i = 0; i < 5; ++i) run();
    const uint32_t mappings = test::Mappings();
    const size_t bytes = test::VirtualBytes();
    for (int i = 0; i < 40; ++i) run();
    CHECK(failed == 0);
    CHECK(marks.Wrong(45) == 0);
    CHECK(test::Mappings() <= mappings + 20);
    REQUIRE(bytes != 0);
    CHECK(test::VirtualBytes() < bytes + 10 * 43 * options.stackBytes);  // those of ten runs
    CHECK(test::OutstandingAllocations() == allocations);
    CHECK(runner.log.Text() == "");
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("a main task that throws ends the run", "[lifecycle]") {
    for (uint32_t workers : {1u, 2u}) {
        test::Runner runner(test::Options(workers));
        bool ran = false;
        CHECK(runner.Run([&](TaskScheduler &) {
            ran = true;
            throw std::runtime_error("main");
        }) == Status::Ok);
        CHECK(ran);
        CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 1);
        CHECK(runner.log.First(ReportCode::TaskThrew).task == "main");
    }
}
#endif

TEST_CASE("report BadOption: each option out of its range is named", "[lifecycle]") {
    struct Case {
        const char *name;
        const char *value;
        std::function<void(SchedulerOptions &)> spoil;
    };
    const Case cases[] = {
        {"structBytes", "is 8,", [](auto &o) { o.structBytes = 8; }},
        {"workers", "is 0,", [](auto &o) { o.workers = 0; }},
        {"workers", "is 1025,", [](auto &o) { o.workers = 1025; }},
        {"fibers", "is 1000001,", [](auto &o) { o.fibers = 1000001; }},
        {"stallMilliseconds", "is 60001,", [](auto &o) { o.stallMilliseconds = 60001; }},
        {"stopGraceMilliseconds", "is 60001,", [](auto &o) { o.stopGraceMilliseconds = 60001; }},
        {"stackBytes", "is 16383,", [](auto &o) { o.stackBytes = (16 << 10) - 1; }},
        {"threadStackBytes", "is 65535,", [](auto &o) { o.threadStackBytes = (64 << 10) - 1; }},
        {"maxAttached", "is 0,", [](auto &o) { o.maxAttached = 0; }},
        {"pendingTasks", "is 65537,", [](auto &o) { o.pendingTasks = 65537; }},
        {"threadNice", "is -21,", [](auto &o) { o.threadNice = -21; }},
        {"threadSliceMicroseconds", "is 99,", [](auto &o) { o.threadSliceMicroseconds = 99; }},
        {"idle", "is 3,", [](auto &o) { o.idle = static_cast<IdlePolicy>(3); }},
    };
    for (const Case &spoiled : cases) {
        INFO(spoiled.name);
        SchedulerOptions options = test::Options(2);
        spoiled.spoil(options);
        test::Runner runner(options);
        bool ran = false;
        CHECK(runner.Run([&](TaskScheduler &) { ran = true; }) == Status::BadOption);
        CHECK(!ran);
        REQUIRE(runner.log.Count() == 1);
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, std::string("SchedulerOptions::") + spoiled.name));
        CHECK(test::Names(report.what, spoiled.value));
        CHECK(report.hint != "");
        CHECK(!report.fatal);
    }
}

TEST_CASE("the smallest values of all options work", "[lifecycle]") {
    SchedulerOptions options;
    options.workers = 1;
    options.fibers = 2;
    options.threadStackBytes = 64 << 10;
#if !defined(WEFT_DEBUG)
    options.stackBytes = 16 << 10;
#endif
    test::Marks marks(100);
    test::RunQuietly(
        options, [&](TaskScheduler &scheduler) { scheduler.AddTasksAndWait(100, marks.Tasks()); });
    CHECK(marks.Wrong() == 0);
}

TEST_CASE("fault: start-up fails half-way. Each allocation in turn fails, and nothing leaks",
          "[lifecycle]") {
    const auto check = [](uint32_t pendingTasks) {
        for (int64_t failures = 0;; ++failures) {
            SchedulerOptions options = test::Options(3, 6);
            options.pendingTasks = pendingTasks;
            options.reportStackOverflow = pendingTasks != 0;
            test::Runner runner(options);
            const int64_t before = test::OutstandingAllocations();
            bool ran = false;
            const test::FailingAllocation failing(failures, 1);
            const Status status = runner.Run([&](TaskScheduler &) { ran = true; });
            REQUIRE(test::OutstandingAllocations() == before);
            REQUIRE(ran == (status == Status::Ok));
            // the only report, and it says what the memory was for
            REQUIRE(runner.log.Count() == (status == Status::Ok ? 0u : 1u));
            if (!failing.HasFailed()) return failures;
            REQUIRE(status == Status::OutOfMemory);
            REQUIRE(
                test::Names(runner.log.First(ReportCode::OutOfMemory).what,
                            "the scheduler cannot start: there is no memory for the queues of 3"));
        }
    };
    const int64_t allocations = check(0);
    CHECK(allocations > 10);
    CHECK(check(1000) > allocations + 10);
}

// Sanitizers need the address space for themselves. Windows sets no limit to it.
#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN) && !defined(_WIN32)
TEST_CASE(
    "fault: start-up fails half-way. If a thread cannot be created, the main task does not run",
    "[lifecycle][address_space]") {
    const test::ChildResult child = test::RunInChild([] {
        constexpr size_t kStack = size_t{256} << 20;
        SchedulerOptions options = test::Options(16, 18);
        options.threadStackBytes = kStack;
        static int s_reports = 0;
        options.onReport = [](const Report &report, void *) {
            ++s_reports;
            if (report.code != ReportCode::BadOption || report.fatal) _exit(2);
            if (!test::Names(report.what, " of 16, with a stack of 268435456 bytes")) _exit(5);
        };
        const rlimit some{test::VirtualBytes() + 6 * kStack, RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &some);
        static std::atomic<bool> ran{false};
        for (int round = 0; round < 100; ++round) {
            TaskScheduler scheduler(options);
            const Status status = scheduler.Run([](TaskScheduler *, void *) { ran.store(true); });
            if (status != Status::ThreadFailed) _exit(3);
            if (ran.load()) _exit(4);
            if (s_reports != round + 1) _exit(6);
        }
    });
    CHECK(child.exited);
    CHECK(child.code == 0);
}
#endif

TEST_CASE("WorkerCount is by default the number of usable CPUs, or the quota if it is smaller",
          "[lifecycle]") {
    const uint32_t quota = env::CpuQuota() != 0 ? env::CpuQuota() : env::UsableCpus();
    const uint32_t expected = std::min(env::UsableCpus(), quota);
    CHECK(TaskScheduler().WorkerCount() == expected);
    CHECK(TaskScheduler(test::Options(5)).WorkerCount() == 5);
    test::Runner runner(test::Options(kAnyWorker));
    uint32_t inside = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) { inside = scheduler.WorkerCount(); }) ==
          Status::Ok);
    CHECK(inside == expected);
}

TEST_CASE("WEFT_WORKERS in the environment is the default number of workers", "[lifecycle]") {
    const test::Variable variable("WEFT_WORKERS", "3");
    CHECK(TaskScheduler().WorkerCount() == 3);
    CHECK(TaskScheduler(test::Options(5)).WorkerCount() == 5);
    test::Runner runner(test::Options(kAnyWorker));
    uint32_t inside = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) { inside = scheduler.WorkerCount(); }) ==
          Status::Ok);
    CHECK(inside == 3);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("report BadOption: WEFT_WORKERS is ignored if it is no number of workers",
          "[lifecycle]") {
    const uint32_t expected = TaskScheduler().WorkerCount();
    for (const char *value : {"0", "1025", "-1", "2x", " 2", "two", "99999999999"}) {
        const test::Variable variable("WEFT_WORKERS", value);
        test::Runner runner(test::Options(kAnyWorker));
        CHECK(runner.scheduler.WorkerCount() == expected);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
        CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "WEFT_WORKERS"));
        // This one does not ask for the default.
        test::RunQuietly(test::Options(2), [](TaskScheduler &) {});
    }
}
