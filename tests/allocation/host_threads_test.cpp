// Tests what samples/host_threads/README.md says about memory after Start: nothing is allocated
// after the warm-up of that page, also in frames for which the queues and pools are too small at
// first.
#include "allocation/interposed.h"
#include "weft/closure.h"
#include "weft/deferred.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr uint32_t kWorkers = 3, kThreads = kWorkers + 1;  // and one attached thread

// More than a queue (256), and than each pool (64) has room for at first.
constexpr uint32_t kSingles = 600, kFew = 100, kFrames = 1000;
constexpr uint32_t kWork = kSingles + 3 * kFew;

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

    // What a frame submits: single tasks, tasks that are pinned and that wait for a counter, and
    // closures.
    void Submit(TaskScheduler &scheduler, Counter &counter) {
        const Task task{
            [](TaskScheduler *, void *arg) { static_cast<Host *>(arg)->work.fetch_add(1); }, this};
        Counter gate(1);
        for (uint32_t i = 0; i < kSingles; ++i) scheduler.AddTask(task, &counter);
        for (uint32_t i = 0; i < kFew; ++i) {
            TaskOptions pinned;
            pinned.worker = i % kWorkers;
            scheduler.AddTask(task, &counter, pinned);
            AddTaskAfter(scheduler, &gate, 0, task, &counter);
            AddTask(
                scheduler, [this] { work.fetch_add(1); }, &counter);
        }
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&gate);
    }

    static void Frame(TaskScheduler *scheduler, void *arg) {
        Counter counter;
        static_cast<Host *>(arg)->Submit(*scheduler, counter);
        scheduler->WaitForCounter(&counter);
    }

    static void Meet(std::atomic<uint32_t> &here) {
        for (++here; here != kThreads;) std::this_thread::yield();
    }
    static void WarmUp(TaskScheduler *scheduler, void *arg) {
        Host &self = *static_cast<Host *>(arg);
        Counter counter;
        Meet(self.begun);
        self.Submit(*scheduler, counter);
        Meet(self.submitted);
        scheduler->WaitForCounter(&counter);
    }
};

}  // namespace

TEST_CASE("invariant 9: 1,000 frames on threads of the host allocate nothing after a warm-up",
          "[allocation]") {
    for (const IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Sleep}) {
        Hooks hooks;
        SchedulerOptions options;
        options.workers = kWorkers;
        options.hostThreads = true;
        options.idle = idle;
        hooks.AttachTo(options.memory);
        TaskScheduler scheduler(options);
        REQUIRE(scheduler.Start() == Status::Ok);
        const uint64_t atStart = hooks.allocations.load();
        std::thread threads[kWorkers];
        for (uint32_t i = 0; i < kWorkers; ++i)
            threads[i] = std::thread([&scheduler, i] { scheduler.RunWorker(i); });
        CHECK(scheduler.AttachThread() == Status::Ok);

        Host host;
        Counter counter;
        for (uint32_t i = 0; i < kWorkers; ++i)
            scheduler.AddTask({Host::WarmUp, &host}, &counter,
                              {Priority::Normal, StackClass::Small, i, "warm-up"});
        Host::WarmUp(&scheduler, &host);
        scheduler.WaitForCounter(&counter);
        const uint64_t warm = hooks.allocations.load();
        CHECK(warm > atStart);  // otherwise this test shows nothing

        const uint64_t before = test::CountedCalls();
        test::CountCalls(true);
        for (uint32_t i = 0; i < kFrames; ++i) {
            const Task frame{Host::Frame, &host};
            scheduler.AddTasksAndWait(1, &frame);  // on any thread
        }
        test::CountCalls(false);
        CHECK(hooks.allocations.load() == warm);
        CHECK(test::CountedCalls() == before);
        CHECK(host.work.load() == uint64_t{kWork} * (kFrames + kThreads));

        scheduler.DetachThread();
        scheduler.Stop();
        for (std::thread &thread : threads) thread.join();
    }
}
