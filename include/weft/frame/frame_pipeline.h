// Stages of consecutive frames side by side: while frame n is rendered, the game makes frame n + 1.
//
//     struct Frame { World world; Picture picture; } frames[2];
//
//     void Game(weft::TaskScheduler *, const weft::FrameParams &params, void *) {
//     Think(&frames[params.slot]); } void Render(weft::TaskScheduler *, const weft::FrameParams
//     &params, void *) { Draw(&frames[params.slot]); } void Present(weft::TaskScheduler *, const
//     weft::FrameParams &params, void *) { Show(frames[params.slot].picture); }
//
//     const weft::FrameStage stages[] = {{Game}, {Render}, {Present}};
//     weft::FramePipeline pipeline(options, 3, stages, 2);       // at most two frames in flight
//     pipeline.Run(scheduler, 600);
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/frame/frame_params.h"
#include "weft/task_scheduler.h"

#include <cstdint>

namespace weft {

/// One stage of every frame: a task, with the frame that it is called for. It may submit and wait
/// as any task may.
struct FrameStage {
    void (*function)(TaskScheduler *scheduler, const FrameParams &params, void *arg);
    void *arg = nullptr;
    /// Of the task; `worker` 0 for the one stage that belongs to the main thread, say
    TaskOptions options = {};
};

/// The stage that calls `callable(TaskScheduler *, const FrameParams &)`. It refers and never
/// copies: the callable must outlive the run.
template <class F>
FrameStage StageOf(F &callable, const TaskOptions &options = {}) {
    return {[](TaskScheduler *scheduler, const FrameParams &params, void *arg) {
                (*static_cast<F *>(arg))(scheduler, params);
            },
            const_cast<void *>(static_cast<const void *>(&callable)), options};
}

/// Runs the stages of many frames in this order: a stage of a frame begins when the stage before it
/// has ended in this frame, and when it has ended itself in the frame before; the first stage, when
/// the frame that is as many frames ago as there may be in flight has completed. What came before
/// is visible to what begins.
///
/// With one frame in flight a frame is through before the next begins; with two the game is a frame
/// ahead; each more lets stages of uneven length run further apart, and adds a frame to the time
/// from input to picture.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API FramePipeline {
public:
    static constexpr uint32_t kEndless = ~0u;

    /// `stageCount` from 1 to 8 stages, which are copied; 1 to 8 frames in flight. `options`: those
    /// of the scheduler; its `onReport` and `user` are used. What is wrong is reported by Run.
    FramePipeline(const SchedulerOptions &options, uint32_t stageCount, const FrameStage *stages,
                  uint32_t framesInFlight = 2) noexcept;
    FramePipeline(const FramePipeline &) = delete;
    FramePipeline &operator=(const FramePipeline &) = delete;

    /// Runs the frames 0 to `frames` - 1, and returns when all have completed. kEndless: until
    /// Stop, or 2^32 - 1 frames (two years at 60 a second). Each stage has a fiber of its stack
    /// class, which waits for the frame's turn. Any thread that may wait, while the scheduler runs;
    /// one run at a time (AlreadyRunning). Nothing runs if the options of a stage are refused, or
    /// `scheduler` is null (BadOption).
    Status Run(TaskScheduler *scheduler, uint32_t frames = kEndless) noexcept;

    /// No further frame begins; those that have begun are completed. If nothing runs, the next run
    /// ends at once. Any thread.
    void Stop() noexcept;

    /// Returns when the frame has completed: true; or the run has ended before it, or there is
    /// none: false. Any thread, if the pipeline outlives the call; when the run has ended, whether
    /// the scheduler runs or not. A null `scheduler` is reported (BadOption): false.
    bool WaitForFrame(TaskScheduler *scheduler, uint64_t frame) noexcept;

    /// Stamps of this run, or of the last one.
    const FrameRing &Frames() const noexcept { return m_ring; }

private:
    struct Loop {
        FramePipeline *pipeline;
        uint32_t stage;
    };
    struct StageCall;
    bool AreStagesGood() const noexcept;
    bool IsScheduler(const TaskScheduler *scheduler, const char *call) const noexcept;
    Status RunStages(TaskScheduler *scheduler, uint32_t frames) noexcept;
    static void RunLoop(TaskScheduler *scheduler, void *arg);
    void LoopOver(TaskScheduler *scheduler, uint32_t stage) noexcept;
    bool AwaitTurn(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept;
    void AwaitEndOf(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept;

    void (*m_onReport)(const Report &report, void *user);
    void *m_user;
    uint32_t m_stageCount, m_framesInFlight;
    FrameStage m_stages[kMaxFrameStages]{};
    Loop m_loops[kMaxFrameStages];
    FrameRing m_ring;
    Counter m_toGo[kMaxFrameStages];  // of each stage: 2^32 - 1 less the frames that it has ended
    Counter m_gate;                   // no stage begins before all are there
    WEFT_ATOMIC<uint32_t> m_running{0}, m_stop{0};
    WEFT_ATOMIC<uint32_t> m_end{0};  // no frame from this one on
};

}  // namespace weft
