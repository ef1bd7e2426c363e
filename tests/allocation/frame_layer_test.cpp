// Tests invariant 9 for the frame layer: memory is acquired before the frames, and never during
// them.
#include "allocation/interposed.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/scratch_arena.h"
#include "weft/frame/tagged_heap.h"
#include "weft/task_scheduler.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("invariant 9: 1,000 frames of stages, a tagged heap and arenas allocate nothing",
          "[allocation]") {
    constexpr uint64_t kWarmUp = 300, kFrames = 1000;
    for (uint32_t workers : {1u, 2u, 3u}) {
        SchedulerOptions options;
        options.workers = workers;
        TaskScheduler scheduler(options);
        BlockPool pool(options, 64, 64 << 10);
        TaggedHeap heap(scheduler, options, pool, 2);
        std::atomic<uint32_t> wrong{0};
        uint64_t before = 0, calls = ~uint64_t{0};
        uint32_t slots[2] = {0, 1};
        const auto allocate = [&](TaskScheduler *, uint32_t slot) {
            for (uint32_t i = 0; i < 20; ++i)
                wrong += heap.Allocate(slot, 100 * i) == nullptr ? 1 : 0;
        };
        auto first = [&](TaskScheduler *self) { allocate(self, slots[0]); };
        auto second = [&](TaskScheduler *self) { allocate(self, slots[1]); };
        const auto fill = [&](TaskScheduler *self, const FrameParams &params) {
            ScratchArena arena(pool);
            Task *tasks = arena.NewArray<Task>(20);
            if (tasks == nullptr) return void(++wrong);
            for (uint32_t i = 0; i < 20; ++i)
                tasks[i] = params.slot == 0 ? MakeTask(first) : MakeTask(second);
            self->AddTasksAndWait(20, tasks);
        };
        auto game = [&](TaskScheduler *self, const FrameParams &params) { fill(self, params); };
        auto render = [&](TaskScheduler *self, const FrameParams &params) { fill(self, params); };
        auto present = [&](TaskScheduler *, const FrameParams &params) {
            heap.Free(params.slot);
            if (params.frame == kWarmUp) {
                before = test::CountedCalls();
                test::CountCalls(true);
            } else if (params.frame == kWarmUp + kFrames) {
                test::CountCalls(false);
                calls = test::CountedCalls() - before;
            }
        };
        const FrameStage stages[] = {MakeStage(game), MakeStage(render), MakeStage(present)};
        FramePipeline pipeline(options, 3, stages, 2);
        auto main = [&](TaskScheduler *self) { pipeline.Run(self, kWarmUp + kFrames + 1); };
        const Task task = MakeTask(main);
        CHECK(scheduler.Run(task.function, task.arg) == Status::Ok);
        INFO(workers << " workers");
        CHECK(wrong == 0);
        CHECK(calls == 0);
        heap.Free(0);
        heap.Free(1);
        CHECK(heap.Statistics().peakBlocks >= 1);
    }
}
