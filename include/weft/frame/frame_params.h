// The time stamps of a frame's stages, and a ring with the stamps of the last frames.
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

/// When a stage began and ended, on the steady clock. The clock's epoch means: not yet.
struct StageTimes {
    std::chrono::steady_clock::time_point begin{}, end{};
};

/// What is known of one frame. It is a copy and does not change while you read it.
struct FrameParams {
    uint64_t frame = 0;  ///< counts from 0
    /// `frame` % frames in flight. Two frames that are in flight at once have different slots
    uint32_t slot = 0;
    uint32_t stageCount = 0;
    StageTimes stages[kMaxFrameStages] = {};
};

/// The stamps of the last 16 frames. A FramePipeline writes them, or a loop of your own. Any thread
/// may read them.
///
/// After "Parallelizing the Naughty Dog Engine Using Fibers", Christian Gyrling, GDC 2015.
class WEFT_API FrameRing {
public:
    static constexpr uint32_t kFrames = 16;

    /// Makes an empty ring. `options` must be the scheduler's; `onReport` and `user` are used. By
    /// default reports go to stderr.
    explicit FrameRing(const SchedulerOptions &options = {}) noexcept
        : m_onReport(options.onReport), m_user(options.user) {}

    /// Copies what is known of the frame to `params`. Returns false if the frame has not begun, or
    /// if the ring has replaced it by a later one. Reports BadOption and returns false if `params`
    /// is null. Thread-safe.
    bool Read(uint64_t frame, FrameParams *params) const noexcept;

    /// Returns true if the frame's last stage has ended. Then everything that the frame wrote is
    /// visible. `frame` may be any number. Thread-safe.
    bool HasFrameCompleted(uint64_t frame) const noexcept { return frame < FramesCompleted(); }
    /// Returns how many frames have completed since Restart. Thread-safe.
    uint64_t FramesCompleted() const noexcept {
        // acquire: pairs with the release in CompleteFrame, which publishes what the frame wrote.
        return m_completed.load(std::memory_order_acquire);
    }

    // The following calls are for the code that runs the frames.

    /// Forgets all frames. `stageCount` and `framesInFlight` are 1 to 8; otherwise it reports
    /// BadOption and has no effect. A call of Read at the same time may find an old frame or none.
    void Restart(uint32_t stageCount, uint32_t framesInFlight) noexcept;
    /// Enters a frame. Call it for one frame after the other, and for frame n only after frame
    /// n - 8 has completed.
    void BeginFrame(uint64_t frame) noexcept;
    /// Stamp the begin or the end of a stage. The frame must have begun and not completed. Only one
    /// task at a time may stamp the same stage. If the ring has no such stage, they report
    /// BadOption and stamp nothing.
    void BeginStage(uint64_t frame, uint32_t stage) noexcept;
    void EndStage(uint64_t frame, uint32_t stage) noexcept;
    /// Marks the frame as completed. Call it for one frame after the other.
    void CompleteFrame(uint64_t frame) noexcept;

private:
    struct Entry {
        WEFT_ATOMIC<uint64_t> next{0};  // frame + 1; 0: no frame, or the entry is being changed
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
