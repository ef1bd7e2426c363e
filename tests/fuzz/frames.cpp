// Frames in a pipeline. The slot of a frame is the tag of its memory.
#include "fuzz/script.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/scratch_arena.h"
#include "weft/frame/tagged_heap.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kMaxStages = 3, kMaxInFlight = 3, kNever = ~0u;
constexpr uint32_t kBlocks = 64, kBlockBytes = 4096;  // each allocation takes at most one block

struct Production {
    struct Stage {
        Production *all;
        uint32_t index;
    };

    Production(World &of, TaskScheduler &scheduler, uint32_t stages, uint32_t maxInFlight)
        : world(of),
          count(stages),
          inFlight(maxInFlight),
          pool(of.options, kBlocks, kBlockBytes),
          heap(scheduler, of.options, pool, maxInFlight) {}
    static void Run(TaskScheduler *scheduler, const FrameParams &params, void *arg);
    void CheckOrder(uint32_t stage, const FrameParams &params);
    void UseScratch(TaskScheduler &scheduler, uint32_t mark);
    void Allocate(uint32_t stage, const FrameParams &params, uint32_t mark);
    void FreeFrame(const FrameParams &params);
    uint32_t MarkOf(uint64_t frame, uint32_t stage) const {
        return static_cast<uint32_t>(frame) * count + stage;
    }

    World &world;
    const uint32_t count, inFlight;
    uint32_t numbers = 0;                          // number of values in each piece of memory
    uint32_t stopsAt = kNever, throwsAt = kNever;  // marks
    Cell *cells = nullptr;                         // of each stage of each frame, by their marks
    FramePipeline *pipeline = nullptr;
    BlockPool pool;
    TaggedHeap heap;
    std::atomic<uint64_t> ended[kMaxStages]{};
    // Not atomic: the order of the stages protects them.
    uint32_t *pieces[kMaxInFlight][kMaxStages]{};
};

void Production::CheckOrder(uint32_t stage, const FrameParams &params) {
    const uint64_t frame = params.frame;
    Require(params.stageCount == count && params.slot == frame % inFlight,
            "what a stage is told of its frame");
    Require(ended[stage].load() == frame,
            "a stage did not run once for each frame, in their order");
    Require(stage == 0 || ended[stage - 1].load() > frame,
            "a stage began before the one before it had ended");
    Require(ended[count - 1].load() + inFlight > frame, "too many frames in flight");
}

void Production::UseScratch(TaskScheduler &scheduler, uint32_t mark) {
    ScratchArena arena(pool);
    uint32_t *const first = arena.NewArray<uint32_t>(numbers);
    Require(first != nullptr, "there was no memory for a stage");
    for (uint32_t i = 0; i < numbers; ++i) first[i] = mark;
    scheduler.Yield();
    for (uint32_t i = 0; i < numbers; ++i)
        Require(first[i] == mark, "somebody has written to a stage's scratch");
}

void Production::Allocate(uint32_t stage, const FrameParams &params, uint32_t mark) {
    uint32_t *const first = pieces[params.slot][stage] =
        heap.NewArray<uint32_t>(params.slot, numbers);
    Require(first != nullptr, "there was no memory for a frame");
    for (uint32_t i = 0; i < numbers; ++i) first[i] = mark;
}

// Called by the last stage of a frame, when no other stage uses the frame's memory.
void Production::FreeFrame(const FrameParams &params) {
    for (uint32_t stage = 0; stage < count; ++stage) {
        const uint32_t *const first = pieces[params.slot][stage],
                              mark = MarkOf(params.frame, stage);
        for (uint32_t i = 0; i < numbers; ++i)
            Require(first[i] == mark, "somebody has written to a frame's memory");
    }
    const TagStatistics before = heap.StatisticsOf(params.slot);
    Require(before.allocations == count && before.blocks >= 1 && before.blocks <= count,
            "what a tag has");
    Require(before.bytes == uint64_t{count} * numbers * sizeof(uint32_t), "how much a tag has");
    heap.Free(params.slot);
    Require(heap.StatisticsOf(params.slot).blocks == 0, "a tag that was freed has blocks");
}

void Production::Run(TaskScheduler *scheduler, const FrameParams &params, void *arg) {
    const Stage &own = *static_cast<Stage *>(arg);
    Production &all = *own.all;
    const uint32_t mark = all.MarkOf(params.frame, own.index);
    all.CheckOrder(own.index, params);
    all.Allocate(own.index, params, mark);
    all.UseScratch(*scheduler, mark);
    all.CheckOrder(own.index, params);
    if (own.index + 1 == all.count) all.FreeFrame(params);
    if (mark == all.stopsAt) all.pipeline->Stop();
    all.ended[own.index].fetch_add(1);
    Leaf(scheduler, &all.cells[mark]);
    if (mark != all.throwsAt) return;
    all.world.oracle.willThrow.fetch_add(1);
    throw mark;
}

void CheckStamps(const FrameRing &ring, uint64_t frame, uint32_t stages) {
    FrameParams params;
    Require(ring.Read(frame, &params) && params.frame == frame && params.stageCount == stages,
            "a frame's stamps");
    for (uint32_t i = 0; i < stages; ++i) {
        Require(params.stages[i].begin <= params.stages[i].end, "a stage ended before it began");
        Require(i == 0 || params.stages[i - 1].end <= params.stages[i].begin,
                "the stamps of two stages overlap");
    }
}

}  // namespace

// The pipeline needs a fiber that waits, and each of its stages needs one.
void Script::UseFrames() {
    const uint32_t shape = m_bytes.Next(), frames = m_bytes.Below(12), special = m_bytes.Next(),
                   at = m_bytes.Below(36);
    const TaskOptions options[kMaxStages] = {Options(), Options(), Options()};
    if (!m_mayWait) return;
    const Spares spares(m_world, 2 + shape % kMaxStages);
    if (spares.Count() < 2) return;
    const uint32_t count = spares.Count() - 1, inFlight = 1 + shape / 4 % kMaxInFlight;
    Cell *cells = m_world.NewCells(frames * count);
    if (cells == nullptr) return;

    Production production(m_world, m_scheduler, count, inFlight);
    production.cells = cells;
    production.numbers = 1 + special * 4;
    if (special % 4 == 1) production.stopsAt = at;
    if (special % 4 == 2) production.throwsAt = at;
    Production::Stage args[kMaxStages];
    FrameStage stages[kMaxStages];
    for (uint32_t i = 0; i < count; ++i) {
        args[i] = {&production, i};
        stages[i] = {Production::Run, &args[i], options[i]};
    }
    FramePipeline pipeline(m_world.options, count, stages, inFlight);
    production.pipeline = &pipeline;
    const bool stopsBefore = special % 16 == 3;
    if (stopsBefore) pipeline.Stop();
    Require(pipeline.Run(&m_scheduler, frames) == Status::Ok, "Run of a pipeline");

    const uint64_t completed = pipeline.Frames().FramesCompleted(), stop = at / count;
    const bool stops = stopsBefore || (special % 4 == 1 && stop < frames);
    const uint64_t least = stopsBefore ? 0 : stops ? stop + 1 : frames;
    const uint64_t most = stopsBefore ? 0
                          : stops     ? std::min<uint64_t>(stop + inFlight, frames)
                                      : frames;
    Require(completed >= least && completed <= most, "how many frames were completed");
    for (uint32_t i = 0; i < count; ++i) {
        Require(production.ended[i].load() == completed, "a stage did not run once for each frame");
    }
    for (uint64_t i = 0; i < completed * count; ++i) cells[i].accepted = true;
    for (uint64_t frame = 0; frame < completed; ++frame)
        CheckStamps(pipeline.Frames(), frame, count);
    Require(completed == 0 || pipeline.WaitForFrame(&m_scheduler, completed - 1),
            "a frame that has completed");
    Require(!pipeline.WaitForFrame(&m_scheduler, completed), "a frame that never was");
    Require(production.pool.BlocksInUse() == 0, "a frame has left memory behind");
}

void Script::MistakeInFrames() {
    static constexpr auto kNobody = [](TaskScheduler *, const FrameParams &, void *) {
        Finding("a refused stage ran");
    };
    const uint32_t kind = m_bytes.Below(5), n = m_bytes.Next();
    FrameStage stages[2] = {{kNobody}, {kNobody}};
    if (kind == 0) stages[n % 2].function = nullptr;
    const uint32_t count = kind == 1 ? (n % 2 == 0 ? 0 : kMaxFrameStages + n) : 2;
    const uint32_t inFlight = kind == 2 ? (n % 2 == 0 ? 0 : kMaxFramesInFlight + n) : 2;
    FramePipeline pipeline(m_world.options, count, kind == 1 ? nullptr : stages, inFlight);
    const bool idle = kind >= 3;
    m_world.oracle.Expect(idle ? ReportCode::NotRunning : ReportCode::BadOption, [&] {
        const Status status = pipeline.Run(idle ? m_world.idle.get() : &m_scheduler, 1 + n);
        Require(status == (idle ? Status::NotRunning : Status::BadOption),
                "Run of a pipeline that cannot be");
    });
    Require(pipeline.Frames().FramesCompleted() == 0, "a refused frame was completed");
}

}  // namespace fuzz
