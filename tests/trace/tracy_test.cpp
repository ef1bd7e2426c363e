// What Tracy is told about fibers, tasks and frames. tracy_stand_in.h checks Tracy's rules.
#include "support/tracy_stand_in.h"

#include "weft/closure.h"
#include "weft/time.h"
#include "weft/trace/marks.h"
#include "weft/trace/tracy.h"

#include "platform/race_finder.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

namespace {

// They live until the program ends. So LeakSanitizer sees what they keep.
TracyTrace &NewTrace() {
    static std::mutex mutex;  // tasks call it, too
    static std::vector<TracyTrace *> &all = *new std::vector<TracyTrace *>;
    const std::lock_guard<std::mutex> lock(mutex);
    all.push_back(new TracyTrace);
    return *all.back();
}

SchedulerOptions Traced(SchedulerOptions options, const char *name = "weft") {
    options.trace = NewTrace().Hooks(name);
    test::ClearTracy();
    return options;
}

// A zone of the user, which must be the innermost one until it ends.
class Zone {
public:
    explicit Zone(std::atomic<uint32_t> &wrong) : m_wrong(wrong) {}
    ~Zone() {
        Check("user");
        ___tracy_emit_zone_end(m_zone);
    }
    Zone(const Zone &) = delete;
    Zone &operator=(const Zone &) = delete;
    void Check(const std::string &name) { m_wrong.fetch_add(test::InnermostZone() != name); }

private:
    static constexpr ___tracy_source_location_data kHere{"user", "user", "", 0, 0};
    std::atomic<uint32_t> &m_wrong;
    const TracyCZoneCtx m_zone = ___tracy_emit_zone_begin(&kHere, 1);
};

uint32_t Differs(const std::string &name) { return test::InnermostZone() != name; }

// The name of the plot that Traced leads to.
constexpr const char *kPlot = "weft workers asleep";

}  // namespace

TEST_CASE("Tracy: zones stay on the fiber of their task over waits, yields and sleeps",
          "[tracy][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(Traced(test::Options(point)));
        std::atomic<uint32_t> wrong{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            test::Batch leaves(30, [&](TaskScheduler &inside, uint32_t i) {
                const Zone zone(wrong);
                if (i % 10 == 0) inside.Yield();
            });
            test::Batch parents(10, [&](TaskScheduler &inside, uint32_t i) {
                wrong.fetch_add(Differs("parent"));
                const Zone zone(wrong);
                if (i % 3 == 0) SleepFor(inside, 50us);
                inside.AddTasksAndWait(leaves.Count(), leaves.Tasks(), test::Named("leaf"));
                inside.Yield();
            });
            for (uint32_t frame = 0; frame < 3; ++frame) {
                scheduler.AddTasksAndWait(parents.Count(), parents.Tasks(), test::Named("parent"));
                MarkFrame(scheduler, frame);
            }
        }) == Status::Ok);
        test::TracyLog log = test::Tracy();
        CHECK(log.wrong == "");
        CHECK(wrong.load() == 0);
        CHECK(log.zones["parent"] == 3 * 10);
        CHECK(log.zones["leaf"] == 3 * 10 * 30);
        CHECK(log.frames == 3);
        CHECK(log.fibers.size() <= test::FibersOf(test::Options(point)));
    }
}

TEST_CASE("Tracy: a task that continues on another thread keeps its zone", "[tracy]") {
    test::Runner runner(Traced(test::Options(2)));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    Counter gate(1), done;
    std::atomic<uint32_t> began{kAnyWorker}, wrong{0};
    std::atomic<bool> holds{false}, resumed{false}, held{false};
    std::string before, after;
    test::Batch waits(1, [&](TaskScheduler &inside, uint32_t) {
        const Zone zone(wrong);
        before = test::TracyFiber();
        began.store(inside.CurrentWorker());
        inside.WaitForCounter(&gate);
        after = test::TracyFiber();
        wrong.fetch_add(inside.CurrentWorker() == began.load());
        resumed.store(true);
    });
    // Keeps the worker on which the other task waits.
    test::Batch keeps(1, [&](TaskScheduler &, uint32_t) {
        wrong.fetch_add(Differs("keeps"));
        holds.store(true);
        held.store(test::SpinUntil([&] { return resumed.load(); }));
    });
    scheduler.AddTask(waits[0], &done, test::Named("waits"));
    CHECK(test::SpinUntil([&] { return began.load() != kAnyWorker; }));
    TaskOptions there = test::Named("keeps");
    there.worker = began.load();
    scheduler.AddTask(keeps[0], &done, there);
    CHECK(test::SpinUntil([&] { return holds.load(); }));
    scheduler.DecrementCounter(&gate);
    scheduler.WaitForCounter(&done);
    scheduler.Stop();
    CHECK(held.load());
    CHECK(wrong.load() == 0);
    CHECK(before == after);
    CHECK(before.rfind("weft ", 0) == 0);
    CHECK(test::Tracy().wrong == "");
}

TEST_CASE("Tracy: a task on top of a waiting one is a zone inside of its zone", "[tracy]") {
    test::Runner runner(Traced(test::Options(1)));
    std::atomic<uint32_t> wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch innermost(1, [&](TaskScheduler &, uint32_t) { wrong += Differs("third"); });
        test::Batch inner(1, [&](TaskScheduler &inside, uint32_t) {
            inside.AddTasksAndWait(1, innermost.Tasks(), test::Named("third"));
            wrong += Differs("second");
        });
        test::Batch outer(1, [&](TaskScheduler &inside, uint32_t) {
            inside.AddTasksAndWait(1, inner.Tasks(), test::Named("second"));
            wrong += Differs("first");
        });
        // A task that is due after a millisecond goes first, and the wait then has a fiber of its
        // own. If the thread loses its CPU for so long, the next round shows the usual case.
        const uint32_t rounds = internal::race::kFinder ? 1 : 1000;
        for (uint32_t round = 0; round < rounds && test::Tracy().deepest < 4; ++round)
            scheduler.AddTasksAndWait(1, outer.Tasks(), test::Named("first"));
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    const test::TracyLog log = test::Tracy();
    CHECK(log.wrong == "");
    if (!internal::race::kFinder) CHECK(log.deepest == 4);
}

TEST_CASE("Tracy: attached threads and external threads keep their own zones", "[tracy]") {
    const uint32_t workers = GENERATE(0u, 1u, 2u);
    test::Runner runner(Traced(test::Options(workers)));
    TaskScheduler &scheduler = runner.scheduler;
    std::atomic<uint32_t> wrong{0};
    test::Batch tasks(20, [&](TaskScheduler &inside, uint32_t) {
        const Zone zone(wrong);
        inside.Yield();
    });
    REQUIRE(scheduler.Start() == Status::Ok);
    {
        const Zone outside(wrong);
        REQUIRE(scheduler.AttachThread() == Status::Ok);
        test::Threads external(2, [&](uint32_t thread) {
            const Zone zone(wrong);
            scheduler.AddTasksAndWait(tasks.Count(), tasks.Tasks(), test::Named("external"));
            MarkFrame(scheduler, thread);
        });
        for (int i = 0; i < 10; ++i) {
            const Zone zone(wrong);
            scheduler.AddTasksAndWait(tasks.Count(), tasks.Tasks(), test::Named("attached"));
            scheduler.Yield();
            wrong.fetch_add(test::TracyFiber() != "-");
        }
        std::atomic<bool> joined{false};
        test::Threads joins(1, [&](uint32_t) {
            external.Join();
            joined.store(true);
        });
        CHECK(test::YieldUntil(scheduler, [&] { return joined.load(); }));
        scheduler.DetachThread();
    }
    scheduler.Stop();
    CHECK(wrong.load() == 0);
    test::TracyLog log = test::Tracy();
    CHECK(log.wrong == "");
    CHECK(log.zones["attached"] == 10 * 20);
    CHECK(log.zones["external"] == 2 * 20);
    CHECK(log.zones["user"] == 10 * 20 + 2 * 20 + 10 + 2 + 1);
    CHECK(log.frames == 2);
}

TEST_CASE("Tracy: a task on an attached thread's own stack is a zone of the thread", "[tracy]") {
    const SchedulerOptions options = test::Options(1, 2);
    const uint32_t fibers = test::FibersOf(options);
    test::Runner runner(Traced(options));
    TaskScheduler &scheduler = runner.scheduler;
    Counter gate(1), held(fibers);
    std::atomic<uint32_t> wrong{0};
    test::Batch holder(fibers, [&](TaskScheduler &inside, uint32_t) {  // on all fibers
        const Zone zone(wrong);
        inside.DecrementCounter(&held);
        inside.WaitForCounter(&gate);
    });
    test::Batch pinned(1, [&](TaskScheduler &inside, uint32_t) {
        wrong.fetch_add(Differs("pinned") + (test::TracyFiber() != "-"));
        inside.DecrementCounter(&gate);
        inside.Yield();
        wrong.fetch_add(Differs("pinned") + (test::TracyFiber() != "-"));
    });
    REQUIRE(scheduler.Start() == Status::Ok);
    scheduler.AddTasks(fibers, holder.Tasks(), nullptr, test::Named("holder"));
    scheduler.WaitForCounter(&held);
    REQUIRE(scheduler.AttachThread() == Status::Ok);
    TaskOptions here = test::Named("pinned");
    here.worker = scheduler.CurrentWorker();
    {
        const Zone zone(wrong);
        scheduler.AddTask(pinned[0], nullptr, here);
        CHECK(scheduler.RunPinnedTasks() == 1);
    }
    scheduler.DetachThread();
    scheduler.Stop();
    CHECK(wrong.load() == 0);
    test::TracyLog log = test::Tracy();
    CHECK(log.wrong == "");
    CHECK(log.zones["pinned"] == 1);
}

TEST_CASE("Tracy: a task that runs another scheduler is on its own fiber afterwards", "[tracy]") {
    test::Runner runner(Traced(test::Options(2), "outer"));
    std::atomic<uint32_t> wrong{0};
    const auto runInner = [&] {
        const Zone zone(wrong);
        const std::string fiber = test::TracyFiber();
        wrong.fetch_add(fiber.rfind("outer ", 0) != 0);
        SchedulerOptions options = test::Options(1);
        options.trace = NewTrace().Hooks("inner");
        test::Runner inner(options);
        test::Batch tasks(10, [&](TaskScheduler &inside, uint32_t) {
            const Zone ofTask(wrong);
            inside.Yield();
            wrong.fetch_add(test::TracyFiber().rfind("inner ", 0) != 0);
        });
        const auto body = [&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(tasks.Count(), tasks.Tasks(), test::Named("inner"));
        };
        wrong.fetch_add(inner.Run(body) != Status::Ok);
        wrong.fetch_add(test::TracyFiber() != fiber);
        wrong.fetch_add(inner.scheduler.Start() != Status::Ok);
        wrong.fetch_add(inner.scheduler.AttachThread() != Status::Ok);
        body(inner.scheduler);
        wrong.fetch_add(test::TracyFiber() != fiber);
        inner.scheduler.DetachThread();
        inner.scheduler.Stop();
        wrong.fetch_add(test::TracyFiber() != fiber);
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch tasks(3, [&](TaskScheduler &, uint32_t) { runInner(); });
        Counter counter;
        scheduler.AddTasks(tasks.Count(), tasks.Tasks(), &counter, test::Named("outer"));
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    test::TracyLog log = test::Tracy();
    CHECK(log.wrong == "");
    CHECK(log.zones["inner"] == 3 * 2 * 10);
    CHECK(log.zones["outer"] == 3);
}

TEST_CASE("Tracy: each name of a task has one source location, and a copy of the name", "[tracy]") {
    test::Runner runner(Traced(test::Options(3)));
    std::atomic<uint32_t> wrong{0};
    char name[] = "name 0";  // the text at one address changes
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (char digit = '0'; digit <= '9'; ++digit) {
            name[5] = digit;
            const std::string expected = name;
            test::Batch tasks(40, [&](TaskScheduler &, uint32_t) { wrong += Differs(expected); });
            scheduler.AddTasksAndWait(tasks.Count(), tasks.Tasks(), test::Named(name));
        }
        scheduler.AddTasksAndWait(1, test::Batch(1, [](TaskScheduler &, uint32_t) {}).Tasks());
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    const test::TracyLog log = test::Tracy();
    CHECK(log.wrong == "");
    size_t named = 0, unnamed = 0;
    for (const auto &zone : log.zones) {
        named += zone.first.rfind("name ", 0) == 0 && zone.second == 40;
        unnamed += zone.first.rfind("task 0x", 0) == 0 && zone.first.size() > 7;
    }
    CHECK(named == 10);
    CHECK(unnamed == 1);
    CHECK(log.locations.size() == log.zones.size());
}

TEST_CASE("Tracy: the plot of sleeping workers ends with their number", "[tracy]") {
    SchedulerOptions options = test::Options(3);
    options.idle = IdlePolicy::Sleep;
    test::Runner runner(Traced(options));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    for (int i = 0; i < 20; ++i) {
        test::Marks tasks(6);
        scheduler.AddTasksAndWait(6, tasks.Tasks());
    }
    const auto allSleep = [] {
        const std::vector<int64_t> plotted = test::Tracy().plots[kPlot];
        return !plotted.empty() && plotted.back() == 3;
    };
    CHECK(test::SpinUntil(allSleep));
    scheduler.Stop();
    const std::vector<int64_t> plotted = test::Tracy().plots[kPlot];
    for (const int64_t value : plotted) CHECK((value >= 0 && value <= 4));  // Stop attaches itself
    CHECK(plotted.back() == 0);
    CHECK(test::Tracy().wrong == "");
}
