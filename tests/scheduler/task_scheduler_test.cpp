#include "weft/task_scheduler.h"

#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>
#include <string>
#include <thread>

#include <signal.h>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("identity: Current, CurrentWorker and CurrentFiber", "[task_scheduler][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        // some schedulers have a fiber more for each worker and attached thread
        const uint32_t most = point.fibers + point.workers + SchedulerOptions().maxAttached;
        std::atomic<uint32_t> wrong{0};
        test::Batch nothing(2, [](TaskScheduler &, uint32_t) {});
        test::Batch batch(50, [&](TaskScheduler &scheduler, uint32_t) {
            const uint32_t fiber = scheduler.CurrentFiber();
            for (int i = 0; i < 5; ++i) {
                wrong.fetch_add(TaskScheduler::Current() != &scheduler ||
                                scheduler.CurrentWorker() >= point.workers ||
                                scheduler.CurrentFiber() != fiber || fiber >= most);
                if (i % 2 == 0) {
                    scheduler.Yield();
                } else {
                    scheduler.AddTasksAndWait(2, nothing.Tasks());
                }
            }
        });
        CHECK(runner.scheduler.CurrentWorker() == kAnyWorker);
        CHECK(runner.scheduler.CurrentFiber() == kAnyWorker);
        CHECK(TaskScheduler::Current() == nullptr);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(50, batch.Tasks());
        }) == Status::Ok);
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("identity: MaxConcurrency is above the index of each worker and attached thread",
          "[task_scheduler]") {
    SchedulerOptions options = test::Options(3);
    options.maxAttached = 2;
    test::Runner runner(options);
    CHECK(runner.scheduler.MaxConcurrency() == 5);  // it does not run yet
    uint32_t inside = 0, attached = 0, index = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        inside = scheduler.MaxConcurrency();
        std::thread([&] {
            if (scheduler.AttachThread() != Status::Ok) return;
            attached = scheduler.MaxConcurrency();
            index = scheduler.CurrentWorker();
            scheduler.DetachThread();
        }).join();
    }) == Status::Ok);
    CHECK(inside == 5);
    CHECK(attached == 5);
    CHECK(index == 3);
    CHECK(runner.log.Text() == "");
    CHECK(TaskScheduler().MaxConcurrency() == TaskScheduler().WorkerCount() + 8);
    test::Started single(test::Options(0));
    CHECK(single.scheduler.MaxConcurrency() == 1);
    CHECK(single.scheduler.AttachThread() == Status::Ok);
    CHECK(single.scheduler.CurrentWorker() == 0);
    single.scheduler.DetachThread();
    single.scheduler.Stop();
}

TEST_CASE("MakeTask refers to a callable", "[task_scheduler]") {
    test::Runner runner(test::Options(2));
    int calls = 0;
    TaskScheduler *seen = nullptr;
    auto callable = [&](TaskScheduler *scheduler) {
        ++calls;
        seen = scheduler;
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const Task task = MakeTask(callable);
        scheduler.AddTasksAndWait(1, &task);
    }) == Status::Ok);
    CHECK(calls == 1);
    CHECK(seen == &runner.scheduler);
}

TEST_CASE("report NullTask: a batch with a null function has no effect", "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> ran{0};
    uint32_t value = 1;
    test::Batch good(2, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        const Task tasks[3] = {good[0], {nullptr, nullptr}, good[1]};
        scheduler.AddTasks(3, tasks, &counter);
        scheduler.AddTasks(2, nullptr, &counter);
        scheduler.AddTasksAndWait(3, tasks);
        scheduler.AddTask({nullptr, nullptr}, &counter);
        value = counter.Value();
        scheduler.AddTasks(0, nullptr, &counter);  // nothing to submit, and no mistake
        scheduler.AddTasksAndWait(0, nullptr);
    }) == Status::Ok);
    CHECK(ran.load() == 0);
    CHECK(value == 0);
    CHECK(runner.log.Count() == 4);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 4);
    const test::LoggedReport report = runner.log.First(ReportCode::NullTask);
    CHECK(test::Names(report.what, "AddTasks: task 1 has a null function"));
    CHECK(test::Names(report.hint, "function"));
    CHECK(report.task == "main");
    CHECK(!report.fatal);
    CHECK(runner.scheduler.Run(nullptr) == Status::BadOption);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 5);
}

TEST_CASE("report NullCounter: names the call", "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.WaitForCounter(nullptr);
        scheduler.IncrementCounter(nullptr);
        scheduler.DecrementCounter(nullptr);
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::NullCounter) == 3);
    for (const char *call : {"WaitFor", "Increment", "Decrement"})
        CHECK(test::Names(runner.log.Text(), std::string(call) + "Counter: null"));
}

TEST_CASE("report NotRunning: a call while the scheduler does not run has no effect",
          "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    Counter counter(3);
    runner.scheduler.IncrementCounter(&counter);
    runner.scheduler.DecrementCounter(&counter);
    CHECK(counter.Value() == 3);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 2);
    CHECK(test::Names(runner.log.First(ReportCode::NotRunning).what, "IncrementCounter"));
    CHECK(test::Names(runner.log.First(ReportCode::NotRunning).hint, "Run"));
    CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);
    runner.scheduler.DecrementCounter(&counter);
    CHECK(counter.Value() == 3);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
}

TEST_CASE("report NotAWorker: calls that only workers may make, from another thread",
          "[task_scheduler]") {
    test::Runner runner(test::Options(2));
    uint32_t ran = 1;
    const auto callAll = [&] {
        runner.scheduler.Yield();
        ran = runner.scheduler.RunPinnedTasks();
        runner.scheduler.SetPriority(Priority::Low);
    };
    CHECK(runner.Run([&](TaskScheduler &) { std::thread(callAll).join(); }) == Status::Ok);
    CHECK(ran == 0);
    CHECK(runner.log.Count() == 3);
    CHECK(runner.log.CountOf(ReportCode::NotAWorker) == 3);
    for (const char *call : {"Yield was", "RunPinnedTasks was", "SetPriority was"})
        CHECK(test::Names(runner.log.Text(), call));
}

TEST_CASE("report NotRunning: calls that only workers may make, before and after the run",
          "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    const Task task = {[](TaskScheduler *, void *) {}, nullptr};
    for (size_t reports : {4u, 8u}) {
        runner.scheduler.Yield();
        CHECK(runner.scheduler.RunPinnedTasks() == 0);
        runner.scheduler.SetPriority(Priority::Low);
        runner.scheduler.AddChildTasks(1, &task);
        CHECK(runner.log.CountOf(ReportCode::NotRunning) == reports);
        CHECK(runner.log.Count() == reports);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);
    }
    for (const char *call : {"Yield was", "RunPinnedTasks was", "SetPriority was", "AddChildTasks"})
        CHECK(test::Names(runner.log.Text(), call));
}

TEST_CASE("report NotRunning: submitting and waiting while the scheduler does not run",
          "[task_scheduler]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0};
    Counter counter;
    test::Batch batch(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    for (size_t reports : {5u, 10u}) {
        runner.scheduler.AddTask(batch[0], &counter);
        runner.scheduler.AddTasksAndWait(1, batch.Tasks());
        runner.scheduler.WaitForCounter(&counter);
        runner.scheduler.WaitIdle();
        CHECK(runner.scheduler.AttachThread() == Status::NotRunning);
        CHECK(runner.log.CountOf(ReportCode::NotRunning) == reports);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);
    }
    CHECK(ran.load() == 0);
    CHECK(counter.Value() == 0);
    for (const char *call : {"AddTasks was", "AddTasksAndWait was", "WaitForCounter was",
                             "WaitIdle was", "AttachThread was"}) {
        CHECK(test::Names(runner.log.Text(), call));
    }
}

TEST_CASE("fault: counter underflow is reported and has no effect", "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    uint32_t value = 0;
    bool waited = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter(2);
        scheduler.DecrementCounter(&counter, 3);
        value = counter.Value();
        scheduler.DecrementCounter(&counter, 2);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&counter);
        waited = true;
    }) == Status::Ok);
    CHECK(value == 2);
    CHECK(waited);
    CHECK(runner.log.CountOf(ReportCode::CounterUnderflow) == 2);
    const test::LoggedReport report = runner.log.First(ReportCode::CounterUnderflow);
    CHECK(test::Names(report.what, "stands at 2 and was to be lowered by 3"));
    CHECK(test::Names(report.hint, "Lower a counter only by what was added"));
}

TEST_CASE(
    "report CounterOverflow: an addition past 2^32 - 1 has no effect, and its tasks do not run",
    "[task_scheduler]") {
    test::Runner runner(test::Options(1));
    uint32_t value = 0;
    std::atomic<uint32_t> ran{0};
    test::Batch batch(2, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    Counter counter(0xffffffffu - 1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.IncrementCounter(&counter, 2);
        scheduler.AddTasks(2, batch.Tasks(), &counter);
        value = counter.Value();
        scheduler.IncrementCounter(&counter, 1);
    }) == Status::Ok);
    CHECK(ran.load() == 0);
    CHECK(value == 0xffffffffu - 1);
    CHECK(counter.Value() == 0xffffffffu);
    CHECK(runner.log.CountOf(ReportCode::CounterOverflow) == 2);
    CHECK(test::Names(runner.log.First(ReportCode::CounterOverflow).what, "2^32 - 1"));
    CHECK(test::Names(runner.log.First(ReportCode::CounterOverflow).hint, "several counters"));
}

TEST_CASE("fault: counter used with two schedulers is reported by each call, and has no effect",
          "[task_scheduler]") {
    test::Runner outer(test::Options(1, 10)), inner(test::Options(1, 10));
    Counter counter;
    uint32_t value = 0;
    std::atomic<uint32_t> ran{0};
    bool returned = false;
    test::Batch batch(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    Status innerStatus = Status::BadOption;
    CHECK(outer.Run([&](TaskScheduler &scheduler) {
        scheduler.IncrementCounter(&counter, 2);
        innerStatus = inner.Run([&](TaskScheduler &other) {
            other.IncrementCounter(&counter);
            other.DecrementCounter(&counter);
            other.AddTask(batch[0], &counter);
            other.WaitForCounter(&counter);
            returned = true;
        });
        value = counter.Value();
        scheduler.DecrementCounter(&counter, 2);
        // A counter at zero belongs to no scheduler.
        innerStatus = inner.Run([&](TaskScheduler &other) {
            other.AddTask(batch[0], &counter);
            other.WaitForCounter(&counter);
        });
    }) == Status::Ok);
    CHECK(innerStatus == Status::Ok);
    CHECK(returned);
    CHECK(value == 2);
    CHECK(ran.load() == 1);
    CHECK(outer.log.Text() == "");
    CHECK(inner.log.Count() == 4);
    CHECK(inner.log.CountOf(ReportCode::WrongScheduler) == 4);
    CHECK(test::Names(inner.log.First(ReportCode::WrongScheduler).hint, "counters of its own"));
}

TEST_CASE("fault: nested Run. A task runs another scheduler", "[task_scheduler][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner outer(point), inner(point);
        std::atomic<uint32_t> leaves{0};
        uint32_t wrong = 0, good = 0;
        test::Batch leaf(20, [&](TaskScheduler &, uint32_t) { leaves.fetch_add(1); });
        CHECK(outer.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(20, leaf.Tasks());
            for (int i = 0; i < 3; ++i) {
                const Status status = inner.Run([&](TaskScheduler &other) {
                    other.AddTasksAndWait(20, leaf.Tasks());
                    wrong += TaskScheduler::Current() != &inner.scheduler;
                    other.Yield();
                });
                good += status == Status::Ok;
                wrong += TaskScheduler::Current() != &outer.scheduler;
                scheduler.AddTasksAndWait(20, leaf.Tasks());
                scheduler.Yield();
            }
        }) == Status::Ok);
        CHECK(good == 3);
        CHECK(wrong == 0);
        CHECK(leaves.load() == 7 * 20);
        CHECK(outer.log.Text() + inner.log.Text() == "");
    }
}

#if !defined(_WIN32)

namespace {

std::atomic<uint32_t> s_signals{0};

void OnSignal(int) { s_signals.fetch_add(1); }

}  // namespace

TEST_CASE("fault: signals on fiber stacks", "[task_scheduler]") {
    struct sigaction action {
    }, before{};
    action.sa_handler = OnSignal;
    REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
    s_signals.store(0);
    test::Runner runner(test::Options(3));
    std::atomic<uint32_t> ran{0}, met{0}, late{0};
    const auto raises = [&](TaskScheduler &scheduler, uint32_t i) {
        raise(SIGUSR1);
        if (i % 4 == 0) scheduler.Yield();
        raise(SIGUSR1);
        ran.fetch_add(1);
    };
    test::Batch batch(97, raises);
    test::Batch meeting(3, [&](TaskScheduler &scheduler, uint32_t i) {  // all workers take part
        met.fetch_add(1);
        late.fetch_add(!test::SpinUntil([&] { return met.load() == 3; }));
        raises(scheduler, i);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasks(97, batch.Tasks());
        scheduler.AddTasksAndWait(3, meeting.Tasks());
    }) == Status::Ok);
    sigaction(SIGUSR1, &before, nullptr);
    CHECK(ran.load() == 100);
    CHECK(late.load() == 0);
    CHECK(s_signals.load() == 200);
    CHECK(runner.log.Text() == "");
}

#endif

TEST_CASE("fault: two schedulers live at once in two threads", "[task_scheduler]") {
    std::atomic<uint32_t> ran[2]{}, wrong{0}, good{0};
    test::Runner runners[2] = {test::Runner(test::Options(3, 44)),
                               test::Runner(test::Options(2, 5))};
    const auto use = [&](int which) {
        test::Batch leaf(5, [&](TaskScheduler &scheduler, uint32_t) {
            wrong.fetch_add(TaskScheduler::Current() != &runners[which].scheduler ||
                            &scheduler != TaskScheduler::Current());
            ran[which].fetch_add(1);
        });
        test::Batch batch(1, [&](TaskScheduler &scheduler, uint32_t) {
            scheduler.AddTasksAndWait(5, leaf.Tasks());
        });
        for (int round = 0; round < 10; ++round) {
            const Status status = runners[which].Run([&](TaskScheduler &scheduler) {
                for (int i = 0; i < 40; ++i) scheduler.AddTasksAndWait(1, batch.Tasks());
            });
            good.fetch_add(status == Status::Ok);
        }
    };
    std::thread second(use, 1);
    use(0);
    second.join();
    CHECK(good.load() == 20);
    CHECK(wrong.load() == 0);
    CHECK(ran[0].load() == 2000);
    CHECK(ran[1].load() == 2000);
    CHECK(runners[0].log.Text() + runners[1].log.Text() == "");
}
