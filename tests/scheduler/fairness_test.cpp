// What the policy promises, as far as a test needs no clock. The simulator's fair models check how
// long work may wait.
#include "core/counter_word.h"
#include "support/child_process.h"
#include "support/quiet_run.h"
#include "support/submitters.h"
#include "sync/mix.h"
#include "weft/external_work.h"
#include "weft/sync/ticket_queue.h"
#include "weft/time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <numeric>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

// Uses `bytes` of the calling stack.
static void UseStack(size_t bytes) {
    volatile char *memory = static_cast<volatile char *>(__builtin_alloca(bytes));
    for (size_t i = 0; i < bytes; i += 512) memory[i] = 1;
}

TEST_CASE("fair: a task that runs inline has a whole stack", "[fair]") {
    for (const bool fused : {false, true}) {
        const size_t stack = test::Options(1).stackBytes;
        struct Sizes {
            size_t child, parent;
            bool fused;
        } sizes{stack / 16 * 14, stack / 16 * 6, fused};
        struct Tasks {
            static void Child(TaskScheduler *, void *arg) {
                UseStack(static_cast<Sizes *>(arg)->child);
            }
            static void Parent(TaskScheduler *scheduler, void *arg) {
                const Sizes &its = *static_cast<Sizes *>(arg);
                UseStack(its.parent);
                volatile char *frame = static_cast<volatile char *>(__builtin_alloca(its.parent));
                frame[0] = 1;
                const Task children[2] = {{Child, arg}, {Child, arg}};
                if (its.fused) return scheduler->AddTasksAndWait(2, children);
                Counter counter;
                scheduler->AddTasks(2, children, &counter);
                scheduler->WaitForCounter(&counter);
            }
        };
        test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
            const Task parent{Tasks::Parent, &sizes};
            scheduler.AddTasksAndWait(1, &parent);
            Counter counter;
            scheduler.AddTask(parent, &counter);
            test::YieldUntil(scheduler, [&] { return counter.IsZero(); });
        });
    }
}

TEST_CASE("fair: PrepareToBlock gives up the claim and the pending decrements", "[fair]") {
    constexpr uint32_t kTasks = 200;
    std::atomic<bool> released{false};
    bool met = false;
    Counter counter;
    test::Batch batch(kTasks, [&](TaskScheduler &scheduler, uint32_t i) {
        if (i != kTasks / 2) return;
        scheduler.PrepareToBlock();
        met = test::SpinUntil([&] { return released.load(); });
    });
    test::Batch waiter(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.WaitForCounter(&counter, 1);
        released.store(true);
    });
    CHECK(test::Runner(test::Options(2)).Run([&](TaskScheduler &scheduler) {
        Counter all;
        scheduler.AddTasks(kTasks, batch.Tasks(), &counter);
        scheduler.AddTask(waiter[0], &all, test::kHigh);
        scheduler.WaitForCounter(&counter);
        scheduler.WaitForCounter(&all);
    }) == Status::Ok);
    CHECK(met);
}

TEST_CASE("fair: many High tasks that wait for Normal ones end, with any number of fibers",
          "[fair]") {
    for (const uint32_t fibers : {0u, 4u}) {
        for (const uint32_t workers : {1u, 2u, 8u}) {
            for (const bool fused : {true, false}) {
                INFO(workers << " workers, " << fibers << " fibers" << (fused ? ", fused" : ""));
                std::atomic<uint32_t> ran{0};
                test::Batch children(100, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
                test::Batch parents(200, [&](TaskScheduler &scheduler, uint32_t) {
                    if (fused) return scheduler.AddTasksAndWait(100, children.Tasks());
                    test::AddAndWait(scheduler, children);
                });
                test::RunQuietly(test::Options(workers, fibers),
                                 test::RunsAll(parents, test::kHigh));
                CHECK(ran.load() == 200 * 100);
            }
        }
    }
}

TEST_CASE("fair: a thousand tickets of one batch get their turn", "[fair][tickets]") {
    const test::Submitter submitter =
        GENERATE(test::Submitter::Main, test::Submitter::HeldUp, test::Submitter::Outside);
    INFO("submitter " << static_cast<int>(submitter));
    constexpr uint32_t kTickets = 1000;
    test::Runner runner(test::Options(1, 128));
    TicketQueue order(runner.scheduler);
    std::vector<uint32_t> done;
    std::deque<Ticket> tickets;
    for (uint32_t i = 0; i < kTickets; ++i) tickets.push_back(order.Take());
    test::Batch batch(kTickets, [&](TaskScheduler &, uint32_t i) {
        tickets[i].Wait();
        done.push_back(i);
        tickets[i].Done();
    });
    test::RunBatch(runner.scheduler, submitter, kTickets, batch.Tasks());
    bool inOrder = done.size() == kTickets;
    for (uint32_t i = 0; inOrder && i < kTickets; ++i) inOrder = done[i] == i;
    CHECK(inOrder);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("fair: a timed wait runs the task that it waits for with two fibers", "[fair]") {
    std::atomic<uint32_t> ran{0};
    test::Batch child(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
    bool inTime = false;
    CHECK(test::Runner(test::Options(2, 2)).Run([&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTask(child[0], &counter);
        inTime = WaitForCounterFor(scheduler, &counter, std::chrono::hours(1));
    }) == Status::Ok);
    CHECK(inTime);
    CHECK(ran.load() == 1);
}

TEST_CASE("fair: by default there is a fiber for each worker", "[fair]") {
    constexpr uint32_t kWorkers = 150;
    uint32_t alone = kWorkers;
    CHECK(test::Runner(test::Options(kWorkers, 0)).Run([&](TaskScheduler &scheduler) {
        alone = test::Meet(scheduler, kWorkers);
    }) == Status::Ok);
    CHECK(alone == 0);
}

static SchedulerOptions WithShortGrace() {
    SchedulerOptions options = test::Options(2);
    options.stopGraceMilliseconds = 1;
    return options;
}

TEST_CASE("fair: after the grace time external threads are refused, but tasks are served",
          "[fair][stop]") {
    constexpr uint32_t kLinks = 1000;
    test::Runner runner(WithShortGrace());
    test::ReportLog &log = runner.log;
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    std::atomic<bool> over{false};
    std::atomic<uint32_t> links{0};
    test::Batch leaf(1, [](TaskScheduler &, uint32_t) {});
    test::Batch link(1, [&](TaskScheduler &running, uint32_t) {
        if (links.fetch_add(1) + 1 < kLinks) running.AddTask(link[0]);
    });
    // The run cannot end before a thread has been refused.
    test::Batch keeper(1, [&](TaskScheduler &running, uint32_t) {
        test::YieldUntil(running, [&] { return log.CountOf(ReportCode::RunEnding) != 0; });
        running.AddTask(link[0]);
    });
    scheduler.AddTask(keeper[0]);
    std::thread loop([&] {
        while (!over.load()) scheduler.AddTasksAndWait(1, leaf.Tasks());
    });
    scheduler.Stop();
    over.store(true);
    loop.join();
    CHECK(log.CountOf(ReportCode::RunEnding) == 1);
    CHECK(links.load() == kLinks);
}

TEST_CASE("fair: the end of a run names the external thread that delays it", "[fair][stop]") {
    test::Runner runner(WithShortGrace());
    test::ReportLog &log = runner.log;
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    Counter counter(1);
    std::thread waiter([&] { scheduler.WaitForCounter(&counter); });
    std::thread lowers([&] {
        test::SpinUntil([&] { return log.CountOf(ReportCode::EndDelayed) != 0; });
        scheduler.DecrementCounter(&counter);
    });
    // The thread waits once its counter has a waiter. Before that, Stop might refuse the thread.
    CHECK(test::SpinUntil(
        [&] { return (internal::CounterAccess::Word(counter).load() & 0xFFFFFE00u) != 0; }));
    scheduler.Stop();
    lowers.join();
    waiter.join();
    CHECK(log.CountOf(ReportCode::EndDelayed) == 1);
}

TEST_CASE("fair: the end of a run names an attached thread that is busy outside of weft",
          "[fair][stop]") {
    test::Runner runner(WithShortGrace());
    test::ReportLog &log = runner.log;
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    std::atomic<bool> isAttached{false}, wasReported{false};
    std::thread busy([&] {
        const bool attached = scheduler.AttachThread() == Status::Ok;
        isAttached.store(true);
        wasReported =
            attached && test::SpinUntil([&] { return log.CountOf(ReportCode::EndDelayed) != 0; });
        if (attached) scheduler.DetachThread();
    });
    CHECK(test::SpinUntil([&] { return isAttached.load(); }));
    scheduler.Stop();
    busy.join();
    CHECK(wasReported.load());
}

TEST_CASE("Stop in onReport is refused", "[fair][stop]") {
    struct Host {
        TaskScheduler *scheduler = nullptr;
        std::atomic<uint32_t> reports{0};
    } host;
    SchedulerOptions options = test::Options(1);
    options.user = &host;
    options.onReport = [](const Report &, void *user) {
        Host &its = *static_cast<Host *>(user);
        its.reports.fetch_add(1);
        its.scheduler->Stop();
    };
    TaskScheduler scheduler(options);
    host.scheduler = &scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    scheduler.AddTask({nullptr, nullptr});
    CHECK(host.reports.load() == 1);
    scheduler.Stop();
}

TEST_CASE("fair: the process may exit in onReport of an external thread", "[fair][stop]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        SchedulerOptions options = test::Options(2);
        options.onReport = [](const Report &, void *) { std::exit(9); };
        static TaskScheduler scheduler(options);  // the destructor runs in exit
        if (scheduler.Start() != Status::Ok) std::_Exit(1);
        scheduler.AddTask({nullptr, nullptr});
    });
    CHECK(child.exited);
    CHECK(child.code == 9);
    // nobody has called Stop, so the report does not speak of it
    CHECK(test::Names(child.output, "the destructor of TaskScheduler was called by onReport"));
    CHECK(!test::Names(child.output, "Stop"));
}

// While a task ran for long, the levels had no work, so they are owed nothing for that time.
TEST_CASE("fair: after a long task, new work begins in the order of its priorities", "[fair]") {
    int inOrder = 0;
    for (int tries = 0; inOrder == 0 && tries < 5; ++tries) {  // the thread may lose its CPU
        std::vector<int> order;
        CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
            Counter all;
            test::Batch batch(
                3, [&](TaskScheduler &, uint32_t i) { order.push_back(static_cast<int>(i)); });
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
            for (const TaskOptions &options : {test::kLow, TaskOptions(), test::kHigh})
                scheduler.AddTask(batch[static_cast<uint32_t>(options.priority)], &all, options);
            scheduler.WaitForCounter(&all);
        }) == Status::Ok);
        inOrder += order == std::vector<int>{0, 1, 2};
    }
    CHECK(inOrder == 1);
}

TEST_CASE("fair: pinned tasks run in the order of their priorities", "[fair]") {
    std::vector<int> order;
    test::OneThread thread;  // its picks are the same each time
    REQUIRE(thread.IsFit());
    TaskScheduler &scheduler = thread.Scheduler();
    Counter all;
    test::Batch batch(3,
                      [&](TaskScheduler &, uint32_t i) { order.push_back(static_cast<int>(i)); });
    for (const Priority priority : {Priority::Low, Priority::Normal, Priority::High})
        scheduler.AddTask(batch[static_cast<uint32_t>(priority)], &all, {priority, 0});
    scheduler.WaitForCounter(&all);
    CHECK(order == std::vector<int>{0, 1, 2});  // High is 0
}

TEST_CASE("fair: no Low task runs between High ones", "[fair]") {
    constexpr uint32_t kHigh = 100, kLow = 19;
    std::vector<Priority> order;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        Counter all;
        test::Batch low(kLow, [&](TaskScheduler &, uint32_t) { order.push_back(Priority::Low); });
        test::Batch high(kHigh,
                         [&](TaskScheduler &, uint32_t) { order.push_back(Priority::High); });
        scheduler.AddTasks(kLow, low.Tasks(), &all, test::kLow);
        for (uint32_t i = 0; i < kHigh; ++i) scheduler.AddTask(high[i], &all, test::kHigh);
        scheduler.WaitForCounter(&all);
    }) == Status::Ok);
    REQUIRE(order.size() == kHigh + kLow);
    CHECK(std::is_sorted(order.begin(), order.end()));  // High is 0
}

// Returns true if the High fiber goes on first. `pumps`: all tasks are pinned, and begin in
// RunPinnedTasks.
static bool HighGoesFirst(ResumeOn resume, bool pumps) {
    std::vector<int> order;
    CHECK(test::Runner(test::Options(1)).Run([&](TaskScheduler &scheduler) {
        Counter gate(1), all;
        const uint32_t worker = pumps ? scheduler.CurrentWorker() : kAnyWorker;
        bool waits = false;
        test::Batch high(1, [&](TaskScheduler &running, uint32_t) {
            waits = true;
            running.WaitForCounter(&gate, 0, resume);
            order.push_back(-1);
        });
        test::Batch low(20,
                        [&](TaskScheduler &, uint32_t i) { order.push_back(static_cast<int>(i)); });
        test::Batch yields(1, [&](TaskScheduler &running, uint32_t) {
            running.AddTasks(20, low.Tasks(), &all, {Priority::Low, worker});
            running.DecrementCounter(&gate);
            running.Yield();
        });
        scheduler.AddTask(high[0], &all, {Priority::High, worker});
        test::YieldUntil(scheduler, [&] { return waits; });
        scheduler.AddTask(yields[0], &all, {Priority::Normal, worker});
        for (; !all.IsZero(); scheduler.Yield()) {
            if (pumps) scheduler.RunPinnedTasks();
        }
    }) == Status::Ok);
    REQUIRE(order.size() == 21);
    return order.front() == -1;
}

TEST_CASE("fair: at a yield, a ready High fiber runs before Low tasks", "[fair]") {
    const ResumeOn resume = GENERATE(ResumeOn::AnyWorker, ResumeOn::SameWorker);
    const bool pumps = GENERATE(false, true);
    INFO("resume " << static_cast<int>(resume) << ", pumps " << pumps);
    bool isFirst = false;
    for (int tries = 0; !isFirst && tries < 5; ++tries) isFirst = HighGoesFirst(resume, pumps);
    CHECK(isFirst);
}

TEST_CASE("fair: a thief takes the last tasks of a batch", "[fair][order]") {
    constexpr uint32_t kTasks = 8;
    std::atomic<uint32_t> first{kTasks};
    test::Batch batch(kTasks, [&](TaskScheduler &, uint32_t i) {
        uint32_t none = kTasks;
        first.compare_exchange_strong(none, i);
    });
    bool isStolen = false;
    CHECK(test::Runner(test::Options(2)).Run([&](TaskScheduler &scheduler) {
        Counter all;
        scheduler.AddTasks(kTasks, batch.Tasks(), &all);
        // The other worker steals a task.
        isStolen = test::SpinUntil([&] { return first.load() != kTasks; });
        scheduler.WaitForCounter(&all);
    }) == Status::Ok);
    CHECK(isStolen);
    CHECK(first.load() == kTasks - 1);
}

TEST_CASE("fair: SetPriority changes the order of waiting tasks", "[fair]") {
    std::vector<int> order;
    test::OneThread thread;  // its picks are the same each time
    REQUIRE(thread.IsFit());
    TaskScheduler &scheduler = thread.Scheduler();
    Counter gate(1), all;
    test::Batch waiter(2, [&](TaskScheduler &running, uint32_t i) {
        running.SetPriority(i == 0 ? Priority::Low : Priority::High);
        running.WaitForCounter(&gate);
        order.push_back(static_cast<int>(i));
    });
    scheduler.AddTasks(2, waiter.Tasks(), &all);
    scheduler.Yield();
    scheduler.Yield();
    scheduler.DecrementCounter(&gate);
    scheduler.WaitForCounter(&all);
    CHECK(order == std::vector<int>{1, 0});
}
