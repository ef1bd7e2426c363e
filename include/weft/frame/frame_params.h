// What is known of a frame on its way through the stages, and a ring of the last frames.
//
//     weft::FrameParams params;
//     if (pipeline.Frames().Read(frame, &params)) {
//         const auto render = params.stages[kRender].end - params.stages[kRender].begin;
//         ...
//     }
//     if (pipeline.Frames().HasFrameCompleted(frame)) heap.Free(TagOf(frame));
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/options.h"

#include <chrono>
#include <cstdint>

namespace weft {

inline constexpr uint32_t kMaxFrameStages = 8;
inline constexpr uint32_t kMaxFramesInFlight = 8;

/// When a stage began and ended, on the steady clock; a time of 0 since its epoch: not yet.
struct StageTimes {
    std::chrono::steady_clock::time_point begin{}, end{};
};

/// One for each displayed frame. A copy: it does not change while you look at it.
struct FrameParams {
    uint64_t frame = 0;  ///< from 0
    /// Frame % frames in flight: two frames that are in flight at once have different ones
    uint32_t slot = 0;
    uint32_t stageCount = 0;
    StageTimes stages[kMaxFrameStages] = {};
};

/// The stamps of the last 16 frames. Written by a FramePipeline, or by a loop of your own; read by
/// any thread.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API FrameRing {
public:
    static constexpr uint32_t kFrames = 16;

    /// `options`: those of the scheduler; its `onReport` and `user` are used. Without them reports
    /// go to stderr.
    explicit FrameRing(const SchedulerOptions &options = {}) noexcept
        : m_onReport(options.onReport), m_user(options.user) {}

    /// Copies what is known of the frame to `params`. Returns false if the frame has not begun, or
    /// so long ago that the ring has another one in its place; and after a report (BadOption) if
    /// `params` is null. Any thread.
    bool Read(uint64_t frame, FrameParams *params) const noexcept;

    /// Whether the frame's last stage has ended; then all that it wrote is visible. Any frame, any
    /// thread.
    bool HasFrameCompleted(uint64_t frame) const noexcept { return frame < FramesCompleted(); }
    /// acquire: pairs with CompleteFrame, which publishes what the frame wrote.
    uint64_t FramesCompleted() const noexcept {
        return m_completed.load(std::memory_order_acquire);
    }

    /// For whoever runs the frames. Forgets all; who reads meanwhile may find a frame of before or
    /// none. 1 to 8 stages, and 1 to 8 frames in flight. Other numbers are reported (BadOption) and
    /// have no effect.
    void Restart(uint32_t stageCount, uint32_t framesInFlight) noexcept;
    /// One frame after the other, each when the frame 8 before it has completed.
    void BeginFrame(uint64_t frame) noexcept;
    /// Of a frame that has begun and not completed; a stage's by one task at a time. A stage from
    /// the ring's number of stages on is reported (BadOption), and nothing is stamped.
    void BeginStage(uint64_t frame, uint32_t stage) noexcept;
    void EndStage(uint64_t frame, uint32_t stage) noexcept;
    /// One frame after the other.
    void CompleteFrame(uint64_t frame) noexcept;

private:
    struct Entry {
        WEFT_ATOMIC<uint64_t> next{0};  // the frame + 1; 0: it is being changed, or there is none
        WEFT_ATOMIC<int64_t> begin[kMaxFrameStages]{}, end[kMaxFrameStages]{};
    };
    bool IsStage(uint32_t stage, const char *call) const noexcept;

    void (*m_onReport)(const Report &report, void *user);
    void *m_user;
    Entry m_entries[kFrames];
    WEFT_ATOMIC<uint64_t> m_completed{0};
    WEFT_ATOMIC<uint32_t> m_stageCount{1}, m_framesInFlight{1};
};

}  // namespace weft
