// A frame loop in which another library works in a stage.
#pragma once

#include "support/scheduler_run.h"
#include "weft/frame/frame_pipeline.h"

#include <atomic>
#include <cstdint>

namespace test {

inline constexpr uint32_t kFramesInFlight = 2;

/// Runs frames of three stages: `begin` makes the input, `work` calls the library, and `end` uses
/// the result. Each is called with the frame's FrameParams.
///
/// Frames overlap: a frame is in flight until the library has done its work in the next frame.
/// Returns false if they did not, or if the frames could not run. Call it in a task.
template <class Begin, class Work, class End>
bool RunFrames(weft::TaskScheduler &scheduler, uint32_t frames, Begin begin, Work work, End end) {
    std::atomic<uint64_t> worked{0};
    bool overlap = true;  // of the last stage: it ends a frame before it begins the next one
    auto first = [&](weft::TaskScheduler *, const weft::FrameParams &params) { begin(params); };
    auto library = [&](weft::TaskScheduler *, const weft::FrameParams &params) {
        work(params);
        worked = params.frame + 1;
    };
    auto last = [&](weft::TaskScheduler *self, const weft::FrameParams &params) {
        const uint64_t next = params.frame + 1;
        if (next < frames && !YieldUntil(*self, [&] { return worked > next; })) overlap = false;
        end(params);
    };
    const weft::FrameStage stages[] = {weft::MakeStage(first), weft::MakeStage(library),
                                       weft::MakeStage(last)};
    weft::FramePipeline pipeline({}, 3, stages, kFramesInFlight);
    return pipeline.Run(&scheduler, frames) == weft::Status::Ok && overlap;
}

}  // namespace test
