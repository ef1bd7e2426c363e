// Models of the frame layer alone, for --weak: only the frame layer orders these threads, so each
// must see through it what another one wrote.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/frame/tagged_heap.h"
#include "weft/time.h"

#include <new>

namespace simulator {

namespace {

constexpr size_t kBlock = 4 << 10;

// Two threads run the same pipeline, one after the other. A stage stops the first run. This must
// end the first run, and it must not end the second one.
void FramesAgain() {
    struct Stage {
        FramePipeline *pipeline;
        uint32_t ended = 0;
        static void Run(TaskScheduler *, const FrameParams &, void *arg) {
            Stage &self = *static_cast<Stage *>(arg);
            Linger(3);
            if (++self.ended == 1) self.pipeline->Stop();
        }
    } stage{};
    // the pipeline may run already
    const SchedulerOptions options = Options<ReportCode::BadOption>(1 + Random(3), 14);
    const FrameStage of{Stage::Run, &stage, {}};
    FramePipeline pipeline(options, 1, &of, 1);
    stage.pipeline = &pipeline;
    StartedScheduler scheduler(options);
    const auto run = [&] {
        while (pipeline.Run(&scheduler, 2) == Status::AlreadyRunning) weft::env::Pause();
    };
    RunningThread other(run);
    run();
    other.Join();
    Check(stage.ended == 1 + 2, "Stop has ended the wrong run");
    scheduler.Stop();
}

// New frames replace those of 16 frames before in the ring, while another thread reads these. Read
// must return the stamps of the frame that it was asked for, or fail. If a frame has completed, its
// data must be visible.
void FrameStamps() {
    struct {
        Clock::time_point begun{}, ended{};
    } frames[FrameRing::kFrames + 2];
    FrameRing ring;
    Cell written;
    ring.Restart(1, 1);
    const auto run = [&](uint32_t frame) {
        ring.BeginFrame(frame);
        frames[frame].begun = Now();
        ring.BeginStage(frame, 0);
        ring.EndStage(frame, 0);
        frames[frame].ended = Now();
        written.Set(frame + 1);
        ring.CompleteFrame(frame);
    };
    const auto read = [&] {
        const uint32_t frame = Random(2) + FrameRing::kFrames * Random(2);
        const bool isComplete = ring.HasFrameCompleted(frame);
        Check(!isComplete || written.Get() > frame, "a write of a completed frame is not visible");
        FrameParams params;
        if (!ring.Read(frame, &params)) return;
        const auto isOf = [&](Clock::time_point stamp) {
            if (stamp == Clock::time_point{}) return !isComplete;
            return stamp >= frames[frame].begun &&
                   (frames[frame].ended == Clock::time_point{} || stamp <= frames[frame].ended);
        };
        Check(isOf(params.stages[0].begin) && isOf(params.stages[0].end),
              "the time of a stage is missing, or belongs to another frame");
    };
    uint32_t frame = 0;
    while (frame < FrameRing::kFrames) run(frame++);
    RunningThread reader([&] {
        for (int i = 0; i < 3; ++i) read();
    });
    for (; frame < FrameRing::kFrames + 2; ++frame) run(frame);
    reader.Join();
}

// Only the heap and Retain/Release order these threads. A thread that gets a block must see what
// its previous owner wrote to it.
void TaggedTraces() {
    SchedulerOptions options = Options<ReportCode::OutOfMemory, ReportCode::MemoryInUse>(1, 5);
    TaskScheduler scheduler(options);  // it does not run
    BlockPool pool(options, 1, kBlock);
    TaggedHeap heap(scheduler, options, pool, 2);
    Traced *pieces[2];
    for (Traced *&piece : pieces) piece = new (heap.Allocate(0, kBlock / 2)) Traced;
    heap.Retain(0);
    RunningThread holder([&] {
        for (Traced *piece : pieces) piece->Use(1);
        heap.Release(0);
    });
    RunningThread freer([&] {
        while (heap.Free(0), heap.StatisticsOf(0).blocks != 0) weft::env::Pause();
    });
    const auto take = [&] {
        for (uint32_t i = 0; i < 12; ++i) {
            if (auto *piece = static_cast<Traced *>(heap.Allocate(1, kBlock / 2)))
                return piece->Use(2);
            weft::env::Pause();
        }
    };
    RunningThread one(take), other(take);
    holder.Join();
    freer.Join();
    one.Join();
    other.Join();
    heap.Free(1);
    Check(pool.BlocksInUse() == 0, "a block was lost");
}

}  // namespace

std::vector<Model> FrameViewModels() {
    return {
        {"frames_again", "two threads run a pipeline, and the first run is stopped", FramesAgain},
        {"frame_stamps", "the ring is read while later frames overwrite earlier ones", FrameStamps},
        {"tagged_traces", "tags that are retained, freed and shared by external threads",
         TaggedTraces},
    };
}

}  // namespace simulator
