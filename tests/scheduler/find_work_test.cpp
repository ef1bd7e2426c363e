#include "weft/task_scheduler.h"

#include "support/scheduler_run.h"
#include "sync/mix.h"

#include <atomic>
#include <chrono>
#include <string>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// A task that submits itself again and again until `stop` is set.
struct Endless {
    TaskOptions options;
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> runs{0};
    std::atomic<bool> gaveUp{false};
    const std::chrono::steady_clock::time_point deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);

    static void Run(TaskScheduler *scheduler, void *arg) {
        Endless *self = static_cast<Endless *>(arg);
        if (self->runs.fetch_add(1) % 1024 == 0 &&
            std::chrono::steady_clock::now() > self->deadline) {
            self->gaveUp.store(true);
        }
        if (!self->gaveUp.load() && !self->stop.load())
            scheduler->AddTask({Run, self}, nullptr, self->options);
    }
};

}  // namespace

TEST_CASE("priorities: High tasks run first, Low tasks last", "[find_work][one_worker]") {
    test::OneThread thread;  // its picks are the same each time
    REQUIRE(thread.IsFit());
    TaskScheduler &scheduler = thread.Scheduler();
    std::string order;
    test::Batch items(3, [&](TaskScheduler &, uint32_t i) { order += "HNL"[i]; });
    Counter counter;
    scheduler.AddTask(items[2], &counter, test::kLow);
    scheduler.AddTask(items[1], &counter);
    scheduler.AddTask(items[0], &counter, test::kHigh);
    scheduler.Yield();  // a wait would run the newest task inline first
    scheduler.WaitForCounter(&counter);
    CHECK(order == "HNL");
}

TEST_CASE("priorities: Normal tasks run while High ones keep coming", "[find_work]") {
    Endless high{test::kHigh};
    test::Batch normal(1, [&](TaskScheduler &, uint32_t) { high.stop.store(true); });
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        scheduler.AddTask({Endless::Run, &high}, nullptr, test::kHigh);
        scheduler.AddTask(normal[0]);
    }) == Status::Ok);
    CHECK(!high.gaveUp.load());
}

TEST_CASE("find work: new tasks run while fibers become ready again and again", "[find_work]") {
    const ResumeOn resume = GENERATE(ResumeOn::AnyWorker, ResumeOn::SameWorker);
    const Priority priority = GENERATE(Priority::High, Priority::Normal, Priority::Low);
    INFO((resume == ResumeOn::AnyWorker ? "AnyWorker" : "SameWorker")
         << ", priority " << static_cast<int>(priority));
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> rounds{0};
    constexpr uint32_t kLimit = 20'000'000;
    Counter turns[2];
    // Two fibers wake each other again and again.
    test::Batch players(2, [&](TaskScheduler &scheduler, uint32_t i) {
        while (!stop.load() && rounds.fetch_add(1) < kLimit) {
            scheduler.IncrementCounter(&turns[i]);
            if (!turns[1 - i].IsZero()) scheduler.DecrementCounter(&turns[1 - i]);
            scheduler.WaitForCounter(&turns[i], 0, resume);
        }
        if (!turns[1 - i].IsZero()) scheduler.DecrementCounter(&turns[1 - i]);
    });
    test::Batch newTask(1, [&](TaskScheduler &, uint32_t) { stop.store(true); });
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTasks(2, players.Tasks(), &counter);
        test::YieldUntil(scheduler, [&] { return rounds.load() > 2; });
        scheduler.AddTask(newTask[0], &counter, {priority});
        // A wait for another value than 0 runs no task inline.
        scheduler.WaitForCounter(&counter, 2);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(stop.load());
    CHECK(rounds.load() < kLimit);
}
