#include "weft/inspect.h"

#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "weft/external_work.h"
#include "weft/sync/mutex.h"
#include "weft/sync/shared_mutex.h"
#include "weft/time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

namespace {

// What DescribeWaiters tells, by the names of the tasks.
struct Told {
    std::map<std::string, WaiterInfo> byName;
    std::vector<WaitCause> order;
    uint32_t external = 0;

    static void Tell(const WaiterInfo &waiter, void *user) {
        Told &self = *static_cast<Told *>(user);
        self.order.push_back(waiter.cause);
        if (waiter.isExternal) {
            ++self.external;
        } else {
            self.byName[waiter.task != nullptr ? waiter.task : "unnamed"] = waiter;
        }
    }
};

Told Describe(TaskScheduler &scheduler) {
    Told told;
    const uint32_t count = DescribeWaiters(scheduler, Told::Tell, &told);
    CHECK(count == told.order.size());
    return told;
}

std::string ByTask(const WaiterInfo &waiter) {
    return waiter.byTask != nullptr ? waiter.byTask : "-";
}

// Waits until `count` tasks wait, then returns what they wait for.
Told DescribeWhen(TaskScheduler &scheduler, uint32_t count) {
    Told told;
    const bool waits = test::YieldUntil(scheduler, [&] {
        told = Told();
        return DescribeWaiters(scheduler, Told::Tell, &told) == count;
    });
    CHECK(waits);
    return told;
}

// The same, after it has added a task.
Told AddAndDescribe(TaskScheduler &scheduler, const Task &task, Counter *counter, const char *name,
                    uint32_t count) {
    scheduler.AddTask(task, counter, test::Named(name));
    return DescribeWhen(scheduler, count);
}

// Names of the members of a cycle, in the order of the waits, from the first one in the order of
// names. "" if it is no cycle.
std::string CycleOf(const Told &told) {
    std::string names, first, at;
    for (const auto &[name, waiter] : told.byName) {
        if (waiter.cause == WaitCause::Cycle && first.empty()) first = at = name;
    }
    for (size_t i = 0; i <= told.byName.size() && !first.empty(); ++i) {
        names += at + " ";
        const auto next = told.byName.find(ByTask(told.byName.at(at)));
        if (next == told.byName.end() || next->second.cause != WaitCause::Cycle) return "";
        if (next->first == first) return names;
        at = next->first;
    }
    return "";
}

}  // namespace

TEST_CASE("inspect: causes of waits while the host runs", "[inspect]") {
    for (const uint32_t workers : {1u, 3u}) {
        INFO(workers << " workers");
        test::RunQuietly(test::Options(workers), [](TaskScheduler &scheduler) {
            // "lowers a" waits for b, "lowers b" for c, "lowers c" for a. The host holds a unit of
            // each counter, so that no wait ends before all have begun. It keeps that of b.
            Counter a(1), b(4), c(1), host(1), root(1), sleeper(1), others;
            test::Batch forA = test::WaitsFor(a), forB = test::WaitsFor(b, 3);
            test::Batch forC = test::WaitsFor(c), forHost = test::WaitsFor(host);
            test::Batch forRoot = test::WaitsFor(root), forSleeper = test::WaitsFor(sleeper);
            Counter over(1);
            std::atomic<uint32_t> wrong{0};
            test::Batch sleeps(1, [&](TaskScheduler &running, uint32_t) {
                wrong += !WaitForCounterFor(running, &over, 1h);
            });
            uint32_t waiting = 0;
            Told told;
            // The task waits before the next one is there. So no task runs on top of another one.
            const auto add = [&](const test::Batch &task, Counter *counter, const char *name) {
                told = AddAndDescribe(scheduler, task[0], counter, name, ++waiting);
            };
            add(forB, &a, "lowers a");
            add(forHost, &b, "before b");
            add(forC, &b, "lowers b");
            add(forHost, &b, "after b");
            add(forA, &c, "lowers c");
            add(forA, &others, "behind a");
            add(forHost, &root, "root");
            add(sleeps, &root, "beside root");
            add(forRoot, &others, "behind root");
            add(sleeps, &sleeper, "sleeper");
            add(forSleeper, &others, "for sleeper");
            for (Counter *counter : {&a, &c, &sleeper, &root}) scheduler.DecrementCounter(counter);
            told = Describe(scheduler);
            const auto at = [&](const char *name) {
                const auto found = told.byName.find(name);
                return found != told.byName.end() ? found->second : WaiterInfo();
            };
            CHECK(CycleOf(told) == "lowers a lowers b lowers c ");
            CHECK(at("behind a").cause == WaitCause::Stuck);
            CHECK(ByTask(at("behind a")) == "lowers a");
            CHECK(at("behind a").counter == &a);
            CHECK(at("root").cause == WaitCause::Nobody);
            CHECK(ByTask(at("root")) == "-");
            CHECK(at("root").byFiber == kAnyWorker);
            CHECK(at("behind root").cause == WaitCause::Stuck);
            CHECK(at("behind root").byFiber == at("root").fiber);
            CHECK(at("sleeper").cause == WaitCause::Working);
            CHECK(at("for sleeper").cause == WaitCause::Working);
            CHECK(std::is_sorted(told.order.begin(), told.order.end()));
            scheduler.DecrementCounter(&over);
            scheduler.DecrementCounter(&b, 4);
            scheduler.DecrementCounter(&host);
            for (Counter *counter : {&a, &b, &c, &root, &sleeper, &others})
                scheduler.WaitForCounter(counter);
            CHECK(wrong == 0);
        });
    }
}

TEST_CASE("inspect: a wait for a task that runs, and for one of several counters", "[inspect]") {
    test::RunQuietly(test::Options(2), [](TaskScheduler &scheduler) {
        Counter busy(1), all, gates[2] = {Counter(1), Counter(1)};
        std::atomic<bool> over{false};
        std::atomic<uint32_t> wrong{0};
        test::Batch runs(1, [&](TaskScheduler &, uint32_t) {
            wrong += !test::SpinUntil([&] { return over.load(); });
        });
        test::Batch waits = test::WaitsFor(busy);
        test::Batch any(1, [&](TaskScheduler &running, uint32_t) {
            Counter *const counters[2] = {&gates[0], &gates[1]};
            running.WaitForAny(2, counters);
        });
        scheduler.AddTask(any[0], &all, test::Named("any"));
        Told told = AddAndDescribe(scheduler, waits[0], &all, "waits", 2);
        CHECK(told.byName["waits"].cause == WaitCause::Nobody);
        scheduler.AddTask(runs[0], &busy, test::Named("runs"));
        CHECK(test::SpinUntil([&] {
            told = Describe(scheduler);
            return ByTask(told.byName["waits"]) == "runs";
        }));
        CHECK(told.byName["waits"].cause == WaitCause::Working);
        CHECK(told.byName["any"].cause == WaitCause::Unknown);
        over = true;
        scheduler.DecrementCounter(&busy);
        scheduler.DecrementCounter(&gates[1]);
        scheduler.WaitForCounter(&all);
        CHECK(wrong == 0);
    });
}

TEST_CASE("inspect: a task that waits for its own end, and one that leaves its own unit",
          "[inspect]") {
    test::RunQuietly(test::Options(1), [](TaskScheduler &scheduler) {
        Counter own;
        test::Batch self = test::WaitsFor(own), one = test::WaitsFor(own, 1);
        scheduler.AddTask(one[0], &own, test::Named("one"));
        scheduler.IncrementCounter(&own);
        Told told = DescribeWhen(scheduler, 1);
        CHECK(told.byName["one"].cause == WaitCause::Nobody);
        scheduler.AddTask(self[0], &own, test::Named("self"));
        scheduler.DecrementCounter(&own);
        told = DescribeWhen(scheduler, 2);
        CHECK(told.byName["self"].cause == WaitCause::Cycle);
        CHECK(told.byName["one"].cause == WaitCause::Cycle);  // each waits for the other one
        CHECK(ByTask(told.byName["one"]) == "self");
        scheduler.DecrementCounter(&own, 2);  // the only worker runs this task
        scheduler.IncrementCounter(&own, 2);
        scheduler.WaitForCounter(&own);
    });
}

TEST_CASE("inspect: a task whose wait is over is no waiter", "[inspect]") {
    test::RunQuietly(test::Options(1), [](TaskScheduler &scheduler) {
        Counter gate(1), all;
        test::Batch waits = test::WaitsFor(gate, 0, 3);
        scheduler.AddTasks(3, waits.Tasks(), &all);
        DescribeWhen(scheduler, 3);
        scheduler.DecrementCounter(&gate);
        CHECK(Describe(scheduler).order.empty());  // the only worker runs this task
        scheduler.WaitForCounter(&all);
    });
}

TEST_CASE("inspect: a waiting task that runs on top of another one", "[inspect]") {
    test::RunQuietly(test::Options(1), [](TaskScheduler &scheduler) {
        Counter gate(1), outer, all;
        test::Batch inner = test::WaitsFor(gate), forParent = test::WaitsFor(outer);
        test::Batch parent(1, [&](TaskScheduler &running, uint32_t) {
            running.AddTasksAndWait(1, inner.Tasks(), test::Named("inner"));
        });
        Told told = AddAndDescribe(scheduler, parent[0], &outer, "parent", 1);
        CHECK(told.byName.count("inner") == 1);
        told = AddAndDescribe(scheduler, forParent[0], &all, "for parent", 2);
        CHECK(told.byName.at("inner").cause == WaitCause::Nobody);
        CHECK(told.byName.at("inner").counter == &gate);
        CHECK(told.byName.at("for parent").cause == WaitCause::Stuck);
        CHECK(told.byName.at("for parent").byFiber == told.byName.at("inner").fiber);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&outer);
        scheduler.WaitForCounter(&all);
    });
}

// A wait may run a task of its counter on its own stack, or leave it to others. So these tests are
// repeated until it does.
constexpr int kMostRuns = 100;

TEST_CASE("inspect: the counter of a task on top of another one", "[inspect]") {
    bool isOnTop = false;
    for (int run = 0; run < kMostRuns && !isOnTop; ++run) {
        test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
            Counter gate(1), begun(1), children, all;
            uint32_t fiber = kAnyWorker;
            test::Batch child(1, [&](TaskScheduler &running, uint32_t) {
                isOnTop = running.CurrentFiber() == fiber;
                running.DecrementCounter(&begun);
                running.WaitForCounter(&gate);
            });
            test::Batch parent(1, [&](TaskScheduler &running, uint32_t) {
                fiber = running.CurrentFiber();
                running.AddTask(child[0], &children, test::Named("child"));
                running.WaitForCounter(&children);
            });
            test::Batch other = test::WaitsFor(children);
            scheduler.AddTask(parent[0], &all, test::Named("parent"));
            scheduler.WaitForCounter(&begun);
            if (isOnTop) {
                CHECK(DescribeWhen(scheduler, 1).byName.count("child") == 1);
                Told told = AddAndDescribe(scheduler, other[0], &all, "other", 2);
                CHECK(told.byName["other"].cause == WaitCause::Stuck);
                CHECK(ByTask(told.byName["other"]) == "child");
            }
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&all);
        });
    }
    CHECK(isOnTop);
}

TEST_CASE("inspect: a task waits for the one below it on the same stack", "[inspect]") {
    bool isOnTop = false;
    Told told;
    for (int run = 0; run < kMostRuns && !isOnTop; ++run) {
        test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
            Counter outer(1), begun(1), inner;
            uint32_t fiber = kAnyWorker;
            test::Batch top(1, [&](TaskScheduler &running, uint32_t) {
                isOnTop = running.CurrentFiber() == fiber;
                running.DecrementCounter(&begun);
                running.WaitForCounter(&outer, 1);
            });
            test::Batch below(1, [&](TaskScheduler &running, uint32_t) {
                fiber = running.CurrentFiber();
                running.AddTask(top[0], &inner, test::Named("top"));
                running.WaitForCounter(&inner);
            });
            scheduler.AddTask(below[0], &outer, test::Named("below"));
            scheduler.WaitForCounter(&begun);
            if (isOnTop) told = DescribeWhen(scheduler, 1);
            scheduler.DecrementCounter(&outer);
            scheduler.WaitForCounter(&outer);
        });
    }
    REQUIRE(told.byName.count("top") == 1);
    const WaiterInfo top = told.byName.at("top");
    CHECK(top.cause == WaitCause::Cycle);
    CHECK(top.byFiber == top.fiber);
}

TEST_CASE("inspect: external threads, attached threads, and queued tasks", "[inspect]") {
    test::Started runner(test::Options(1));
    Counter gate(1);
    std::thread external([&] { runner.scheduler.WaitForCounter(&gate); });
    Status status = Status::NotRunning;
    std::thread attached([&] {
        status = runner.scheduler.AttachThread();
        runner.scheduler.WaitForCounter(&gate);
        runner.scheduler.DetachThread();
    });
    {
        const ExternalWork work(runner.scheduler, "high scores");  // so no stall is reported
        Told told;
        CHECK(test::SpinUntil([&] {
            told = Describe(runner.scheduler);
            return told.order.size() == 2;
        }));
        CHECK(told.external == 1);
        CHECK(told.byName["unnamed"].fiber >= 128 + 32);  // not a fiber of the pool
        CHECK(told.byName["unnamed"].cause == WaitCause::Unknown);
        REQUIRE(told.byName["unnamed"].byWork != nullptr);
        CHECK(told.byName["unnamed"].byWork == std::string("high scores"));
        {
            // More names than there is room for. The first one stays.
            std::optional<ExternalWork> more[9];
            for (auto &one : more) one.emplace(runner.scheduler, "more");
            CHECK(Describe(runner.scheduler).byName["unnamed"].byWork ==
                  std::string("high scores"));
        }
        {
            const ExternalWork unnamed(runner.scheduler);
            ExternalWork::End(runner.scheduler, "high scores");
            CHECK(Describe(runner.scheduler).byName["unnamed"].cause == WaitCause::Unknown);
            CHECK(Describe(runner.scheduler).byName["unnamed"].byWork == nullptr);
            ExternalWork::Begin(runner.scheduler, "high scores");
        }
        runner.scheduler.DecrementCounter(&gate);
    }
    external.join();
    attached.join();
    CHECK(status == Status::Ok);
    CHECK(test::SpinUntil([&] { return Describe(runner.scheduler).order.empty(); }));
    runner.StopQuietly();
}

TEST_CASE("report Stalled: names cycles, roots and what waits behind them", "[inspect][idle]") {
    test::Runner runner(test::Options(2, 18));
    Counter a(1), b(2), gate(1), root(1);
    bool reported = false;
    std::thread external([&] {
        reported = test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
        runner.scheduler.DecrementCounter(&b, 2);
        runner.scheduler.DecrementCounter(&gate);
    });
    test::Batch forA = test::WaitsFor(a), forB = test::WaitsFor(b, 1);
    test::Batch forGate = test::WaitsFor(gate), forRoot = test::WaitsFor(root, 0, 5);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter all;
        AddAndDescribe(scheduler, forB[0], &a, "first", 1);  // waits before the next one is there
        scheduler.AddTask(forA[0], &b, test::Named("second"));
        AddAndDescribe(scheduler, forGate[0], &root, "root", 3);
        scheduler.AddTasks(5, forRoot.Tasks(), &all, test::Named("behind"));
        DescribeWhen(scheduler, 8);
        scheduler.DecrementCounter(&a);
        scheduler.DecrementCounter(&root);
        scheduler.WaitForCounter(&all);
        scheduler.WaitForCounter(&a);
        scheduler.WaitForCounter(&b);
    }) == Status::Ok);
    external.join();
    CHECK(reported);
    const std::string what = runner.log.First(ReportCode::Stalled).what;
    INFO(what);
    const size_t cycle = what.find("in a cycle: fiber "), none = what.find("lowered by no task: ");
    const size_t stuck = what.find("behind these: ");
    CHECK(test::Names(what, "9 fibers wait: in a cycle: "));
    CHECK((cycle < none && none < stuck && stuck < what.size()));
    test::CheckNames(what.substr(cycle, none - cycle),
                     {"'first' for counter ", "'second' for counter "});
    CHECK(test::Names(what.substr(none, stuck - none), "'root' for counter "));
    test::CheckNames(what.substr(stuck), {"'behind'", "'root'", "'main' for counter "});
}

TEST_CASE("inspect: tasks that hold locks", "[inspect][sync]") {
    for (const uint32_t workers : {1u, 3u}) {
        INFO(workers << " workers");
        SchedulerOptions options = test::Options(workers);
        options.lockHolders = true;
        test::Runner runner(options);
        std::atomic<uint32_t> wrong{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            // "ab" holds a and waits for b; "ba" holds b and waits for a. "reader" and "writer"
            // share and wait for c; "behind" waits for the lock that "ba" holds.
            Mutex a(scheduler), b(scheduler);
            SharedMutex c(scheduler);
            Counter goToB(1), goToA(1), readerGate(1), all;
            const auto holdsBoth = [](Mutex &first, Counter &until, Mutex &second) {
                return [&](TaskScheduler &running, uint32_t) {
                    first.lock();
                    running.WaitForCounter(&until);
                    second.lock();
                    second.unlock();
                    first.unlock();
                };
            };
            test::Batch ab(1, holdsBoth(a, goToB, b)), ba(1, holdsBoth(b, goToA, a));
            test::Batch behind(1, [&](TaskScheduler &, uint32_t) {
                wrong.fetch_add(b.try_lock());
                b.lock();
                b.unlock();
            });
            test::Batch reader(1, [&](TaskScheduler &running, uint32_t) {
                wrong.fetch_add(!c.try_lock_shared());
                running.WaitForCounter(&readerGate);
                c.unlock_shared();
            });
            test::Batch writer(1, [&](TaskScheduler &, uint32_t) {
                c.lock();
                c.unlock();
            });
            AddAndDescribe(scheduler, ab[0], &all, "ab", 1);
            AddAndDescribe(scheduler, ba[0], &all, "ba", 2);
            AddAndDescribe(scheduler, reader[0], &all, "reader", 3);
            scheduler.AddTask(behind[0], &all, test::Named("behind"));
            Told told = AddAndDescribe(scheduler, writer[0], &all, "writer", 5);
            CHECK(told.byName["ab"].cause == WaitCause::Nobody);
            CHECK(told.byName["ab"].lock == nullptr);
            CHECK(told.byName["behind"].cause == WaitCause::Stuck);
            CHECK(told.byName["behind"].lock == &b);
            CHECK(ByTask(told.byName["behind"]) == "ba");
            CHECK(told.byName["writer"].cause == WaitCause::Stuck);
            CHECK(told.byName["writer"].lock == &c);
            CHECK(ByTask(told.byName["writer"]) == "reader");
            scheduler.DecrementCounter(&goToB);
            scheduler.DecrementCounter(&goToA);
            CHECK(test::YieldUntil(scheduler, [&] {
                told = Describe(scheduler);
                return told.byName["ab"].lock == &b && told.byName["ba"].lock == &a &&
                       told.byName.size() == 5;
            }));
            CHECK(CycleOf(told) == "ab ba ");
            CHECK(told.byName["behind"].cause == WaitCause::Stuck);
            // The host ends the deadlock: it unlocks what "ba" has locked. Then "behind" or "ab"
            // gets b, and neither waits for "ba".
            b.unlock();
            CHECK(test::YieldUntil(scheduler, [&] {
                told = Describe(scheduler);
                return told.byName.size() == 2;  // "reader" and "writer"
            }));
            scheduler.DecrementCounter(&readerGate);
            scheduler.WaitForCounter(&all);
        }) == Status::Ok);
        CHECK(wrong.load() == 0);
        test::CheckOnly(runner.log, ReportCode::WrongThread, 1);  // "ba" unlocks b, too
    }
}

TEST_CASE("inspect: locks of threads, and locks without their holders", "[inspect][sync]") {
    for (const bool isWatched : {false, true}) {
        INFO(isWatched);
        SchedulerOptions options = test::Options(2);
        options.lockHolders = isWatched;
        test::Started runner(options);
        Mutex mutex(runner.scheduler);
        test::Batch waits(1, [&](TaskScheduler &, uint32_t) {
            mutex.lock();
            mutex.unlock();
        });
        const ExternalWork work(runner.scheduler);  // so that no stall is reported
        const auto describe = [&] {
            Told told;
            CHECK(test::SpinUntil([&] {
                told = Describe(runner.scheduler);
                return told.byName.count("waits") == 1;
            }));
            return told.byName["waits"];
        };
        Counter counter;
        // An external thread locks. Nothing is known about it.
        mutex.lock();
        runner.scheduler.AddTask(waits[0], &counter, test::Named("waits"));
        CHECK(describe().byFiber == kAnyWorker);
        CHECK(describe().lock == (isWatched ? &mutex : nullptr));
        mutex.unlock();
        runner.scheduler.WaitForCounter(&counter);
        // An attached thread locks, and an external thread unlocks.
        REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        const uint32_t fiber = runner.scheduler.CurrentFiber();
        CHECK(mutex.try_lock());
        runner.scheduler.AddTask(waits[0], &counter, test::Named("waits"));
        CHECK(describe().byFiber == (isWatched ? fiber : kAnyWorker));
        CHECK(describe().cause == (isWatched ? WaitCause::Working : WaitCause::Unknown));
        std::thread([&] { mutex.unlock(); }).join();
        runner.scheduler.WaitForCounter(&counter);
        // The thread does not hold it any more.
        std::thread([&] { mutex.lock(); }).join();
        runner.scheduler.AddTask(waits[0], &counter, test::Named("waits"));
        CHECK(describe().byFiber == kAnyWorker);
        mutex.unlock();
        runner.scheduler.WaitForCounter(&counter);
        runner.scheduler.DetachThread();
        runner.StopQuietly();
    }
}

TEST_CASE("report Stalled: names the holders of locks", "[inspect][idle][sync]") {
    SchedulerOptions options = test::Options(2, 18);
    options.lockHolders = true;
    test::Runner runner(options);
    Mutex mutex(runner.scheduler);
    std::thread external([&] {
        test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; });
        mutex.unlock();
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        test::Batch twice(1, [&](TaskScheduler &, uint32_t) {
            mutex.lock();
            mutex.lock();
            mutex.unlock();
        });
        scheduler.AddTask(twice[0], &counter, test::Named("twice"));
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    external.join();
    const std::string what = runner.log.First(ReportCode::Stalled).what;
    test::CheckNames(what, {"in a cycle: fiber ", "'twice' for lock ", " held by fiber "});
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("inspect: the counts of a scheduler and of its workers", "[inspect]") {
    const SchedulerOptions options = test::Options(1);
    test::RunQuietly(options, [&](TaskScheduler &scheduler) {
        const Statistics before = GetStatistics(scheduler);
        CHECK(before.workers == 1);
        CHECK(before.attachedThreads == 0);
        CHECK(before.fibers == test::FibersOf(options));
        CHECK(before.fibersInUse == 1);  // the main task
        CHECK(before.fibersTouched == 1);
        CHECK(before.pendingTasks == 1);
        CHECK(before.total.submitted == 1);
        Counter gate(1), counter;
        test::Batch waits = test::WaitsFor(gate, 0, 10);
        scheduler.AddTasks(10, waits.Tasks(), &counter);
        DescribeWhen(scheduler, 10);
        const Statistics now = GetStatistics(scheduler);
        CHECK(now.total.submitted == 11);
        CHECK(now.pendingTasks == 11);
        CHECK(now.fibersInUse == 11);
        CHECK(now.fibersTouched >= 11);
        CHECK(now.total.suspensions >= before.total.suspensions + 10);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
        test::Batch nothing(7, [](TaskScheduler &, uint32_t) {});
        const uint64_t inlineRuns = GetStatistics(scheduler).total.inlineRuns;
        scheduler.AddTasksAndWait(7, nothing.Tasks());
        const Statistics after = GetStatistics(scheduler);
        CHECK(after.total.finished == 17);
        CHECK(after.pendingTasks == 1);
        CHECK(after.fibersInUse == 1);
        CHECK(after.total.inlineRuns > inlineRuns);
        CHECK(after.total.inlineRuns <= inlineRuns + 7);
        const WorkerStatistics worker = GetWorkerStatistics(scheduler, 0);
        CHECK(worker.submitted == after.total.submitted);
        CHECK(worker.finished == after.total.finished);
        CHECK(worker.steals == 0);
        CHECK(worker.wakes == 0);
        CHECK(GetWorkerStatistics(scheduler, 1).submitted == 0);  // no thread is attached
    });
}

TEST_CASE("inspect: sleeps, wakes and steals are counted; tasks of external threads", "[inspect]") {
    test::HostQuietly(test::Options(2, 36, IdlePolicy::Sleep), [](TaskScheduler &scheduler) {
        const auto total = [&] { return GetStatistics(scheduler).total; };
        CHECK(test::SpinUntil([&] { return total().sleeps >= 2; }));  // both sleep
        Counter counter;
        // Each task runs only when the other one has begun. So the second worker steals one of
        // them.
        std::atomic<uint32_t> begun{0}, wrong{0};
        test::Batch meets(2, [&](TaskScheduler &, uint32_t) {
            begun.fetch_add(1);
            wrong += !test::SpinUntil([&] { return begun.load() == 2; });
        });
        test::Batch submits(1, [&](TaskScheduler &running, uint32_t) {
            running.AddTasks(2, meets.Tasks(), &counter);
            running.WaitForCounter(&counter);
        });
        Counter all;
        scheduler.AddTask(submits[0], &all);
        scheduler.WaitForCounter(&all);
        CHECK(wrong == 0);
        // A worker counts a task as finished after it has lowered the counter.
        CHECK(test::SpinUntil([&] { return total().finished == 3; }));
        const Statistics statistics = GetStatistics(scheduler);
        CHECK(statistics.submittedOutside == 1);
        CHECK(statistics.total.submitted == 2);
        CHECK(statistics.total.steals >= 1);
        CHECK(statistics.total.wakes >= 1);
        const WorkerStatistics first = GetWorkerStatistics(scheduler, 0);
        const WorkerStatistics second = GetWorkerStatistics(scheduler, 1);
        CHECK(first.finished + second.finished == 3);
    });
}

TEST_CASE("inspect: misuse is reported, and has no effect", "[inspect]") {
    test::Runner runner(test::Options(1));
    CHECK(GetStatistics(runner.scheduler).workers == 0);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(GetWorkerStatistics(runner.scheduler, 0).submitted == 0);
    CHECK(DescribeWaiters(runner.scheduler, Told::Tell, nullptr) == 0);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK(GetWorkerStatistics(scheduler, 9).submitted == 0);  // 1 worker and 8 slots
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
        CHECK(DescribeWaiters(scheduler, nullptr) == 0);
        CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
        const int64_t allocations = test::OutstandingAllocations();
        for (int64_t i = 0; i < 2; ++i) {
            const test::FailingAllocation failing(i, 1);
            CHECK(DescribeWaiters(scheduler, Told::Tell, nullptr) == 0);
            CHECK(failing.HasFailed());
        }
        CHECK(runner.log.CountOf(ReportCode::OutOfMemory) == 2);
        CHECK(test::OutstandingAllocations() == allocations);
    }) == Status::Ok);
}

TEST_CASE("watchdog: says nothing while tasks end, and ends with the run", "[inspect]") {
    constexpr std::chrono::milliseconds kLimit(40);
    for (const uint32_t workers : {1u, 3u}) {
        bool isSilent = false;
        // A thread of the test may be kept from running for so long that a report is right.
        for (int run = 0; run < 10 && !isSilent; ++run) {
            SchedulerOptions options = test::Options(workers);
            options.watchdogMilliseconds = kLimit.count();
            test::Runner runner(options);
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                test::Batch nothing(20, [](TaskScheduler &, uint32_t) {});
                // So long that a watchdog that overlooks the tasks reports.
                const Clock::time_point end = Now() + 4 * kLimit;
                while (Now() < end) scheduler.AddTasksAndWait(20, nothing.Tasks());
            }) == Status::Ok);
            isSilent = runner.log.Text() == "";
        }
        CHECK(isSilent);
    }
    SchedulerOptions options = test::Options(1);
    options.watchdogMilliseconds = 600001;
    test::Runner runner(options);
    CHECK(runner.scheduler.Start() == Status::BadOption);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "watchdogMilliseconds"));
}

TEST_CASE("watchdog: names the task that does not end", "[inspect]") {
    test::LoggedReport report;
    bool isReported = true;
    // A thread of the test may be kept from running for so long that the report comes too early.
    for (int run = 0; run < 10 && isReported && !test::Names(report.what, "'spins'"); ++run) {
        SchedulerOptions options = test::Options(1);
        options.watchdogMilliseconds = 20;
        test::Runner runner(options);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Counter counter, gate(1);
            const ExternalWork work(scheduler, "high scores");
            test::Batch waits = test::WaitsFor(gate);
            test::Batch spins(1, [&](TaskScheduler &, uint32_t) {
                isReported = test::SpinUntil([&] { return runner.log.Count() != 0; });
            });
            scheduler.AddTask(waits[0], &counter, test::Named("waits"));
            scheduler.Yield();
            scheduler.AddTask(spins[0], &counter, test::Named("spins"));
            scheduler.Yield();
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(isReported);
        test::CheckOnly(runner.log, ReportCode::NoProgress, 1);
        report = runner.log.First(ReportCode::NoProgress);
    }
    test::CheckNames(report.what, {"no task has ended for 20 ms, and 3 are pending", "'spins'",
                                   "perhaps ended by external work 'high scores'"});
    CHECK(test::Names(report.hint, "Divide the task that runs"));
}
