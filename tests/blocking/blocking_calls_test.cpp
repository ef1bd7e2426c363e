#include "weft/blocking/blocking_calls.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

bool OnWorker() { return TaskScheduler::Current() != nullptr; }

BlockingOptions AtMost(uint32_t threads) {
    BlockingOptions options;
    options.maxThreads = threads;
    return options;
}

struct NoDefault {
    explicit NoDefault(int given) : value(given) {}
    int value;
};

}  // namespace

TEST_CASE("blocking: calls run on no worker, and tasks get their results", "[blocking][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> wrong{0}, answered{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            BlockingCalls calls(scheduler, AtMost(3));
            test::Batch batch(40, [&](TaskScheduler &self, uint32_t i) {
                bool onWorker = true;
                const uint32_t answer = calls.Run([&] {
                    onWorker = OnWorker();
                    return i * 7;
                });
                wrong.fetch_add(onWorker || answer != i * 7 || self.CurrentWorker() == kAnyWorker);
                answered.fetch_add(1);
            });
            scheduler.AddTasksAndWait(40, batch.Tasks());
            wrong.fetch_add(calls.ThreadCount() < 1 || calls.ThreadCount() > 3 ||
                            calls.LastError() != Status::Ok);
        }) == Status::Ok);
        CHECK(answered.load() == 40);
        CHECK(wrong.load() == 0);
        // All fibers may wait for calls.
        CHECK(runner.log.CountOf(ReportCode::OutOfFibers) == runner.log.Count());
    }
}

TEST_CASE("blocking: results of every kind", "[blocking]") {
    test::Runner runner(test::Options(2));
    std::string text;
    std::unique_ptr<int> moved;
    int plain = 0, withoutDefault = 0, constant = 0;
    bool ran = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        text = calls.Run([] { return std::string(100, 'x'); });
        moved = calls.Run([] { return std::make_unique<int>(42); });
        withoutDefault = calls.Run([] { return NoDefault(43); }).value;
        const auto callable = [] { return 44; };
        constant = calls.Run(callable);
        calls.Run([&] { ran = true; });
        calls.Run([](void *arg) { *static_cast<int *>(arg) = 45; }, &plain);
    }) == Status::Ok);
    CHECK(text == std::string(100, 'x'));
    REQUIRE(moved != nullptr);
    CHECK(*moved == 42);
    CHECK(withoutDefault == 43);
    CHECK(constant == 44);
    CHECK(ran);
    CHECK(plain == 45);
}

TEST_CASE("blocking: a callable can return errno", "[blocking]") {
    test::Runner runner(test::Options(1));
    int error = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        error =
            calls.Run([] { return std::fopen("/no folder/no file", "rb") != nullptr ? 0 : errno; });
    }) == Status::Ok);
    CHECK(error == ENOENT);
}

TEST_CASE("blocking: the only worker runs tasks while calls block", "[blocking]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> computed{0}, met{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, AtMost(4));
        test::Batch waiting(4, [&](TaskScheduler &, uint32_t) {
            met.fetch_add(
                calls.Run([&] { return test::SpinUntil([&] { return computed.load() == 50; }); }));
        });
        test::Batch computing(50, [&](TaskScheduler &, uint32_t) { computed.fetch_add(1); });
        Counter counter;
        scheduler.AddTasks(4, waiting.Tasks(), &counter);
        scheduler.AddTasks(50, computing.Tasks(), &counter, test::kLow);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(met.load() == 4);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("blocking: an attached thread runs tasks while it waits for a call", "[blocking]") {
    for (uint32_t workers : {0u, 1u}) {
        test::Runner runner(test::Options(workers));
        TaskScheduler &scheduler = runner.scheduler;
        REQUIRE(scheduler.Start() == Status::Ok);
        REQUIRE(scheduler.AttachThread() == Status::Ok);
        {
            BlockingCalls calls(scheduler);
            std::atomic<uint32_t> computed{0}, nested{0};
            test::Batch computing(10, [&](TaskScheduler &, uint32_t) {
                nested.fetch_add(calls.Run([] { return OnWorker() ? 0u : 1u; }));
                computed.fetch_add(1);
            });
            Counter counter;
            scheduler.AddTasks(10, computing.Tasks(), &counter);
            CHECK(
                calls.Run([&] { return test::SpinUntil([&] { return computed.load() == 10; }); }));
            CHECK(nested.load() == 10);
            CHECK(scheduler.CurrentWorker() != kAnyWorker);
            scheduler.WaitForCounter(&counter);
        }
        scheduler.DetachThread();
        scheduler.Stop();
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("blocking: an external thread makes the call itself, even if nothing runs",
          "[blocking]") {
    test::Runner runner(test::Options(1));
    BlockingCalls calls(runner.scheduler);
    const auto isHere = [&] {
        return calls.Run([] { return std::this_thread::get_id(); }) == std::this_thread::get_id();
    };
    CHECK(isHere());
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    CHECK(isHere());
    runner.scheduler.Stop();
    CHECK(isHere());
    CHECK(calls.ThreadCount() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("blocking: a task of another scheduler makes the call itself", "[blocking]") {
    test::Runner runner(test::Options(1)), other(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    TaskScheduler *seen = nullptr;
    {
        BlockingCalls calls(runner.scheduler);
        CHECK(other.Run([&](TaskScheduler &) {
            seen = calls.Run([] { return TaskScheduler::Current(); });
        }) == Status::Ok);
    }
    CHECK(seen == &other.scheduler);
    runner.scheduler.Stop();
}

TEST_CASE("blocking: a call may submit tasks to its scheduler and wait for them", "[blocking]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        test::Batch batch(20, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        calls.Run([&] { scheduler.AddTasksAndWait(20, batch.Tasks()); });
        calls.Run([&] { calls.Run([&] { ran.fetch_add(1); }); });
    }) == Status::Ok);
    CHECK(ran.load() == 21);
}

TEST_CASE("blocking: submitted calls are counted, and begin in order", "[blocking]") {
    test::Runner runner(test::Options(1));
    std::vector<uint32_t> order;
    uint32_t atWait = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, AtMost(1));
        struct Noting {
            std::vector<uint32_t> *order;
            uint32_t number;
            std::optional<BlockingCall> call;
        };
        std::vector<Noting> notings(100);
        Counter counter;
        for (uint32_t i = 0; i < 100; ++i) {
            notings[i].order = &order;
            notings[i].number = i;
            notings[i].call.emplace(
                [](void *arg) {
                    const Noting &noting = *static_cast<Noting *>(arg);
                    // There is one thread, so only it uses `order`.
                    noting.order->push_back(noting.number);
                },
                &notings[i]);
            calls.Submit(*notings[i].call, &counter);
        }
        scheduler.WaitForCounter(&counter);
        atWait = static_cast<uint32_t>(order.size());
    }) == Status::Ok);
    CHECK(atWait == 100);
    for (uint32_t i = 0; i < order.size(); ++i) CHECK(order[i] == i);
}

TEST_CASE("blocking: a call may be submitted again, or be freed, once it has begun", "[blocking]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> made{0}, again{0}, freed{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, AtMost(2));
        Counter counter;
        auto count = [&] { made.fetch_add(1); };
        BlockingCall call = MakeBlockingCall(count);
        for (int i = 0; i < 100; ++i) {
            again.fetch_add(calls.Submit(call, &counter) == Status::Ok);
            scheduler.WaitForCounter(&counter);
        }
        struct Own {
            BlockingCall call{Free, this};
            std::atomic<uint32_t> *freed = nullptr;
            static void Free(void *self) {
                static_cast<Own *>(self)->freed->fetch_add(1);
                delete static_cast<Own *>(self);
            }
        };
        for (int i = 0; i < 100; ++i) {
            Own *own = new Own;
            own->freed = &freed;
            calls.Submit(own->call, i % 2 == 0 ? &counter : nullptr);
        }
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(made.load() == 100);
    CHECK(again.load() == 100);
    CHECK(freed.load() == 100);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("blocking: unsynchronised threads submit one call in turn", "[blocking]") {
    test::Runner runner(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    std::atomic<uint32_t> made{0};
    auto count = [&] { made.fetch_add(1, std::memory_order_relaxed); };
    BlockingCall call = MakeBlockingCall(count);
    {
        BlockingCalls calls(runner.scheduler, AtMost(2));
        test::Threads submitters(2, [&](uint32_t) {
            for (int i = 0; i < 100; ++i)
                while (calls.Submit(call) != Status::Ok) std::this_thread::yield();
        });
    }
    runner.scheduler.Stop();
    CHECK(made.load() == 200);
}

TEST_CASE("blocking: many threads submit at once, and no call is lost", "[blocking]") {
    for (uint32_t threads : {1u, 2u, 16u}) {
        test::Runner runner(test::Options(2));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        std::atomic<uint32_t> made{0}, wrong{0};
        {
            BlockingCalls calls(runner.scheduler, AtMost(threads));
            auto count = [&] { made.fetch_add(1); };
            test::Batch batch(100, [&](TaskScheduler &, uint32_t) { calls.Run(count); });
            Counter counter;
            runner.scheduler.AddTasks(100, batch.Tasks(), &counter);
            test::Threads submitters(4, [&](uint32_t) {
                Counter own;
                BlockingCall call = MakeBlockingCall(count);
                for (int i = 0; i < 50; ++i) {
                    wrong.fetch_add(calls.Submit(call, &own) != Status::Ok);
                    runner.scheduler.WaitForCounter(&own);
                }
            });
            submitters.Join();
            runner.scheduler.WaitForCounter(&counter);
        }
        runner.scheduler.Stop();
        CHECK(made.load() == 300);
        CHECK(wrong.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("blocking: invalid calls return a status and have no effect", "[blocking]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> made{0};
    Status null = Status::Ok, nullCall = Status::Ok, twice = Status::Ok;
    uint32_t counted = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, AtMost(1));
        null = calls.Run(nullptr, nullptr);
        Counter counter, first;
        BlockingCall nothing(nullptr, nullptr);
        nullCall = calls.Submit(nothing, &counter);
        counted = counter.Value();

        std::atomic<bool> go{false};
        auto hold = [&] { test::SpinUntil([&] { return go.load(); }); };
        auto count = [&] { made.fetch_add(1); };
        BlockingCall holding = MakeBlockingCall(hold), counting = MakeBlockingCall(count);
        calls.Submit(holding, &first);
        calls.Submit(counting, &first);
        twice = calls.Submit(counting, &counter);  // waits behind `holding`
        counted += counter.Value();
        go.store(true);
        scheduler.WaitForCounter(&first);
    }) == Status::Ok);
    CHECK(null == Status::BadOption);
    CHECK(nullCall == Status::BadOption);
    CHECK(twice == Status::AlreadyRunning);
    CHECK(counted == 0);
    CHECK(made.load() == 1);
}

TEST_CASE("blocking: a call whose counter is refused is not made", "[blocking][report]") {
    test::Runner runner(test::Options(1)), other(test::Options(1));
    Counter full(~0u), external;
    uint32_t made = 0;
    Status answers[3] = {};
    REQUIRE(other.scheduler.Start() == Status::Ok);
    CHECK(other.scheduler.IncrementCounter(&external));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        auto make = [&] { ++made; };
        BlockingCall call = MakeBlockingCall(make);
        Counter counter;
        answers[0] = calls.Submit(call, &external);
        answers[1] = calls.Submit(call, &full);
        answers[2] = calls.Submit(call, &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    other.scheduler.DecrementCounter(&external);
    other.scheduler.Stop();
    CHECK(answers[0] == Status::BadOption);
    CHECK(answers[1] == Status::BadOption);
    CHECK(answers[2] == Status::Ok);
    CHECK(made == 1);
    CHECK(full.Value() == ~0u);
    CHECK(external.IsZero());
    CHECK(runner.log.CountOf(ReportCode::WrongScheduler) == 1);
    CHECK(runner.log.CountOf(ReportCode::CounterOverflow) == 1);
    CHECK(runner.log.Count() == 2);
    CHECK(other.log.Text() == "");
}

TEST_CASE("blocking: a call that is about to decrement its counter is not taken for a stall",
          "[blocking]") {
    std::atomic<uint32_t> delayed{0};
    SchedulerOptions options = test::Options(1, 10, IdlePolicy::Sleep);
    options.trace.user = &delayed;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Ready);
    options.trace.event = [](const TraceEvent &event, void *user) {
        if (event.worker != kAnyWorker) return;
        // The call has ended, and its task still waits. The worker ends its last task, sleeps and
        // looks for a stall.
        static_cast<std::atomic<uint32_t> *>(user)->fetch_add(1);
        std::this_thread::sleep_for(
            std::chrono::milliseconds(20 * test::Options(1).stallMilliseconds));
    };
    test::Runner runner(options);
    std::atomic<bool> waits{false};
    test::Batch last(1, [&](TaskScheduler &, uint32_t) {
        waits.store(true);  // the main task waits for its call
        test::SpinUntil([&] { return delayed.load() != 0; });
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        scheduler.AddTask(last[0]);
        calls.Run([&] { test::SpinUntil([&] { return waits.load(); }); });
    }) == Status::Ok);
    CHECK(delayed.load() != 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("blocking: a call in a hook is reported, but made", "[blocking]") {
    struct Shared {
        BlockingCalls *calls = nullptr;
        std::atomic<uint32_t> asked{0}, made{0};
    } shared;
    SchedulerOptions options = test::Options(1);
    options.trace.user = &shared;
    options.trace.kinds = TraceHooks::Bit(TraceKind::Submit);
    options.trace.event = [](const TraceEvent &, void *user) {
        Shared &self = *static_cast<Shared *>(user);
        self.asked.fetch_add(1);
        self.made.fetch_add(self.calls->Run([] { return OnWorker() ? 0u : 1u; }));
    };
    test::Runner runner(options);
    test::Marks marks(1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler);
        shared.calls = &calls;
        scheduler.AddTask(marks[0]);
        scheduler.WaitIdle();
    }) == Status::Ok);
    CHECK(shared.asked.load() == 1);
    CHECK(shared.made.load() == 1);
    CHECK(runner.log.CountOf(ReportCode::InHook) == 1);
    CHECK(test::Names(runner.log.First(ReportCode::InHook).what,
                      "BlockingCalls::Run was called by a hook"));
}

TEST_CASE("blocking: a call in a hook before or after the run is reported, but made",
          "[blocking]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        static std::atomic<uint32_t> s_asked{0}, s_made{0};
        static BlockingCalls *s_calls = nullptr;
        const auto call = [](uint32_t, void *) {
            s_asked.fetch_add(1);
            s_made.fetch_add(s_calls->Run([] { return OnWorker() ? 0u : 1u; }));
        };
        SchedulerOptions options = test::Options(3);
        options.threads.onStart = options.threads.onStop = call;
        test::Runner runner(options);
        BlockingCalls calls(runner.scheduler, AtMost(2));
        s_calls = &calls;
        if (runner.Run([](TaskScheduler &) {}) != Status::Ok) _Exit(2);
        // Two threads of weft make the calls.
        if (s_asked.load() != 4 || s_made.load() != 4) _Exit(3);
        if (runner.log.CountOf(ReportCode::InHook) != 4 || runner.log.Count() != 4) _Exit(4);
    });
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
}
