#include "blocking/blocking_threads.h"

#include "platform/compiler.h"
#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/thread_record.h"
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#if defined(WEFT_LINUX)
#include "support/thread_cpus.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <catch2/catch.hpp>

using namespace weft;

namespace {

bool OnWorker() { return TaskScheduler::Current() != nullptr; }

constexpr size_t kNobodyHasThat = SIZE_MAX / 4;  // bytes of stack: more than any system has

BlockingOptions Threads(uint32_t most, uint32_t idleMicroseconds = 0) {
    BlockingOptions options;
    options.maxThreads = most;
    options.idleMicroseconds = idleMicroseconds;
    return options;
}

// Makes `count` calls that return only when all of them have begun. Returns how many succeeded.
uint32_t Meet(TaskScheduler &scheduler, BlockingCalls &calls, uint32_t count) {
    std::atomic<uint32_t> come{0}, met{0};
    test::Batch batch(count, [&](TaskScheduler &, uint32_t) {
        met.fetch_add(calls.Run([&] {
            come.fetch_add(1);
            return test::SpinUntil([&] { return come.load() == count; });
        }));
    });
    scheduler.AddTasksAndWait(count, batch.Tasks());
    return met.load();
}

}  // namespace

TEST_CASE("blocking threads: at most maxThreads calls run at once", "[blocking]") {
    for (uint32_t most : {1u, 2u, 5u, 70u}) {
        test::Runner runner(test::Options(2));
        uint32_t met = 0, threads = 0;
        std::atomic<uint32_t> under{0}, tooMany{0}, made{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            BlockingCalls calls(scheduler, Threads(most));
            met = Meet(scheduler, calls, most);
            test::Batch batch(100, [&](TaskScheduler &, uint32_t) {
                calls.Run([&] {
                    tooMany.fetch_add(under.fetch_add(1) >= most);
                    test::Linger(20);
                    under.fetch_sub(1);
                    made.fetch_add(1);
                });
            });
            scheduler.AddTasksAndWait(100, batch.Tasks());
            threads = calls.ThreadCount();
        }) == Status::Ok);
        CHECK(met == most);
        CHECK(threads == most);
        CHECK(made.load() == 100);
        CHECK(tooMany.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("blocking threads: idle threads end, and are created again", "[blocking]") {
    test::Runner runner(test::Options(2));
    bool ended = false;
    uint32_t met = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, Threads(6, 1));
        met = Meet(scheduler, calls, 6);
        ended = test::YieldUntil(scheduler, [&] {
            calls.Run([] {});
            return calls.ThreadCount() <= 2;
        });
        for (int round = 0; round < 20; ++round) met += Meet(scheduler, calls, 6);
    }) == Status::Ok);
    CHECK(ended);
    CHECK(met == 21 * 6);
}

TEST_CASE("blocking threads: without an idle time, threads do not end", "[blocking]") {
    test::Runner runner(test::Options(2));
    uint32_t threads = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, Threads(4));
        Meet(scheduler, calls, 4);
        for (int i = 0; i < 200; ++i) calls.Run([] {});
        threads = calls.ThreadCount();
    }) == Status::Ok);
    CHECK(threads == 4);
}

TEST_CASE("blocking threads: the destructor waits for submitted calls, also on the only worker",
          "[blocking]") {
    test::Runner runner(test::Options(1));
    std::atomic<bool> computed{false};
    std::atomic<uint32_t> made{0};
    uint32_t atEnd = 0;
    auto call = [&] { made.fetch_add(test::SpinUntil([&] { return computed.load(); })); };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::deque<BlockingCall> submitted;
        std::optional<BlockingCalls> calls;
        calls.emplace(scheduler, Threads(2));
        for (int i = 0; i < 10; ++i) {
            submitted.emplace_back([](void *arg) { (*static_cast<decltype(call) *>(arg))(); },
                                   &call);
            calls->Submit(submitted.back());
        }
        test::Batch computing(1, [&](TaskScheduler &, uint32_t) { computed.store(true); });
        scheduler.AddTask(computing[0], nullptr, test::kLow);
        calls.reset();
        atEnd = made.load();
        scheduler.WaitIdle();
    }) == Status::Ok);
    CHECK(atEnd == 10);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("blocking threads: the destructor in a hook is reported and waits, also after the run",
          "[blocking]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        static std::optional<BlockingCalls> s_calls;
        static std::atomic<bool> s_ending{false};
        static std::atomic<uint32_t> s_made{0};
        SchedulerOptions options = test::Options(2);
        options.threads.onStop = [](uint32_t, void *) {
            s_ending.store(true);
            s_calls.reset();
        };
        test::Runner runner(options);
        s_calls.emplace(runner.scheduler, Threads(2));
        auto make = [] {
            const bool ending = test::SpinUntil([] { return s_ending.load(); });
            test::Linger(1000);
            s_made.fetch_add(ending);
        };
        BlockingCall one = MakeBlockingCall(make), other = MakeBlockingCall(make);
        const Status status = runner.Run([&](TaskScheduler &) {
            s_calls->Submit(one);
            s_calls->Submit(other);
        });
        if (status != Status::Ok) _Exit(2);
        if (s_made.load() != 2) _Exit(3);
        if (runner.log.CountOf(ReportCode::InHook) != 1 || runner.log.Count() != 1) _Exit(4);
    });
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
}

TEST_CASE("blocking threads: calls without a counter need no running scheduler", "[blocking]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> made{0};
    auto count = [&] { made.fetch_add(1); };
    {
        std::deque<BlockingCall> submitted;
        BlockingCalls calls(runner.scheduler, Threads(3));
        for (int i = 0; i < 50; ++i) {
            submitted.emplace_back([](void *arg) { (*static_cast<decltype(count) *>(arg))(); },
                                   &count);
            calls.Submit(submitted.back());
        }
        CHECK(runner.Run([&](TaskScheduler &) { calls.Run(count); }) == Status::Ok);
    }
    CHECK(made.load() == 51);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("blocking threads: if no thread can be created, callers make the calls, LastError is set",
          "[blocking]") {
    for (uint32_t workers : {1u, 2u}) {
        test::Runner runner(test::Options(workers));
        std::atomic<uint32_t> onWorkers{0}, submitted{0};
        Status health = Status::Ok;
        uint32_t threads = 1;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            BlockingOptions options = Threads(3);
            options.threadStackBytes = kNobodyHasThat;
            BlockingCalls calls(scheduler, options);
            test::Batch batch(20, [&](TaskScheduler &, uint32_t) {
                onWorkers.fetch_add(calls.Run([] { return OnWorker() ? 1u : 0u; }));
            });
            scheduler.AddTasksAndWait(20, batch.Tasks());
            Counter counter;
            auto count = [&] { submitted.fetch_add(1); };
            BlockingCall call = MakeBlockingCall(count);
            calls.Submit(call, &counter);
            scheduler.WaitForCounter(&counter);
            health = calls.LastError();
            threads = calls.ThreadCount();
        }) == Status::Ok);
        CHECK(onWorkers.load() == 20);
        CHECK(submitted.load() == 1);
        CHECK(health == Status::ThreadFailed);
        CHECK(threads == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("blocking threads: without memory, callers make the calls, and nothing leaks",
          "[blocking]") {
    const int64_t before = test::OutstandingAllocations();
    bool failed = true;
    for (int64_t nth = 0; failed; ++nth) {
        test::Runner runner(test::Options(1));
        std::optional<BlockingCalls> calls;
        {
            const test::FailingAllocation failing(nth);
            calls.emplace(runner.scheduler, Threads(2));
            failed = failing.HasFailed();
        }
        CHECK(calls->LastError() == (failed ? Status::OutOfMemory : Status::Ok));
        uint32_t onWorker = 0, submitted = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            onWorker = calls->Run([] { return OnWorker() ? 1u : 0u; });
            Counter counter;
            auto count = [&] { ++submitted; };
            BlockingCall call = MakeBlockingCall(count);
            calls->Submit(call, &counter);
            scheduler.WaitForCounter(&counter);
            calls.reset();
        }) == Status::Ok);
        CHECK(onWorker == (failed ? 1 : 0));
        CHECK(submitted == 1);
        CHECK(nth < 10);
    }
    CHECK(test::OutstandingAllocations() == before);
}

TEST_CASE("blocking threads: nothing is allocated after the constructor", "[blocking]") {
    test::Runner runner(test::Options(2));
    bool failed = true;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingCalls calls(scheduler, Threads(4, 1));
        Meet(scheduler, calls, 4);
        const test::FailingAllocation failing(0);
        for (int round = 0; round < 10; ++round) Meet(scheduler, calls, 4);
        failed = failing.HasFailed();
    }) == Status::Ok);
    CHECK_FALSE(failed);
}

TEST_CASE("blocking threads: memory comes from the host's hooks", "[blocking]") {
    test::HostMemory host;
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingOptions options = Threads(2);
        host.AttachTo(options.memory, true, false);
        BlockingCalls calls(scheduler, options);
        options = {};  // the constructor has copied them
        Meet(scheduler, calls, 2);
    }) == Status::Ok);
    CHECK(host.Allocations() > 0);
    CHECK(host.OutstandingBytes() == 0);
    CHECK(host.Wrong() == 0);
}

TEST_CASE("blocking threads: options out of range are reported and clamped", "[blocking]") {
    test::Runner runner(test::Options(1));
    BlockingOptions none, many, little, half, low, high;
    none.maxThreads = 0;
    many.maxThreads = ~0u;
    little.threadStackBytes = 1;
    half.memory.allocate = [](size_t, size_t, void *) -> void * { return nullptr; };
    low.threadNice = -21;
    high.threadNice = 20;
    for (const BlockingOptions &options : {none, many, little, half, low, high}) {
        uint32_t answer = 0;
        Status health = Status::Ok;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            BlockingCalls calls(scheduler, options);
            answer = calls.Run([] { return OnWorker() ? 1u : 2u; });
            health = calls.LastError();
        }) == Status::Ok);
        CHECK(answer == 2);
        CHECK(health == Status::BadOption);
    }
}

TEST_CASE("blocking threads: the hooks are called once on each thread, around all of its calls",
          "[blocking][hooks]") {
    constexpr uint32_t kMost = 4;
    for (const bool inTask : {true, false}) {
        test::Runner runner(test::Options(2));
        test::ThreadRecord record;
        std::atomic<uint32_t> outside{0}, onWorker{0};
        uint32_t startsBefore = 1, threads = 0, starts = 0, stops = 0, startsAtEnd = 0,
                 stopsAtEnd = 0;
        std::optional<BlockingCalls> calls;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            BlockingOptions options = Threads(kMost);
            record.AttachTo(options.threads);
            record.tasksDone.store(true);  // threads may end at any time
            calls.emplace(scheduler, options);
            startsBefore = record.starts;
            Meet(scheduler, *calls, kMost);
            test::Batch batch(100, [&](TaskScheduler &, uint32_t) {
                calls->Run([&] {
                    outside.fetch_add(!record.IsRunningHere());
                    onWorker.fetch_add(OnWorker());
                });
            });
            scheduler.AddTasksAndWait(100, batch.Tasks());
            threads = calls->ThreadCount();
            {
                const std::lock_guard<std::mutex> lock(record.mutex);
                starts = record.starts;
                stops = record.stops;
            }
            if (inTask) {
                calls.reset();
                startsAtEnd = record.starts;  // no lock: the destructor waits for all hooks
                stopsAtEnd = record.stops;
            }
        }) == Status::Ok);
        if (!inTask) {
            calls.reset();
            startsAtEnd = record.starts;
            stopsAtEnd = record.stops;
        }
        CHECK(startsBefore == 0);
        CHECK(threads == kMost);
        CHECK(starts == kMost);
        CHECK(stops == 0);
        CHECK(startsAtEnd == kMost);
        CHECK(stopsAtEnd == kMost);
        CHECK(record.running.empty());
        CHECK(record.wrong == 0);
        CHECK(outside.load() == 0);
        CHECK(onWorker.load() == 0);
    }
}

TEST_CASE("blocking threads: each onStart has its onStop, even if idle threads end",
          "[blocking][hooks]") {
    test::Runner runner(test::Options(2));
    test::ThreadRecord record;
    bool ended = false;
    uint32_t stopped = 0, living = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingOptions options = Threads(4, 1);
        record.AttachTo(options.threads);
        record.tasksDone.store(true);  // threads may end at any time
        BlockingCalls calls(scheduler, options);
        Meet(scheduler, calls, 4);
        ended = test::YieldUntil(scheduler, [&] {
            calls.Run([] {});
            return calls.ThreadCount() <= 2;
        });
        {
            const std::lock_guard<std::mutex> lock(record.mutex);
            stopped = record.stops;
            living = static_cast<uint32_t>(record.running.size());
        }
        for (int round = 0; round < 10; ++round) Meet(scheduler, calls, 4);
    }) == Status::Ok);
    CHECK(ended);
    CHECK(stopped >= 2);
    CHECK(living <= 2);
    CHECK(record.starts >= 6);
    CHECK(record.stops == record.starts);
    CHECK(record.running.empty());
    CHECK(record.wrong == 0);
}

TEST_CASE("blocking threads: no hook is called if the system refuses the thread",
          "[blocking][hooks]") {
    test::Runner runner(test::Options(1));
    test::ThreadRecord record;
    uint32_t made = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        BlockingOptions options = Threads(2);
        options.threadStackBytes = kNobodyHasThat;
        record.AttachTo(options.threads);
        record.tasksDone.store(true);  // threads may end at any time
        BlockingCalls calls(scheduler, options);
        for (int i = 0; i < 5; ++i) calls.Run([&] { ++made; });
    }) == Status::Ok);
    CHECK(made == 5);
    CHECK(record.starts == 0);
    CHECK(record.stops == 0);
}

#if defined(WEFT_LINUX)  // nice values and CPUs of threads, and forks

namespace {

using test::NiceOfThread;

int NiceOfProcess() { return getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())); }

// The nice values of a blocking thread in its hook onStart and in a call, and the status
// afterwards.
struct FoundNice {
    int inHook = 99, inCall = 99, ofWorker = 99;
    Status health = Status::NotRunning;
};

FoundNice NiceOfBlockingThread(int32_t ofWorkers, int32_t ofThreads) {
    SchedulerOptions options = test::Options(1);
    options.threadNice = ofWorkers;
    test::Runner runner(options);
    FoundNice found;
    test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
        BlockingOptions blocking = Threads(1);
        blocking.threadNice = ofThreads;
        blocking.threads.user = &found;
        blocking.threads.onStart = [](uint32_t, void *user) {
            static_cast<FoundNice *>(user)->inHook = NiceOfThread();
        };
        BlockingCalls calls(scheduler, blocking);
        test::Batch batch(1, [&](TaskScheduler &, uint32_t) {
            found.ofWorker = NiceOfThread();
            found.inCall = calls.Run(NiceOfThread);
        });
        scheduler.AddTasksAndWait(1, batch.Tasks());
        found.health = calls.LastError();
    });
    return found;
}

}  // namespace

TEST_CASE("blocking threads: nice values are added to that of the process", "[blocking]") {
    const int own = NiceOfProcess();
    for (const int32_t ofWorkers : {0, 3}) {
        for (const int32_t ofThreads : {3, 7, 19}) {
            INFO(ofWorkers << ' ' << ofThreads);
            const FoundNice found = NiceOfBlockingThread(ofWorkers, ofThreads);
            CHECK(found.ofWorker == std::min(own + ofWorkers, 19));
            CHECK(found.inCall == std::min(own + ofThreads, 19));
            CHECK(found.inHook == found.inCall);
            CHECK(found.health == Status::Ok);
        }
    }
    CHECK(NiceOfProcess() == own);
}

TEST_CASE("blocking threads: they do not inherit a worker's nice value, if the user may lower it",
          "[blocking]") {
    const int own = NiceOfProcess();
    bool mayLower = false;
    std::thread([&] {
        const auto self = static_cast<id_t>(gettid());
        mayLower = setpriority(PRIO_PROCESS, self, own + 1) == 0 &&
                   setpriority(PRIO_PROCESS, self, own - 2) == 0;
    }).join();
    if (!mayLower) return;
    for (const int32_t ofThreads : {-2, 0, 2}) {
        INFO(ofThreads);
        const FoundNice found = NiceOfBlockingThread(5, ofThreads);
        CHECK(found.ofWorker == std::min(own + 5, 19));
        CHECK(found.inCall == own + ofThreads);
        CHECK(found.inHook == own + ofThreads);
        CHECK(found.health == Status::Ok);
    }
}

TEST_CASE("blocking threads: without the permission, a thread keeps its nice value", "[blocking]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        const rlimit none{0, 0};
        if (setrlimit(RLIMIT_NICE, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) _exit(0);
        const int own = NiceOfProcess();
        const FoundNice negative = NiceOfBlockingThread(0, -5);
        const FoundNice zero = NiceOfBlockingThread(5, 0);
        if (negative.inCall != own || negative.health != Status::BadOption) _exit(2);
        if (zero.inCall != std::min(own + 5, 19) || zero.health != Status::Ok) _exit(3);
        _exit(0);
    });
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
}

TEST_CASE(
    "blocking threads: in a forked child, callers make the calls, and the destructor does not wait",
    "[blocking][fork_mark]") {
    test::Runner runner(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    std::atomic<uint32_t> made{0};
    std::atomic<bool> go{false};
    auto count = [&] { made.fetch_add(1); };
    auto hold = [&] { test::SpinUntil([&] { return go.load(); }); };
    BlockingCall first = MakeBlockingCall(count), holding = MakeBlockingCall(hold);
    std::optional<BlockingCalls> calls;
    calls.emplace(runner.scheduler, Threads(1));
    calls->Submit(holding);
    calls->Submit(first);  // waits behind `holding`, and belongs to the parent
    const test::ChildResult child = test::RunInChild([&] {
        test::EndAfter(20);
        BlockingCall second = MakeBlockingCall(count);
        Counter counter;
        if (calls->ThreadCount() != 0) _exit(2);
        for (uint32_t i = 0; i < 2; ++i) {
            if (calls->Submit(second) != Status::Ok || made.load() != i + 1) _exit(3);
        }
        if (calls->Submit(second, &counter) != Status::BadOption || counter.Value() != 0 ||
            made.load() != 2)
            _exit(4);
        if (runner.log.CountOf(ReportCode::Forked) != 1 || runner.log.Count() != 1) _exit(5);
        calls.reset();
        _exit(made.load() == 2 ? 0 : 6);
    });
    CHECK(child.exited);
    CHECK(child.code == 0);
    CHECK(made.load() == 0);
    go.store(true);
    calls.reset();
    CHECK(made.load() == 1);
    runner.scheduler.Stop();
    CHECK(runner.log.Text() == "");
}

TEST_CASE("blocking threads: after a fork in a task, its child makes the calls itself",
          "[blocking][fork_mark]") {
    test::Runner runner(test::Options(1));
    test::ChildResult child;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::optional<BlockingCalls> calls;
        calls.emplace(scheduler, Threads(1));
        calls->Run([] {});
        child = test::RunInChild([&] {
            test::EndAfter(20);
            Counter counter;
            uint32_t made = calls->Run([] { return 1u; });
            auto count = [&] { ++made; };
            BlockingCall call = MakeBlockingCall(count);
            if (calls->Submit(call) != Status::Ok || made != 2) _exit(2);
            if (calls->Submit(call, &counter) != Status::BadOption || counter.Value() != 0 ||
                made != 2)
                _exit(3);
            if (runner.log.CountOf(ReportCode::Forked) != 1 || runner.log.Count() != 1) _exit(4);
            calls.reset();
            _exit(made == 2 ? 0 : 5);
        });
    }) == Status::Ok);
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
}

TEST_CASE("blocking threads: they run on all CPUs of the process, not only on those of a worker",
          "[blocking]") {
    const auto cpusOf = [](pid_t thread) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        sched_getaffinity(thread, sizeof cpus, &cpus);
        return cpus;
    };
    SchedulerOptions options = test::Options(2);
    options.affinity.kind = Affinity::Kind::Compact;
    test::Runner runner(options);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    const cpu_set_t usable = cpusOf(getpid());
    std::atomic<uint32_t> elsewhere{0}, bound{0};
    {
        BlockingCalls calls(runner.scheduler, Threads(8));
        std::atomic<uint32_t> come{0};
        test::Batch batch(8, [&](TaskScheduler &, uint32_t) {
            const cpu_set_t workers = cpusOf(0);
            bound.fetch_add(CPU_COUNT(&workers) == 1);
            calls.Run([&] {
                come.fetch_add(1);
                test::SpinUntil([&] { return come.load() == 8; });
                const cpu_set_t own = cpusOf(0);
                elsewhere.fetch_add(!CPU_EQUAL(&own, &usable));
            });
        });
        runner.scheduler.AddTasksAndWait(8, batch.Tasks());
    }
    runner.scheduler.Stop();
    CHECK(bound.load() == 8);
    CHECK(elsewhere.load() == 0);
}

TEST_CASE("fault: blocking threads run on all CPUs of the process if its main thread is bound",
          "[blocking]") {
    const test::Cpus usable = test::CpusOfThread();
    const test::ChildResult child = test::RunInChild([&] {
        if (!test::Restrict({usable[0]})) _exit(1);
        test::Runner runner(test::Options(2));
        if (runner.scheduler.Start() != Status::Ok) _exit(2);
        test::Cpus own;
        {
            BlockingCalls calls(runner.scheduler, Threads(1));
            auto look = [&] { own = test::CpusOfThread(); };
            BlockingCall call = MakeBlockingCall(look);
            Counter counter;
            if (calls.Submit(call, &counter) != Status::Ok) _exit(3);
            runner.scheduler.WaitForCounter(&counter);
        }
        runner.scheduler.Stop();
        _exit(own == usable ? 0 : 4);
    });
    CHECK(child.exited);
    CHECK(child.code == 0);
}

#endif
