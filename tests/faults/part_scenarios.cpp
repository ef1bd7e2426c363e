// Scenarios of the layers above the scheduler: blocking calls, deferred tasks, frames, posts and
// locks.
#include "faults/trial.h"

#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/deferred.h"
#include "weft/frame/block_pool.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/tagged_heap.h"
#include "weft/post/post_queue.h"
#include "weft/post/posted_job.h"
#include "weft/sync/wait_group.h"
#include "weft/time.h"

namespace faults {

using namespace weft;

namespace {

// LastError tells if a thread could not be started or there was no memory. All calls are made in
// any case.
void Blocking(Trial &trial) {
    std::atomic<uint32_t> made{0}, wrong{0};
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        BlockingOptions options;
        options.maxThreads = 1;  // each thread that ended leaves a stack in the C library's cache
        BlockingCalls calls(scheduler, options);
        test::Batch callers(3, [&](TaskScheduler &, uint32_t i) {
            const uint32_t answer = calls.Run([&] {
                made.fetch_add(1);
                return i;
            });
            if (answer != i) wrong.fetch_add(1);
        });
        scheduler.AddTasksAndWait(3, callers.Tasks());
        auto count = [&] { made.fetch_add(1); };
        BlockingCall call = MakeBlockingCall(count);
        Counter counter;
        trial.IsOk(calls.Submit(call, &counter));
        scheduler.WaitForCounter(&counter);
        trial.IsOk(calls.LastError());
    });
    trial.Check(made.load() == (ran ? 4 : 0) && wrong.load() == 0,
                "every blocking call is made once");
}

// Another task opens the gate. Without memory for a wait record, AddTaskAfter waits itself and
// reports this. Without memory for the task, both calls submit nothing and report this; then the
// caller runs the task.
void Deferred(Trial &trial) {
    test::Marks after(150), timed(150);
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        Counter gate(1), counter;
        auto open = [&](TaskScheduler *) { scheduler.DecrementCounter(&gate); };
        scheduler.AddTask(MakeTask(open), &counter);
        for (uint32_t i = 0; i < 150; ++i) {
            if (!AddTaskAfter(scheduler, &gate, 0, after[i], &counter))
                after[i].function(&scheduler, after[i].arg);
            if (!AddTaskAt(scheduler, Now() + std::chrono::microseconds(100), timed[i], &counter))
                timed[i].function(&scheduler, timed[i].arg);
        }
        scheduler.WaitForCounter(&counter);
    });
    trial.Check(after.Wrong(ran) + timed.Wrong(ran) == 0, "every deferred task has run once");
}

// Without memory there are no blocks, which is reported. Frames run all the same.
void Frames(Trial &trial) {
    std::atomic<bool> reported{false};
    SchedulerOptions options;
    options.user = &reported;
    options.onReport = [](const Report &report, void *user) {
        if (report.code == ReportCode::OutOfMemory)
            static_cast<std::atomic<bool> *>(user)->store(true);
    };
    uint32_t frames = 0;
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        BlockPool blocks(options, 8, 4096);
        TaggedHeap heap(scheduler, options, blocks, 2);
        const bool hasMemory = blocks.BlockCount() != 0 && heap.TagCount() != 0;
        trial.Check(hasMemory || reported.load(), "a heap without memory says so");
        auto stage = [&](TaskScheduler *, const FrameParams &params) {
            uint32_t *number = heap.NewArray<uint32_t>(params.slot, 1);
            trial.Check((number != nullptr) == hasMemory, "a heap that has memory gives it");
            frames += 1;
            if (number != nullptr) heap.Free(params.slot);
        };
        const FrameStage stages[] = {MakeStage(stage)};
        FramePipeline pipeline(options, 1, stages, 2);
        trial.IsOk(pipeline.Run(&scheduler, 5));
    });
    trial.Check(frames == (ran ? 5 : 0), "every frame has run once");
}

// Jobs of a queue, and a wait group, whose handles share memory.
void Posts(Trial &trial) {
    static std::atomic<uint32_t> s_begun;
    s_begun.store(0);
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        PostQueue queue(scheduler);
        PostedJob now(queue, [](TaskScheduler *, PostedJob *) { s_begun.fetch_add(1); });
        PostedJob later(queue, [](TaskScheduler *, PostedJob *) { s_begun.fetch_add(1); });
        WaitGroup group(scheduler, 1);
        now.Post();
        later.PostAfter(std::chrono::microseconds(100));
        while (s_begun.load() != 2) scheduler.Yield();
        group.Done();
        group.Wait();
    });
    trial.Check(s_begun.load() == (ran ? 2 : 0), "every job has begun once");
}

}  // namespace

const std::vector<Scenario> &PartScenarios() {
    constexpr uint32_t kMemory = BitOf(Function::Allocate);
    constexpr uint32_t kThreads = BitOf(Function::AttrInit) | BitOf(Function::AttrSetStackSize) |
                                  BitOf(Function::ThreadCreate) | BitOf(Function::SetName);
    constexpr uint32_t kPool = BitOf(ReportCode::OutOfFibers) | BitOf(ReportCode::Stalled);
    static const std::vector<Scenario> all = {
        {"blocking", 1, nullptr, Blocking, kMemory | kThreads | BitOf(Function::FutexWait), kPool},
        {"blocking-2", 2, nullptr, Blocking, kMemory | kThreads, kPool},
        {"deferred", 1, nullptr, Deferred, kMemory, kPool},
        {"frames", 2, nullptr, Frames, kMemory, kPool},
        {"posts", 2, nullptr, Posts, kMemory, kPool},
    };
    return all;
}

}  // namespace faults
