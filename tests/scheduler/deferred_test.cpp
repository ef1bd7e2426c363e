#include "weft/deferred.h"

#include "support/failing_allocation.h"
#include "support/quiet_run.h"
#include "support/trace_log.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::microseconds;

TEST_CASE("AddTaskAfter: a task runs after a counter, and sees what the counted tasks wrote",
          "[deferred][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> wrong{0}, ran{0};
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 20; ++round) {
                uint32_t sums[10] = {}, total = 0;
                Counter first, second;
                test::Batch batch(10, [&](TaskScheduler &running, uint32_t i) {
                    if (i % 4 == 0) running.Yield();
                    sums[i] = round + i;
                });
                test::Batch sum(1, [&](TaskScheduler &, uint32_t) {
                    for (uint32_t each : sums) total += each;
                    ran.fetch_add(1);
                });
                scheduler.AddTasks(10, batch.Tasks(), &first);
                AddTaskAfter(scheduler, &first, 0, sum[0], &second);
                // A deferred task is counted at once.
                if (second.IsZero() && total == 0) wrong.fetch_add(1);
                scheduler.WaitForCounter(&second);
                if (total != 45 + 10 * round) wrong.fetch_add(1);
            }
        });
        CHECK(ran.load() == 20);
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("AddTaskAfter: targets other than zero; targets that are already reached", "[deferred]") {
    for (uint32_t workers : {1u, 2u}) {
        std::vector<uint32_t> values;
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            Counter counter(3), done;
            test::Batch note(4,
                             [&](TaskScheduler &, uint32_t) { values.push_back(counter.Value()); });
            for (uint32_t value : {3u, 2u, 0u})
                AddTaskAfter(scheduler, &counter, value, note[value], &done);
            while (counter.Value() != 0) {
                scheduler.WaitForCounter(&done, counter.Value() == 3 ? 2 : 1);
                scheduler.DecrementCounter(&counter, counter.Value() == 3 ? 1 : 2);
            }
            scheduler.WaitForCounter(&done);
        });
        CHECK(values == std::vector<uint32_t>{3, 2, 0});
    }
}

// Each link of the chain has `width` tasks.
static void RunChain(uint32_t length, uint32_t width) {
    for (uint32_t workers : {1u, 2u, 3u}) {
        INFO(workers << " workers");
        std::vector<Counter> links(length + 1);
        std::atomic<uint32_t> ran{0}, wrong{0};
        test::Batch steps(length * width, [&](TaskScheduler &, uint32_t i) {
            // all tasks of the links before have run
            wrong.fetch_add(ran.fetch_add(1) / width != i / width);
        });
        test::RunQuietly(test::Options(workers, 3), [&](TaskScheduler &scheduler) {
            scheduler.IncrementCounter(&links[0]);
            for (uint32_t i = 0; i < length; ++i) {
                const Task *tasks = steps.Tasks() + i * width;
                if (width == 1)
                    AddTaskAfter(scheduler, &links[i], 0, *tasks, &links[i + 1]);
                else
                    AddTasksAfter(scheduler, &links[i], 0, width, tasks, &links[i + 1]);
            }
            scheduler.DecrementCounter(&links[0]);
            scheduler.WaitForCounter(&links[length]);
        });
        CHECK(ran.load() == length * width);
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("deferred tasks: a chain of tasks or of batches holds no fibers", "[deferred]") {
    RunChain(1000, 1);
    RunChain(200, 32);
}

TEST_CASE("AddTaskAt: tasks with equal times usually begin in the order of submission",
          "[deferred][one_worker]") {
    std::vector<uint32_t> order;
    const std::vector<uint32_t> asGiven{0, 1, 2, 3, 4};
    test::Batch batch(5, [&](TaskScheduler &, uint32_t i) { order.push_back(i); });
    uint32_t rounds = 0;
    test::RunQuietly(test::Options(1, 160, IdlePolicy::Sleep), [&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < 20; ++i) {
            Counter counter;
            const Clock::time_point time = Now() + microseconds(200);
            for (uint32_t each : asGiven) AddTaskAt(scheduler, time, batch[each], &counter);
            scheduler.WaitForCounter(&counter);
            rounds += order == asGiven;
            order.clear();
        }
    });
    CHECK(rounds >= 15);  // sometimes a worker takes the last item of a queue, see find_work.cpp
}

TEST_CASE("deferred tasks: submitted by an external thread, some of them pinned", "[deferred]") {
    Counter counter(1), done;
    std::atomic<uint32_t> elsewhere{0}, ran{0};
    test::Batch batch(20, [&](TaskScheduler &running, uint32_t i) {
        if (i % 2 != 0 && running.CurrentWorker() != 1) elsewhere.fetch_add(1);
        ran.fetch_add(1);
    });
    test::HostMayStall(test::Options(2), [&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < 20; ++i) {
            const TaskOptions options = i % 2 != 0 ? test::PinnedTo(1) : TaskOptions();
            if (i % 4 < 2) {
                AddTaskAfter(scheduler, &counter, 0, batch[i], &done, options);
            } else {
                AddTaskAt(scheduler, Now() + microseconds(i * 10), batch[i], &done, options);
            }
        }
        scheduler.WaitForCounter(&done, 10);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
    });
    CHECK(ran.load() == 20);
    CHECK(elsewhere.load() == 0);
}

TEST_CASE("deferred tasks: ten thousand wait for a counter, without blocking their submitter",
          "[deferred]") {
    constexpr uint32_t kTasks = 10000;
    std::atomic<uint32_t> ran{0};
    test::Batch leaf(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    test::RunMayStall(test::Options(2), [&](TaskScheduler &scheduler) {
        Counter counter(1), done;
        for (uint32_t i = 0; i < kTasks; ++i) AddTaskAfter(scheduler, &counter, 0, leaf[0], &done);
        CHECK(done.Value() == kTasks);
        CHECK(ran.load() == 0);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
    });
    CHECK(ran.load() == kTasks);
}

namespace {

// Submits `times` times `tasks` tasks after `afters` counters. There are 64 wait records at first,
// which is too few. The tasks themselves need no new memory if `before` tasks have run.
struct Submissions {
    const char *call;
    uint32_t times, afters, tasks, before;

    bool Submit(TaskScheduler &scheduler, Counter *counters, const Task *given,
                Counter *done) const {
        if (afters == 1) return AddTaskAfter(scheduler, counters, 0, *given, done);
        const CounterTarget after[] = {{&counters[0]}, {&counters[1]}, {&counters[2]}};
        return AddTasksAfter(scheduler, afters, after, tasks, given, done);
    }
};

void SubmitterWaits(const Submissions &its) {
    test::Started runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    Counter counters[3] = {Counter(1), Counter(1), Counter(1)}, done;
    std::atomic<uint32_t> ran{0};
    test::Batch leaf(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    std::atomic<bool> isReady{false};
    auto keepBusy = [&](TaskScheduler *) {
        while (!isReady.load()) std::this_thread::yield();
    };
    scheduler.AddTask(MakeTask(keepBusy), &done, test::PinnedTo(0));
    for (uint32_t i = 0; i < its.before; ++i) scheduler.AddTask(leaf[0], &done, test::PinnedTo(0));
    isReady.store(true);
    scheduler.WaitForCounter(&done);
    std::thread late([&] {
        while (runner.log.CountOf(ReportCode::OutOfMemory) == 0) std::this_thread::yield();
        for (Counter &counter : counters) scheduler.DecrementCounter(&counter);
    });
    {
        const test::FailingAllocation failing(0);
        for (uint32_t i = 0; i < its.times; ++i)
            its.Submit(scheduler, counters, leaf.Tasks(), &done);
    }
    late.join();
    scheduler.WaitForCounter(&done);
    scheduler.Stop();
    CHECK(ran.load() == its.before + its.times);
    CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).what,
                      its.call + std::string(": there is no memory for another wait record")));
    // A worker may have reported a stall before.
    CHECK(runner.log.Count() == 1 + runner.log.CountOf(ReportCode::Stalled));
}

void HookSubmitsNothing(const Submissions &its) {
    test::TraceLog trace;
    test::Runner runner(trace.In(test::Options(1)));
    Counter counters[3] = {Counter(1), Counter(1), Counter(1)}, done;
    uint32_t ran = 0, accepted = 0, refused = 0;
    test::Batch leaf(2, [&](TaskScheduler &, uint32_t) { ++ran; });
    test::Batch last(1, [](TaskScheduler &, uint32_t) {});
    trace.also = [&](test::Traced kind, const TraceEvent &event) {
        if (kind != test::Traced::TaskEnd || event.task == nullptr ||
            std::strcmp(event.task, "last") != 0)
            return;
        const test::FailingAllocation failing(0);
        for (uint32_t i = 0; i < its.times; ++i)
            ++(its.Submit(runner.scheduler, counters, leaf.Tasks(), &done) ? accepted : refused);
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < its.before; ++i) {
            scheduler.AddTask(leaf[0], &done, test::PinnedTo(0));
            AddTaskAt(scheduler, Now(), leaf[0], &done);
        }
        scheduler.WaitForCounter(&done);
        scheduler.AddTasksAndWait(1, last.Tasks(), test::Named("last"));
        // Batches that were refused run at once.
        scheduler.WaitForCounter(&done, its.tasks * accepted);
        for (Counter &counter : counters) scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&done);
    }) == Status::Ok);
    CHECK(accepted < its.times);
    CHECK(accepted + refused == its.times);
    CHECK(ran == 2 * its.before + its.tasks * accepted);
    test::CheckOnly(runner.log, ReportCode::OutOfMemory, refused);
    CHECK(test::Names(runner.log.First(ReportCode::OutOfMemory).what, "a hook cannot wait"));
    CHECK(test::Inconsistencies(trace.Events()) == "");
}

}  // namespace

TEST_CASE("deferred tasks: without memory for a wait record their submitter waits", "[deferred]") {
    SubmitterWaits({"AddTaskAfter", 70, 1, 1, 140});
    SubmitterWaits({"AddTasksAfter", 40, 2, 1, 0});
}

TEST_CASE("report OutOfMemory: without memory for a wait record a hook submits nothing deferred",
          "[deferred][hooks][one_worker]") {
    HookSubmitsNothing({"AddTaskAfter", 70, 1, 1, 140});
    HookSubmitsNothing({"AddTasksAfter", 30, 3, 2, 0});  // the second counter of the 22nd has none
}

TEST_CASE("deferred tasks: wrong calls are reported", "[deferred]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    test::Batch leaf(1, [&](TaskScheduler &, uint32_t) { ++ran; });
    Counter counter(1), other(1);
    const auto said = [&](const char *text) { return test::Names(runner.log.Text(), text); };
    CHECK(!AddTaskAfter(runner.scheduler, &counter, 0, leaf[0]));
    CHECK(said("AddTaskAfter was called while the scheduler does not run"));
    CHECK(!AddTaskAfter(runner.scheduler, nullptr, 0, leaf[0]));
    CHECK(said("AddTaskAfter: null counter"));
    CHECK(!AddTaskAt(runner.scheduler, Now(), leaf[0]));
    CHECK(said("AddTaskAt was called while the scheduler does not run"));
    test::Started second(test::Options(1));
    second.scheduler.IncrementCounter(&other);
    bool untouched = false;
    uint32_t accepted = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter done;
        accepted += AddTaskAfter(scheduler, &other, 0, leaf[0], &done);
        accepted += AddTaskAfter(scheduler, &counter, 0, {nullptr, nullptr}, &done);
        accepted += AddTaskAt(scheduler, Now(), leaf[0], &done, {static_cast<Priority>(7)});
        accepted += AddTaskAt(scheduler, Clock::time_point::max(), leaf[0], &done);
        accepted += AddTaskAfter(scheduler, &counter, 0, leaf[0], &counter);
        untouched = done.IsZero() && counter.Value() == 1 && accepted == 0;
        accepted += AddTaskAfter(scheduler, &done, 0, leaf[0]);
        accepted += AddTaskAfter(scheduler, &counter, 0, leaf[0]);
        accepted += AddTaskAt(scheduler, Now(), leaf[0]);
        accepted += AddTaskAfter(scheduler, &counter, 1, leaf[0], &counter);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(untouched);
    CHECK(accepted == 4);
    CHECK(ran == 4);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 3);
    CHECK(said("AddTaskAfter: task 0 has a null function"));
    CHECK(said("AddTaskAt: TaskOptions::priority is out of range"));
    second.scheduler.DecrementCounter(&other, 2);
    second.scheduler.Stop();
}
