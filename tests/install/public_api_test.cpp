// Calls all that the public headers declare, from outside of the library. A function that a shared
// library does not export fails to link.

#include <weft/blocking/blocking_calls.h>
#include <weft/task_scheduler.h>

#include <catch2/catch.hpp>

#include <atomic>

namespace {

struct Results {
    std::atomic<uint32_t> ran{0}, reports{0};
    weft::TaskScheduler *current = nullptr;
    uint32_t worker = 0, fiber = 0, workers = 0, first = 0;
    bool polled = false;
};

void Increment(weft::TaskScheduler *, void *arg) { static_cast<Results *>(arg)->ran.fetch_add(1); }

void Main(weft::TaskScheduler *scheduler, void *arg) {
    Results &results = *static_cast<Results *>(arg);
    const weft::Task task{Increment, arg};
    const weft::Task tasks[2] = {task, task};

    weft::Counter counter, second, byHand(1);
    scheduler->AddTask(task, &counter);
    scheduler->AddTasks(2, tasks, &second);
    scheduler->AddTasksAndWait(2, tasks);
    weft::Counter *const both[2] = {&counter, &second};
    scheduler->WaitForAll(2, both);
    scheduler->WaitForCounter(&counter, 0, weft::ResumeOn::SameWorker);
    results.polled = scheduler->PollCounter(&counter) && counter.IsZero() && second.Value() == 0;

    scheduler->IncrementCounter(&byHand);
    scheduler->DecrementCounter(&byHand, 2);
    weft::Counter *const one[1] = {&byHand};
    results.first = scheduler->WaitForAny(1, one);

    auto callable = [&](weft::TaskScheduler *) { results.ran.fetch_add(1); };
    const weft::Task ofCallable = weft::MakeTask(callable);
    scheduler->AddTasksAndWait(1, &ofCallable, {weft::Priority::High});

    {
        weft::BlockingCalls calls(*scheduler);
        results.ran.fetch_add(calls.Run([] { return 1u; }));
        auto count = [&] { results.ran.fetch_add(1); };
        weft::BlockingCall call = weft::MakeBlockingCall(count);
        calls.Submit(call);
        if (calls.ThreadCount() == 0 || calls.LastError() != weft::Status::Ok)
            results.reports.fetch_add(1);
    }

    scheduler->SetActiveWorkers(1);
    scheduler->RunPinnedTasks();
    scheduler->Yield();
    scheduler->WaitIdle();
    results.current = weft::TaskScheduler::Current();
    results.worker = scheduler->CurrentWorker();
    results.fiber = scheduler->CurrentFiber();
    results.workers = scheduler->WorkerCount();
}

weft::SchedulerOptions Options(Results *results) {
    weft::SchedulerOptions options;
    options.workers = 2;
    options.user = results;
    options.onReport = [](const weft::Report &, void *user) {
        static_cast<Results *>(user)->reports.fetch_add(1);
    };
    return options;
}

void Check(const Results &results, const weft::TaskScheduler &scheduler) {
    CHECK(results.ran == 8);
    CHECK(results.reports == 0);
    CHECK(results.current == &scheduler);
    CHECK(results.fiber != weft::kAnyWorker);
    CHECK(results.workers == 2);
    CHECK(results.first == 0);
    CHECK(results.polled);
}

}  // namespace

TEST_CASE("public API: all declarations can be used in a main task", "[public_api]") {
    Results results;
    weft::TaskScheduler scheduler(Options(&results));
    REQUIRE(scheduler.Run(Main, &results) == weft::Status::Ok);
    Check(results, scheduler);
    CHECK(weft::TaskScheduler::Current() == nullptr);
}

TEST_CASE("public API: all declarations can be used beside a main loop", "[public_api]") {
    Results results;
    weft::TaskScheduler scheduler(Options(&results));
    REQUIRE(scheduler.Start() == weft::Status::Ok);
    CHECK(scheduler.AttachThread() == weft::Status::Ok);
    CHECK(scheduler.CurrentWorker() == 2);
    scheduler.DetachThread();

    weft::Counter counter;
    scheduler.AddTask({Main, &results}, &counter);
    scheduler.WaitForCounter(&counter);
    scheduler.Stop();
    Check(results, scheduler);
}

TEST_CASE("public API: a mistake is reported", "[public_api]") {
    Results results;
    weft::TaskScheduler scheduler(Options(&results));
    weft::Counter counter;
    scheduler.AddTask({Increment, &results}, &counter);
    CHECK(results.reports == 1);
    CHECK(counter.IsZero());
}
