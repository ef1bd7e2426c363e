#include "weft/algorithms/parallel_invoke.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

uint32_t Fibonacci(TaskScheduler &scheduler, uint32_t n) {
    if (n < 2) return n;
    uint32_t left = 0, right = 0;
    ParallelInvoke(
        scheduler, [&] { left = Fibonacci(scheduler, n - 1); },
        [&] { right = Fibonacci(scheduler, n - 2); });
    return left + right;
}

// Two functions that meet: each returns when the other one has begun.
struct Meeting {
    std::atomic<uint32_t> begun{0}, missed{0};
    void operator()() {
        ++begun;
        missed += !test::SpinUntil([&] { return begun >= 2; });
    }
};

}  // namespace

TEST_CASE("ParallelInvoke: each function is called once", "[parallel_invoke][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t calls[5] = {}, scheduled = 0, fibonacci = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            ParallelInvoke(scheduler, [&] { ++calls[0]; });
            ParallelInvoke(
                scheduler, [&] { ++calls[1]; },
                [&](TaskScheduler *running) { scheduled += running == &scheduler; },
                [&] {
                    scheduler.Yield();
                    ++calls[2];
                },
                [&] { ++calls[3]; }, [&] { return ++calls[4]; });
            fibonacci = Fibonacci(scheduler, 12);
        }) == Status::Ok);
        for (const uint32_t count : calls) CHECK(count == 1);
        CHECK(scheduled == 1);
        CHECK(fibonacci == 144);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelInvoke: two workers run two functions at the same time", "[parallel_invoke]") {
    test::Runner runner(test::Options(2));
    Meeting meeting;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelInvoke(scheduler, meeting, meeting);
    }) == Status::Ok);
    CHECK(meeting.begun == 2);
    CHECK(meeting.missed == 0);
}

TEST_CASE("ParallelInvoke: the calling task takes part", "[parallel_invoke]") {
    // Only the caller can run the functions: the other worker is busy.
    test::Runner runner(test::Options(2));
    std::atomic<bool> busy{false}, done{false};
    bool held = false, released = false;
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        auto hold = [&](TaskScheduler *) {
            busy = true;
            released = test::SpinUntil([&] { return done.load(); });
        };
        Counter holds;
        scheduler.AddTask(MakeTask(hold), &holds);
        held = test::SpinUntil([&] { return busy.load(); });
        ParallelInvoke(
            scheduler, [&] { ++ran; }, [&] { ++ran; });
        done = true;
        scheduler.WaitForCounter(&holds);
    }) == Status::Ok);
    CHECK(held);
    CHECK(ran == 2);
    CHECK(released);
}

TEST_CASE("ParallelInvoke: functions are not copied", "[parallel_invoke]") {
    struct Once {
        explicit Once(std::atomic<uint32_t> *total) : ran(total) {}
        Once(const Once &) = delete;
        void operator()() const { ++*ran; }
        std::atomic<uint32_t> *ran;
    };
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const Once once(&ran);
        Once other(&ran);
        ParallelInvoke(scheduler, once, other, Once(&ran));
    }) == Status::Ok);
    CHECK(ran == 3);
}

TEST_CASE("ParallelInvoke: its tasks have the options", "[parallel_invoke]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> elsewhere{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskOptions options = test::Named("both");
        options.worker = 1;
        const auto look = [&] { elsewhere += scheduler.CurrentWorker() != 1; };
        ParallelInvoke(scheduler, options, look, look);
        options.worker = kAnyWorker;
        const auto fail = [&](TaskScheduler *running) { running->DecrementCounter(nullptr); };
        ParallelInvoke(scheduler, options, fail);
    }) == Status::Ok);
    CHECK(elsewhere == 0);
    CHECK(runner.log.Count() == 1);
    CHECK(runner.log.First(ReportCode::NullCounter).task == "both");
}

TEST_CASE("ParallelInvoke: attached and external threads may call it", "[parallel_invoke]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        std::atomic<uint32_t> ran{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  ParallelInvoke(
                      scheduler, [&] { ++ran; }, [&] { ++ran; });
                  if (scheduler.AttachThread() != Status::Ok) return;
                  ParallelInvoke(
                      scheduler, [&] { ++ran; }, [&] { ++ran; });
                  scheduler.DetachThread();
              }) == Status::Ok);
        CHECK(ran == 4);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelInvoke: the first exception is thrown to the caller when all have returned",
          "[parallel_invoke]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> running{0}, begun{0};
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t turn = 0; turn < 200; ++turn) {
            std::string what;
            begun = 0;
            try {
                ParallelInvoke(
                    scheduler,
                    [&] {
                        ++running;
                        ++begun;
                        scheduler.Yield();
                        --running;
                    },
                    [&] {
                        ++begun;
                        if (turn % 2 == 0) throw std::string("two");
                    },
                    [&] { ++begun; });
            } catch (const std::string &thrown) {
                what = thrown;
            }
            wrong += running != 0;
            wrong += what != (turn % 2 == 0 ? "two" : "");
            wrong += turn % 2 != 0 && begun != 3;
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("ParallelInvoke: after an exception, functions that have not begun are left out",
          "[parallel_invoke]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK_THROWS_AS(ParallelInvoke(
                            scheduler, [&] { ++ran; }, [&] { throw ++ran; }, [&] { ++ran; }),
                        uint32_t);
    }) == Status::Ok);
    CHECK(ran == 2);
}

TEST_CASE("ParallelInvoke: noexcept if all functions are", "[parallel_invoke]") {
    TaskScheduler *none = nullptr;
    const auto quiet = []() noexcept {};
    const auto quietInTask = [](TaskScheduler *) noexcept {};
    const auto loud = [] {};
    static_assert(noexcept(ParallelInvoke(*none, quiet, quietInTask)));
    static_assert(noexcept(ParallelInvoke(*none, TaskOptions{}, quiet)));
    static_assert(!noexcept(ParallelInvoke(*none, quiet, loud)));
    static_cast<void>(none);
}

TEST_CASE("ParallelInvoke: after a report nothing is called", "[parallel_invoke][report]") {
    test::Runner runner(test::Options(2));
    const auto never = [] { std::abort(); };
    ParallelInvoke(runner.scheduler, never, never);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskOptions options;
        options.worker = 99;
        ParallelInvoke(scheduler, options, never, never);
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
    CHECK(runner.log.Count() == 2);
}
