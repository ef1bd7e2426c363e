// Stack overflows and other faults on Windows, where handlers are vectored. The other tests are in
// tests/scheduler/faults_test.cpp.
#include "platform/windows_api.h"
#include "support/child_process.h"
#include "support/quiet_run.h"
#include "support/stack_overflow.h"
#include "support/threads.h"
#include "weft/describe_fault.h"

#include <atomic>
#include <cstdio>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

void Overflows(TaskScheduler *, void *) { test::OverflowStack(); }

SchedulerOptions WithFaults(uint32_t workers, bool reports = true) {
    SchedulerOptions options = test::Options(workers, 20);
    options.reportStackOverflow = reports;
    return options;
}

// The crash handler of a host. It is installed before weft's handler, so it is called after it.
LONG CALLBACK Host(EXCEPTION_POINTERS *fault) {
    const EXCEPTION_RECORD &record = *fault->ExceptionRecord;
    char text[256];
    const auto address = reinterpret_cast<const void *>(record.ExceptionInformation[1]);
    DescribeFault(address, text, sizeof text);
    std::fprintf(stderr, "host: %s", text);
    std::fflush(stderr);
    TerminateProcess(GetCurrentProcess(), record.ExceptionCode == STATUS_STACK_OVERFLOW ? 7 : 8);
    return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

TEST_CASE(
    "stack overflow on Windows: a previous handler is called, after the report if there is one",
    "[faults][overflow]") {
    for (bool reports : {false, true}) {
        const test::ChildResult child = test::RunInChild([=] {
            AddVectoredExceptionHandler(1, Host);
            TaskScheduler scheduler(WithFaults(2, reports));
            scheduler.Start();
            scheduler.AddTask({Overflows, nullptr}, nullptr,
                              {Priority::Normal, kAnyWorker, "greedy"});
            scheduler.Stop();
        });
        INFO(child.output);
        CHECK(child.code == 7);  // the system calls it a stack overflow
        CHECK(test::Names(child.output, "weft: fatal: stack overflow of fiber ") == reports);
        CHECK(test::Names(child.output, "host: stack overflow of fiber "));
        CHECK(test::Names(child.output, "task 'greedy'"));
    }
}

TEST_CASE(
    "stack overflow on Windows: other faults are not reported, and go to the previous handler",
    "[faults][overflow]") {
    for (bool before : {false, true}) {
        const test::ChildResult child = test::RunInChild([=] {
            if (before) AddVectoredExceptionHandler(1, Host);
            TaskScheduler scheduler(WithFaults(1));
            scheduler.Run([](TaskScheduler *, void *) {
                volatile uintptr_t nowhere = 64;
                *reinterpret_cast<volatile char *>(nowhere) = 1;
            });
        });
        CHECK(child.code == (before ? 8 : 0));
        CHECK((child.signal != 0) == !before);
        CHECK(child.output == (before ? "host: " : ""));
    }
}

TEST_CASE("stack overflow on Windows: after the run, weft's handler is gone",
          "[faults][overflow]") {
    const test::ChildResult child = test::RunInChild([] {
        for (int round = 0; round < 2; ++round) {
            TaskScheduler first(WithFaults(2)), second(WithFaults(1));
            first.Start();
            second.Run([](TaskScheduler *, void *) {});
            first.Stop();
        }
        // This scheduler does not report overflows, and no other scheduler runs.
        TaskScheduler scheduler(WithFaults(1, false));
        scheduler.Run(Overflows);
    });
    CHECK(child.signal != 0);
    CHECK(child.output == "");
}

namespace {

// Each frame has several pages. They are touched one after the other when the function begins.
uint32_t DeepInLargeFrames(uint32_t depth) {
    volatile char frame[24 << 10];
    frame[0] = static_cast<char>(depth);
    const uint32_t below = depth == 0 ? 0 : DeepInLargeFrames(depth - 1);
    return below + static_cast<unsigned char>(frame[0]);
}

// Throws through large frames, on a stack that other tasks have used before.
uint32_t ThrowFrom(uint32_t depth) {
    volatile char frame[3000];
    frame[0] = 1;
    if (depth == 0) throw depth + 1;
    return ThrowFrom(depth - 1) + static_cast<unsigned char>(frame[0]);
}

}  // namespace

TEST_CASE("fiber stacks on Windows: large frames, and exceptions held across waits",
          "[faults][overflow]") {
    std::atomic<uint32_t> wrong{0}, caught{0};
    test::Batch leaves(4, [&](TaskScheduler &scheduler, uint32_t) { scheduler.Yield(); });
    test::Batch batch(200, [&](TaskScheduler &scheduler, uint32_t) {
        wrong.fetch_add(DeepInLargeFrames(10) != 55);  // uses 264 of 512 KiB
        for (int round = 0; round < 3; ++round) {
            try {
                ThrowFrom(20);
            } catch (uint32_t value) {
                wrong.fetch_add(value != 1);
                scheduler.AddTasksAndWait(4, leaves.Tasks());
                try {
                    throw;  // the same exception, perhaps on another thread
                } catch (uint32_t again) {
                    caught.fetch_add(again);
                }
            }
        }
    });
    test::RunMayStall(test::Options(4, 40), [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 10; ++round) scheduler.AddTasksAndWait(200, batch.Tasks());
    });
    CHECK(wrong.load() == 0);
    CHECK(caught.load() == 6000);
}
