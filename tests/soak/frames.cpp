// Frames in a pipeline, whose stages pass on memory and submit tasks.
#include "soak/instance.h"

#include "weft/frame/block_pool.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/scratch_arena.h"
#include "weft/frame/tagged_heap.h"

#include <algorithm>

namespace soak {

using namespace weft;

namespace {

constexpr uint32_t kMaxStages = 4, kCells = 64;
const char *const kName = kTaskNames[0];

struct Pipeline {
    Pipeline(Figures &of, TaskScheduler &scheduler, const SchedulerOptions &options,
             uint32_t stages)
        : figures(of),
          stageCount(stages),
          blocks(options, 64, 4096),
          heap(scheduler, options, blocks, kMaxFramesInFlight) {}

    Figures &figures;
    const uint32_t stageCount;
    BlockPool blocks;
    TaggedHeap heap;
    uint32_t *cells[kMaxFramesInFlight]{};
    std::atomic<uint64_t> tasks{0};

    // The first stage allocates memory for its frame. Each stage adds one to all cells in a task.
    // The last stage frees the memory.
    void Stage(TaskScheduler *scheduler, const FrameParams &params, uint32_t stage) {
        if (stage == 0) cells[params.slot] = heap.NewArray<uint32_t>(params.slot, kCells);
        uint32_t *const frame = cells[params.slot];
        if (frame == nullptr) return figures.Fail("a frame has no memory");
        {
            ScratchArena arena(blocks);
            Task *const batch = arena.NewArray<Task>(kCells);
            if (batch == nullptr) return figures.Fail("a stage has no memory");
            for (uint32_t i = 0; i < kCells; ++i)
                batch[i] = {[](TaskScheduler *, void *cell) { ++*static_cast<uint32_t *>(cell); },
                            &frame[i]};
            scheduler->AddTasksAndWait(kCells, batch, {Priority::Normal, kAnyWorker, kName});
            tasks.fetch_add(kCells);
        }
        if (std::any_of(frame, frame + kCells, [&](uint32_t cell) { return cell != stage + 1; }))
            figures.Fail("after stage %u not every cell of a frame has been through as many",
                         stage);
        if (stage + 1 == stageCount) heap.Free(params.slot);
    }
};

struct StageOfPipeline {
    Pipeline *pipeline;
    uint32_t stage;
    void operator()(TaskScheduler *scheduler, const FrameParams &params) {
        pipeline->Stage(scheduler, params, stage);
    }
};

}  // namespace

void Instance::Frames(TaskScheduler &scheduler, Random &random) {
    const uint32_t stageCount = 1 + random.Below(kMaxStages), frames = 1 + random.Below(200);
    const Permit loops(*m_graph, 2 * stageCount);
    if (!loops) return;
    Pipeline pipeline(m_figures, scheduler, m_options, stageCount);
    StageOfPipeline calls[kMaxStages];
    FrameStage stages[kMaxStages];
    for (uint32_t i = 0; i < stageCount; ++i) {
        calls[i] = {&pipeline, i};
        stages[i] = MakeStage(calls[i]);
    }
    FramePipeline stagesOfFrames(m_options, stageCount, stages, 1 + random.Below(3));
    const Status status = stagesOfFrames.Run(&scheduler, frames);
    if (status != Status::Ok)
        m_figures.Fail("FramePipeline::Run returned %u", static_cast<unsigned>(status));
    if (!stagesOfFrames.Frames().HasFrameCompleted(frames - 1))
        m_figures.Fail("not every frame has completed");
    if (pipeline.blocks.BlocksInUse() != 0) m_figures.Fail("frames have left blocks in use");
    Count(pipeline.tasks.load());
}

}  // namespace soak
