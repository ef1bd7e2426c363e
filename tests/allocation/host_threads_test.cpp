// Tests SchedulerOptions::pendingTasks, as samples/host_threads/README.md describes it: nothing is
// allocated after Start, although nothing has been warmed up and the frames need more than the
// queues and pools have without this option.
#include "allocation/interposed.h"
#include "weft/closure.h"
#include "weft/deferred.h"
#include "weft/graph/graph.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr uint32_t kWorkers = 3, kThreads = kWorkers + 1;  // and one attached thread

// A round needs more than a queue has without the option (256 entries; 64 of
// tasks that go on after a wait). The rounds of all threads together need more than a pool has
// (64).
constexpr uint32_t kSingles = 300, kBatch = 400, kFew = 40, kWaits = 20, kSleepers = 80;
constexpr uint32_t kRound = 3 * kSingles + kBatch + 3 * kFew + 4 * kWaits + kSleepers;
constexpr uint32_t kGuests = 70, kFrames = 1000;
// the rounds and their tasks, the second counter of each wait for two, and what the other threads
// do
constexpr uint32_t kPending = kThreads * (kRound + 1 + 2 * kWaits) + 2 * kFew + kGuests + 20;

// The hooks of the host. Only the number of the calls is of interest.
struct Hooks {
    std::atomic<uint64_t> allocations{0};

    void AttachTo(MemoryHooks &hooks) {
        hooks.user = this;
        hooks.allocate = [](size_t bytes, size_t alignment, void *user) -> void * {
            static_cast<Hooks *>(user)->allocations.fetch_add(1);
            return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
        };
        hooks.release = [](void *memory, size_t, size_t alignment, void *) {
            ::operator delete(memory, std::align_val_t(alignment));
        };
    }
};

struct Host {
    std::atomic<uint64_t> work{0};
    std::atomic<uint32_t> begun{0}, submitted{0};
    std::atomic<bool> ends{false};
    Counter allWait{kThreads}, over{1};

    static void Work(TaskScheduler *, void *arg) { static_cast<Host *>(arg)->work.fetch_add(1); }

    // What a frame submits, and what its tasks wait for.
    struct Round {
        explicit Round(Host &its) : host(its) {}

        Host &host;
        Counter all, first{1}, second{1}, notYet{kWaits + kSleepers};

        static void WaitForFirst(TaskScheduler *scheduler, void *arg) {
            Round &self = *static_cast<Round *>(arg);
            Counter *const counters[] = {&self.first, &self.second};
            scheduler->DecrementCounter(&self.notYet);
            scheduler->WaitForAny(2, counters);
            self.host.work.fetch_add(1);
        }

        static void Sleep(TaskScheduler *scheduler, void *arg) {
            Round &self = *static_cast<Round *>(arg);
            scheduler->DecrementCounter(&self.notYet);
            scheduler->WaitForCounter(&self.first);
            self.host.work.fetch_add(1);
        }

        void Submit(TaskScheduler &scheduler) {
            const Task task{Work, &host};
            Task batch[kBatch];
            for (Task &each : batch) each = task;
            scheduler.AddTasks(kBatch, batch, &all);
            TaskOptions options;
            for (const Priority priority : {Priority::High, Priority::Normal, Priority::Low}) {
                options.priority = priority;
                for (uint32_t i = 0; i < kSingles; ++i) scheduler.AddTask(task, &all, options);
            }
            for (uint32_t i = 0; i < kFew; ++i) {
                TaskOptions pinned;
                pinned.worker = i % kWorkers;
                scheduler.AddTask(task, &all, pinned);
                AddTaskAfter(scheduler, &first, 0, task, &all);
                AddTask(
                    scheduler, [this] { host.work.fetch_add(1); }, &all);
            }
            const CounterTarget both[] = {{&first, 0}, {&second, 0}};
            for (uint32_t i = 0; i < kWaits; ++i) {
                AddTasksAfter(scheduler, 2, both, 2, batch, &all);
                AddTaskAt(scheduler, Now() + std::chrono::microseconds(100), task, &all);
                scheduler.AddTask({WaitForFirst, this}, &all);
            }
            for (uint32_t i = 0; i < kSleepers; ++i) scheduler.AddTask({Sleep, this}, &all);
        }

        // The waiters wait now. Begins what depends on the two counters.
        void Finish(TaskScheduler &scheduler) {
            scheduler.DecrementCounter(&first);
            scheduler.DecrementCounter(&second);
            for (Counter *counter : {&first, &second, &all}) scheduler.WaitForCounter(counter);
        }
    };

    static void Frame(TaskScheduler *scheduler, void *arg) {
        Round round(*static_cast<Host *>(arg));
        round.Submit(*scheduler);
        scheduler->WaitForCounter(&round.notYet);
        round.Finish(*scheduler);
    }

    static void Meet(std::atomic<uint32_t> &here) {
        for (++here; here != kThreads;) std::this_thread::yield();  // runs no task
    }
    // The worst frame: all threads submit before one of them runs a task.
    static void AtOnce(TaskScheduler *scheduler, void *arg) {
        Host &self = *static_cast<Host *>(arg);
        Round round(self);
        Meet(self.begun);
        round.Submit(*scheduler);
        Meet(self.submitted);
        scheduler->WaitForCounter(&round.notYet);
        scheduler->DecrementCounter(&self.allWait);
        scheduler->WaitForCounter(&self.allWait);
        round.Finish(*scheduler);
    }
    void AllAtOnce(TaskScheduler &scheduler) {
        Counter counter;
        for (uint32_t i = 0; i < kWorkers; ++i)
            scheduler.AddTask({AtOnce, this}, &counter, {Priority::Normal, i, "at once"});
        AtOnce(&scheduler, this);
        scheduler.WaitForCounter(&counter);
    }

    // A thread that is not attached.
    void External(TaskScheduler &scheduler) {
        const auto nothing = [](TaskScheduler *, void *) {};
        Task batch[kFew];
        for (Task &each : batch) each = {nothing, nullptr};
        while (!ends.load()) {
            Counter counter;
            scheduler.AddTasks(kFew, batch, &counter);
            for (uint32_t i = 0; i < kFew; ++i) scheduler.AddTask(batch[i], &counter);
            scheduler.WaitForCounter(&counter);
        }
    }
};

// Runs the worst frame, then `frames` others, on threads of the host. Returns how often weft asked
// the host for memory after Start.
uint64_t AllocationsAfterStart(uint32_t pendingTasks, IdlePolicy idle, uint32_t frames) {
    Hooks hooks;
    SchedulerOptions options;
    options.workers = kWorkers;
    options.maxAttached = 2;
    options.fibers = 600;
    options.hostThreads = true;
    options.idle = idle;
    options.pendingTasks = pendingTasks;
    hooks.AttachTo(options.memory);
    TaskScheduler scheduler(options);
    Host host;
    Graph graph(options);
    const GraphNode from = graph.AddNode("from", {Host::Work, &host});
    for (uint32_t i = 0; i < 10; ++i) graph.AddEdge(from, graph.AddNode("to", {Host::Work, &host}));
    CHECK(graph.Check() == Status::Ok);

    CHECK(scheduler.Start() == Status::Ok);
    const uint64_t atStart = hooks.allocations.load();
    std::thread threads[kWorkers];
    for (uint32_t i = 0; i < kWorkers; ++i)
        threads[i] = std::thread([&scheduler, i] { scheduler.RunWorker(i); });
    std::thread external([&] { host.External(scheduler); }), guests[kGuests];
    for (std::thread &guest : guests)
        guest = std::thread([&] { scheduler.WaitForCounter(&host.over); });
    CHECK(scheduler.AttachThread() == Status::Ok);

    const uint64_t before = test::CountedCalls();
    test::CountCalls(pendingTasks != 0);
    host.AllAtOnce(scheduler);
    for (uint32_t i = 0; i < frames; ++i) {
        const Task frame{Host::Frame, &host};
        scheduler.AddTasksAndWait(1, &frame);  // on any thread
        graph.Run(scheduler);
    }
    test::CountCalls(false);
    const uint64_t after = hooks.allocations.load();
    CHECK(test::CountedCalls() == before);
    CHECK(host.work.load() == uint64_t{kRound} * (kThreads + frames) + uint64_t{11} * frames);

    host.ends.store(true);
    external.join();
    scheduler.DecrementCounter(&host.over);
    for (std::thread &guest : guests) guest.join();
    scheduler.DetachThread();
    scheduler.Stop();
    for (std::thread &thread : threads) thread.join();
    return after - atStart;
}

}  // namespace

TEST_CASE("invariant 9: with pendingTasks, 1,000 frames on threads of the host allocate nothing",
          "[allocation]") {
    for (const IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Sleep})
        CHECK(AllocationsAfterStart(kPending, idle, kFrames) == 0);
    // otherwise this test shows nothing
    CHECK(AllocationsAfterStart(0, IdlePolicy::Balanced, 0) > 0);
}

TEST_CASE("invariant 9: with pendingTasks, few tasks that wait make no slab grow", "[allocation]") {
    constexpr uint32_t kKept = 20, kPasses = 80, kOthers = 1000;
    for (const uint32_t pendingTasks : {kKept * kPasses + kOthers + 1, 0u}) {
        Hooks hooks;
        SchedulerOptions options;
        options.workers = 1;
        options.pendingTasks = pendingTasks;
        hooks.AttachTo(options.memory);
        TaskScheduler scheduler(options);
        uint32_t ran = 0, ranBefore = 0;  // `ranBefore`: when the Low tasks still kept their blocks
        uint64_t grown = 0;
        auto work = [&](TaskScheduler *) { ++ran; };
        auto main = [&](TaskScheduler *running) {
            Task tasks[kOthers];
            for (Task &task : tasks) task = MakeTask(work);
            TaskOptions low;
            low.priority = Priority::Low;
            Counter kept;
            const uint64_t before = hooks.allocations.load();
            for (uint32_t i = 0; i < kPasses; ++i) {
                running->AddTasks(kKept, tasks, &kept, low);
                Counter others;  // no Low task runs in this wait
                running->AddTasks(kOthers, tasks, &others);
                running->WaitForCounter(&others, Meanwhile::NormalOrHigher);
            }
            ranBefore = ran;
            running->WaitForCounter(&kept);
            grown = hooks.allocations.load() - before;
        };
        const Task task = MakeTask(main);
        CHECK(scheduler.Run(task.function, task.arg) == Status::Ok);
        CHECK(ranBefore == kPasses * kOthers);
        CHECK(ran == kPasses * (kOthers + kKept));
        CHECK((grown == 0) == (pendingTasks != 0));
    }
}
