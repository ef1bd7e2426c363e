// Tests invariant 9: the steady path of add, run, wait and resume allocates nothing, and makes few
// system calls.
#include "allocation/interposed.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr TaskOptions kHigh{Priority::High, kAnyWorker, "high"};
constexpr TaskOptions kLow{Priority::Low, kAnyWorker, "low"};

// A small form of what the frame of a game does. The numbers of tasks fit the initial size of
// queues and slabs.
struct Game {
    std::atomic<uint64_t> work{0};
    std::atomic<uint32_t> externalFrame{0};
    std::atomic<bool> quit{false};
    Counter event;
    uint64_t callsSeen = ~uint64_t{0}, systemCallsSeen = ~uint64_t{0};

    static void Small(TaskScheduler *, void *arg) { static_cast<Game *>(arg)->work.fetch_add(1); }

    static void Forks(TaskScheduler *scheduler, void *arg) {
        const Task tasks[3] = {{Small, arg}, {Small, arg}, {Small, arg}};
        scheduler->AddTasksAndWait(3, tasks);
        Counter counter;
        scheduler->AddTasks(3, tasks, &counter);
        scheduler->WaitForCounter(&counter, 1);
        scheduler->WaitForCounter(&counter, 0, ResumeOn::SameWorker);
        Small(scheduler, arg);
    }

    static void Yields(TaskScheduler *scheduler, void *arg) {
        scheduler->Yield();
        Small(scheduler, arg);
        scheduler->Yield();
    }

    void Frame(TaskScheduler *scheduler, uint32_t number) {
        Task batch[200], forks[12], yields[6];
        for (Task &task : batch) task = {Small, this};
        for (Task &task : forks) task = {Forks, this};
        for (Task &task : yields) task = {Yields, this};
        scheduler->IncrementCounter(&event);
        externalFrame.store(number);  // then the external thread decrements `event`
        Counter all, other;
        scheduler->AddTasks(200, batch, &all);
        scheduler->AddTasks(12, forks, &all, kHigh);
        scheduler->AddTasks(6, yields, &other, kLow);
        scheduler->AddTasks(6, forks, &other);
        scheduler->WaitForCounter(&other, 6);
        scheduler->WaitForCounter(&all);
        scheduler->AddTasksAndWait(100, batch);
        scheduler->AddTask({Small, this}, &all, kHigh);
        scheduler->WaitForCounter(&other);
        scheduler->WaitForCounter(&all);
        scheduler->WaitForCounter(&event);
    }
    static constexpr uint64_t kWorkPerFrame = 200 + 12 * 7 + 6 + 6 * 7 + 100 + 1;

    // The limit of system calls for a frame. A submission wakes at most two workers. A fiber that
    // continues wakes at most one. Each woken worker sleeps once more. A single worker sleeps only
    // when it waits for the external thread: at most four calls.
    static constexpr uint32_t kSubmissions = 6 + 18 * 2, kGoOn = 5 + 18 * 2 + 6 * 2;
    static constexpr uint32_t kMaxSystemCalls = 2 * (2 * kSubmissions + kGoOn);

    static constexpr uint32_t kWarmUp = 300, kFrames = 1000;

    void Frames(TaskScheduler *scheduler) {
        for (uint32_t i = 1; i <= kWarmUp; ++i) Frame(scheduler, i);
        const uint64_t before = test::CountedCalls(),
                       systemCallsBefore = test::CountedSystemCalls();
        test::CountCalls(true);
        for (uint32_t i = 1; i <= kFrames; ++i) Frame(scheduler, kWarmUp + i);
        test::CountCalls(false);
        callsSeen = test::CountedCalls() - before;
        systemCallsSeen = test::CountedSystemCalls() - systemCallsBefore;
    }

    void External(TaskScheduler &scheduler) {
        uint32_t seen = 0;
        while (!quit.load()) {
            if (externalFrame.load() == seen) {
                std::this_thread::yield();
                continue;
            }
            ++seen;
            scheduler.DecrementCounter(&event);
        }
    }
};

}  // namespace

TEST_CASE("interposed functions: each call is counted", "[allocation]") {
    const auto calls = [](auto action) {
        const uint64_t before = test::CountedCalls();
        test::CountCalls(true);
        action();
        test::CountCalls(false);
        return test::CountedCalls() - before;
    };
    static void *volatile memory = nullptr;
    CHECK(calls([] {}) == 0);
    CHECK(calls([] { memory = std::malloc(10); }) == 1);
    CHECK(calls([] { std::free(memory); }) == 1);
    CHECK(calls([] { memory = ::operator new(10); }) == 1);
    CHECK(calls([] { ::operator delete(memory); }) == 1);
    CHECK(calls([] { memory = ::operator new(10, std::align_val_t(128), std::nothrow); }) == 1);
    CHECK(calls([] { ::operator delete(memory, std::align_val_t(128)); }) == 1);
    CHECK(calls([] {
              memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          }) == 1);
    CHECK(calls([] { mprotect(memory, 4096, PROT_NONE); }) == 1);
    CHECK(calls([] { madvise(memory, 4096, MADV_NORMAL); }) == 1);
    CHECK(calls([] { munmap(memory, 4096); }) == 1);
    const uint64_t before = test::CountedSystemCalls();
    test::CountCalls(true);
    CHECK(syscall(SYS_getpid) == getpid());
    test::CountCalls(false);
    CHECK(test::CountedSystemCalls() - before == 1);
}

namespace {

// Checks frames with these options. `run` runs the frames on the scheduler.
template <class Run>
void CheckFrames(const SchedulerOptions &given, bool alone, const Run &run) {
    SchedulerOptions options = given;
    for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Sleep}) {
        INFO(options.workers << " workers");
        options.idle = idle;
        // ignores reports of waits, while the external thread is late
        options.onReport = [](const Report &, void *) {};
        TaskScheduler scheduler(options);
        Game game;
        std::thread external([&] { game.External(scheduler); });
        run(scheduler, game);
        game.quit.store(true);
        external.join();
        CHECK(game.callsSeen == 0);
        INFO(game.systemCallsSeen << " system calls");
        CHECK(game.systemCallsSeen <= Game::kFrames * (alone ? 4 : Game::kMaxSystemCalls));
        CHECK(game.work.load() == Game::kWorkPerFrame * (Game::kWarmUp + Game::kFrames));
    }
}

}  // namespace

TEST_CASE("invariant 9: 1,000 frames of a run allocate nothing and make few system calls",
          "[allocation]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        SchedulerOptions options;
        options.workers = workers;
        CheckFrames(options, workers == 1, [](TaskScheduler &scheduler, Game &game) {
            auto frames = [&](TaskScheduler *running) { game.Frames(running); };
            const Task main = MakeTask(frames);
            CHECK(scheduler.Run(main.function, main.arg) == Status::Ok);
        });
    }
}

TEST_CASE(
    "invariant 9: 1,000 frames of an attached thread allocate nothing and make few system calls",
    "[allocation]") {
    for (uint32_t workers : {0u, 1u, 2u}) {
        SchedulerOptions options;
        options.workers = workers;
        CheckFrames(options, workers == 0, [](TaskScheduler &scheduler, Game &game) {
            REQUIRE(scheduler.Start() == Status::Ok);
            REQUIRE(scheduler.AttachThread() == Status::Ok);
            game.Frames(&scheduler);
            scheduler.DetachThread();
            scheduler.Stop();
        });
    }
}

TEST_CASE("invariant 9: a worker thread that starts late allocates nothing", "[allocation]") {
    SchedulerOptions options;
    options.workers = 3;
    std::atomic<uint32_t> begun{0};
    options.threads.user = &begun;
    options.threads.onStart = [](uint32_t, void *user) {
        static_cast<std::atomic<uint32_t> *>(user)->fetch_add(1);
    };
    TaskScheduler scheduler(options);
    test::HoldNewThreads(true);
    CHECK(scheduler.Start() == Status::Ok);
    const uint64_t before = test::CountedCalls();
    test::CountCalls(true);
    test::HoldNewThreads(false);
    while (begun.load() != 3) std::this_thread::yield();
    test::CountCalls(false);
    CHECK(test::CountedCalls() == before);
    scheduler.Stop();
}
