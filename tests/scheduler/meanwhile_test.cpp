// What a thread does while it waits.
#include "platform/compiler.h"
#include "support/quiet_run.h"
#include "support/threads.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// The calling thread. The compiler takes the result of std::this_thread::get_id for constant in a
// function, but a task may change its thread in each wait.
WEFT_NOINLINE std::thread::id ThisThread() {
    const std::atomic<std::thread::id> id(std::this_thread::get_id());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return id.load();
}

// Tasks that record whether they ran on the waiting thread.
struct Seen {
    explicit Seen(std::thread::id thread) : waiting(thread) {}
    void Note() {
        ran.fetch_add(1);
        if (ThisThread() == waiting) onWaiting.fetch_add(1);
    }
    const std::thread::id waiting;
    std::atomic<uint32_t> ran{0}, onWaiting{0};
};

}  // namespace

TEST_CASE("Meanwhile::OwnTasks: runs what its tasks wait for, also if that was submitted before",
          "[meanwhile]") {
    enum class Wait { Zero, Value, Any, Until, Chain, Deferred };
    const Wait kind =
        GENERATE(Wait::Zero, Wait::Value, Wait::Any, Wait::Until, Wait::Chain, Wait::Deferred);
    INFO(static_cast<int>(kind));
    test::Runner runner(test::Options(1));
    uint32_t strangers = 0, before = ~0u, ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter needed, second, own, others;
        test::Batch many(20, [&](TaskScheduler &, uint32_t) { ++strangers; });
        auto run = [&](TaskScheduler *) { ++ran; };
        auto runAfterOther = [&](TaskScheduler *running) {
            running->WaitForCounter(&needed);
            ++ran;
        };
        auto wait = [&](TaskScheduler *running) {
            Counter never(1), *const both[] = {&never, &needed};
            switch (kind) {
                case Wait::Zero:
                    return running->WaitForCounter(&needed);
                case Wait::Value:
                    return running->WaitForCounter(&needed, 1);
                case Wait::Any:
                    CHECK(running->WaitForAny(2, both) == 1);
                    return;
                case Wait::Until:
                    CHECK(WaitForCounterFor(*running, &needed, std::chrono::hours(1)));
                    return;
                default:
                    return running->WaitForCounter(&second);
            }
        };
        scheduler.AddTask(MakeTask(run), &needed);
        if (kind == Wait::Value) scheduler.AddTask(MakeTask(run), &needed);
        if (kind == Wait::Chain) scheduler.AddTask(MakeTask(runAfterOther), &second);
        if (kind == Wait::Deferred) AddTaskAfter(scheduler, &needed, 0, MakeTask(run), &second);
        scheduler.AddTasks(many.Count(), many.Tasks(), &others);
        scheduler.AddTask(MakeTask(wait), &own);
        scheduler.WaitForCounter(&own, Meanwhile::OwnTasks);
        before = strangers;
        scheduler.WaitForCounter(&others);
        scheduler.WaitForCounter(&needed);
    }) == Status::Ok);
    CHECK(before == 0);
    CHECK(strangers == 20);
    CHECK(ran == (kind < Wait::Chain && kind != Wait::Value ? 1 : 2));
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("Meanwhile: waits of attached and external threads", "[meanwhile][attach]") {
    const Meanwhile meanwhile = GENERATE(Meanwhile::Nothing, Meanwhile::HighOnly);
    test::Started runner(test::Options(2));
    for (const bool attached : {true, false}) {
        INFO(attached);
        std::thread host([&] {
            if (attached) CHECK(runner.scheduler.AttachThread() == Status::Ok);
            Seen seen(ThisThread());
            test::Batch batch(50, [&](TaskScheduler &, uint32_t) { seen.Note(); });
            Counter counter;
            runner.scheduler.AddTasks(batch.Count(), batch.Tasks(), &counter);
            runner.scheduler.WaitForCounter(&counter, meanwhile);
            CHECK(seen.ran.load() == 50);
            CHECK(seen.onWaiting.load() == 0);
            if (attached) runner.scheduler.DetachThread();
        });
        host.join();
    }
    runner.StopQuietly();
}

TEST_CASE("Meanwhile: the only worker begins no task of lower priority", "[meanwhile]") {
    for (const Priority lowest : {Priority::High, Priority::Normal}) {
        for (const bool isOutside : {false, true}) {
            INFO(static_cast<int>(lowest) << " " << isOutside);
            SchedulerOptions options = test::Options(1);
            // The external thread may be delayed between its submissions.
            options.stallMilliseconds = 60'000;
            test::RunQuietly(options, [&](TaskScheduler &scheduler) {
                std::atomic<uint32_t> ran[3] = {};
                Counter event(1), rest;
                const auto note = [&](Priority priority) {
                    ran[static_cast<uint32_t>(priority)].fetch_add(1);
                    if (priority == lowest) scheduler.DecrementCounter(&event);
                };
                // If the worker began lower tasks, it would begin them while these tasks yield.
                const auto yield = [&](TaskScheduler *running, Priority priority) {
                    for (int i = 0; i < 3; ++i) running->Yield();
                    note(priority);
                };
                auto high = [&](TaskScheduler *running) { yield(running, Priority::High); };
                auto normal = [&](TaskScheduler *running) { yield(running, Priority::Normal); };
                auto low = [&](TaskScheduler *) { note(Priority::Low); };
                auto pinned = [&](TaskScheduler *) { ran[2].fetch_add(1); };
                const auto submit = [&] {
                    const uint32_t worker = isOutside ? 0 : scheduler.CurrentWorker();
                    scheduler.AddTask(MakeTask(pinned), &rest, {Priority::Low, worker, nullptr});
                    scheduler.AddTask(MakeTask(low), &rest, test::kLow);
                    if (lowest == Priority::Normal) scheduler.AddTask(MakeTask(normal), &rest);
                    scheduler.AddTask(MakeTask(high), &rest, test::kHigh);
                };
                std::thread outside;
                if (!isOutside) submit();
                if (isOutside) outside = std::thread(submit);
                scheduler.WaitForCounter(&event, lowest == Priority::High
                                                     ? Meanwhile::HighOnly
                                                     : Meanwhile::NormalOrHigher);
                CHECK(ran[static_cast<uint32_t>(lowest)].load() == 1);
                CHECK(ran[2].load() == 0);
                if (outside.joinable()) outside.join();
                scheduler.WaitForCounter(&rest);
                CHECK(ran[0].load() == 1);
                CHECK(ran[1].load() == (lowest == Priority::Normal ? 1 : 0));
                CHECK(ran[2].load() == 2);
            });
        }
    }
}

TEST_CASE("Meanwhile: the waiter lends its priority to the tasks that it waits for",
          "[meanwhile]") {
    uint32_t ran = 0, ranBefore = 0;  // `ranBefore`: when the wait ended
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        test::Batch batch(10, [&](TaskScheduler &, uint32_t) { ++ran; });
        auto waiter = [&](TaskScheduler *running) {
            Counter counter;
            running->AddTasks(batch.Count(), batch.Tasks(), &counter);
            running->WaitForCounter(&counter, Meanwhile::HighOnly);
            ranBefore = ran;
        };
        Counter done;
        scheduler.AddTask(MakeTask(waiter), &done, test::kHigh);
        scheduler.WaitForCounter(&done);
    });
    CHECK(ranBefore == 10);
}

TEST_CASE("report Stalled: all workers wait, and none may run the awaited task",
          "[meanwhile][stall]") {
    const Meanwhile meanwhile =
        GENERATE(Meanwhile::Nothing, Meanwhile::HighOnly, Meanwhile::OwnTasks);
    const bool hasBegun = GENERATE(false, true);
    SchedulerOptions options = test::Options(1);
    options.stallMilliseconds = 10;
    test::Runner runner(options);
    Counter byHand(1);
    std::thread rescuer([&] {
        while (runner.log.CountOf(ReportCode::Stalled) == 0) std::this_thread::yield();
        runner.scheduler.DecrementCounter(&byHand);
    });
    std::atomic<uint32_t> ran{0};
    Counter event(1);
    test::Batch task(1, [&](TaskScheduler &scheduler, uint32_t) {
        if (hasBegun) scheduler.WaitForCounter(&event);
        ran.fetch_add(1);
    });
    runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasks(1, task.Tasks());
        if (hasBegun) scheduler.Yield();
        scheduler.DecrementCounter(&event);
        scheduler.WaitForCounter(&byHand, meanwhile);
        CHECK(ran.load() == 0);
    });
    rescuer.join();
    CHECK(ran.load() == 1);
    CHECK(runner.log.CountOf(ReportCode::Stalled) == 1);
    CHECK(test::Names(runner.log.First(ReportCode::Stalled).hint, "Meanwhile"));
    CHECK(runner.log.Count() == 1);
}
