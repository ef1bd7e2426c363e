// Runs the stages of consecutive frames in parallel: while frame n renders, the game stage of frame
// n + 1 runs.
//
//     struct Frame { World world; Picture picture; } frames[2];
//
//     void Game(weft::TaskScheduler *, const weft::FrameParams &params, void *) {
//         Think(&frames[params.slot]);
//     }
//     void Render(weft::TaskScheduler *, const weft::FrameParams &params, void *) {
//         Draw(&frames[params.slot]);
//     }
//     void Present(weft::TaskScheduler *, const weft::FrameParams &params, void *) {
//         Show(frames[params.slot].picture);
//     }
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

/// One stage of every frame. It runs as a task and gets the frame that it is called for. It may
/// submit tasks and wait, like any task.
struct FrameStage {
    void (*function)(TaskScheduler *scheduler, const FrameParams &params, void *arg);
    void *arg = nullptr;
    /// Options of the task, for example `worker` 0 for a stage that belongs to the main thread
    TaskOptions options = {};
};

/// Returns a stage that calls `callable(TaskScheduler *, const FrameParams &)`. The callable is not
/// copied and must outlive the run.
template <class F>
FrameStage MakeStage(F &callable, const TaskOptions &options = {}) {
    return {[](TaskScheduler *scheduler, const FrameParams &params, void *arg) {
                (*static_cast<F *>(arg))(scheduler, params);
            },
            const_cast<void *>(static_cast<const void *>(&callable)), options};
}

/// Runs the stages of many frames.
///
/// A stage of a frame begins when two things have ended: the stage before it in this frame, and the
/// same stage of the frame before. The first stage of frame n begins when frame n - framesInFlight
/// has completed, too. Everything that was written there is visible to the stage.
///
/// With one frame in flight, a frame completes before the next one begins. With two, the game is
/// one frame ahead. Each further frame lets stages of uneven length run further apart, and adds a
/// frame to the time from input to picture.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API FramePipeline {
public:
    static constexpr uint32_t kEndless = ~0u;

    /// Makes a pipeline of 1 to 8 stages, which are copied, with 1 to 8 frames in flight. `options`
    /// must be the scheduler's; `onReport` and `user` are used. Errors are reported by Run.
    FramePipeline(const SchedulerOptions &options, uint32_t stageCount, const FrameStage *stages,
                  uint32_t framesInFlight = 2) noexcept;
    FramePipeline(const FramePipeline &) = delete;
    FramePipeline &operator=(const FramePipeline &) = delete;

    /// Runs the frames 0 to `frames` - 1, and returns when all have completed.
    ///
    /// kEndless runs until Stop, or for 2^32 - 1 frames (two years at 60 a second). For each stage,
    /// one fiber waits for the turn of the next frame.
    /// Returns Ok, or after a report and without running a frame: BadOption (a value out of range,
    /// a stage without a function, the options of a stage are refused, or `scheduler` is null),
    /// AlreadyRunning (another run has not ended) or NotRunning (the scheduler does not run).
    /// Thread-safe while the scheduler runs; the caller must be allowed to wait.
    Status Run(TaskScheduler *scheduler, uint32_t frames = kEndless) noexcept;

    /// Ends the run: no further frame begins, and the frames that have begun complete. If nothing
    /// runs, the next run ends at once. Thread-safe.
    void Stop() noexcept;

    /// Waits until the frame has completed. Returns false if the run ends before that, or if
    /// nothing runs and the frame has not completed. Reports BadOption and returns false if
    /// `scheduler` is null. Thread-safe. The pipeline must outlive the call. After the run has
    /// ended, the scheduler need not be running.
    bool WaitForFrame(TaskScheduler *scheduler, uint64_t frame) noexcept;

    /// Returns the stamps of the current run, or of the last one. Thread-safe.
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
    Counter m_toGo[kMaxFrameStages];  // for each stage: 2^32 - 1 minus the frames it has ended
    Counter m_gate;                   // no stage begins before all stages have been submitted
    WEFT_ATOMIC<uint32_t> m_running{0}, m_stop{0};
    WEFT_ATOMIC<uint32_t> m_end{0};  // the run ends before this frame
};

}  // namespace weft
