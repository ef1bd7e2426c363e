// FrameRing: a ring of time stamps that may be read while it is written.
#include "weft/frame/frame_params.h"

#include "platform/compiler.h"
#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "weft/time.h"

namespace weft {

using namespace internal;

namespace {

int64_t Stamp() noexcept { return Now().time_since_epoch().count(); }

Clock::time_point TimeOf(int64_t stamp) noexcept {
    return Clock::time_point(Clock::duration(stamp));
}

}  // namespace

void FrameRing::Restart(uint32_t stageCount, uint32_t framesInFlight) noexcept {
    // Other numbers must not be stored: one is a divisor, the other one the length of an array.
    if (stageCount - 1 >= kMaxFrameStages || framesInFlight - 1 >= kMaxFramesInFlight) {
        ReportTo(m_onReport, m_user, ReportCode::BadOption,
                 "Give 1 to 8 stages, and 1 to 8 frames in flight.",
                 "FrameRing::Restart: %u stages, %u frames in flight", stageCount, framesInFlight);
        return;
    }
    // relaxed: a reader may see the values from before or after the restart.
    m_stageCount.store(stageCount, kRelaxed);
    m_framesInFlight.store(framesInFlight, kRelaxed);
    for (Entry &entry : m_entries) entry.next.store(0, kRelaxed);
    m_completed.store(0, kRelaxed);
}

// A reader that reads stamps of another frame must notice that. So the entry first loses its
// number. The stamps are written with release and read with acquire. So a reader that sees a stamp
// of the new frame also sees that the number has changed.
void FrameRing::BeginFrame(uint64_t frame) noexcept {
    Entry &entry = m_entries[frame % kFrames];
    entry.next.store(0, kRelaxed);
    const uint32_t stages = m_stageCount.load(kRelaxed);  // relaxed: only the caller writes it
    for (uint32_t i = 0; i < stages; ++i) {
        entry.begin[i].store(0, kRelease);
        entry.end[i].store(0, kRelease);
    }
    entry.next.store(frame + 1, kRelease);  // release: publishes the zeros
}

bool FrameRing::IsStage(uint32_t stage, const char *call) const noexcept {
    // relaxed: the code that runs the frames comes after Restart
    const uint32_t stages = m_stageCount.load(kRelaxed);
    if (WEFT_LIKELY(stage < stages)) return true;
    ReportTo(m_onReport, m_user, ReportCode::BadOption, "Pass the number of all stages to Restart.",
             "%s: stage %u of %u", call, stage, stages);
    return false;
}

void FrameRing::BeginStage(uint64_t frame, uint32_t stage) noexcept {
    if (!IsStage(stage, "FrameRing::BeginStage")) return;
    m_entries[frame % kFrames].begin[stage].store(Stamp(), kRelease);  // release: as in BeginFrame
}

void FrameRing::EndStage(uint64_t frame, uint32_t stage) noexcept {
    if (!IsStage(stage, "FrameRing::EndStage")) return;
    m_entries[frame % kFrames].end[stage].store(Stamp(), kRelease);  // release: as in BeginFrame
}

void FrameRing::CompleteFrame(uint64_t frame) noexcept {
    m_completed.store(frame + 1, kRelease);  // release: pairs with FramesCompleted
}

bool FrameRing::Read(uint64_t frame, FrameParams *params) const noexcept {
    if (WEFT_UNLIKELY(params == nullptr)) {
        ReportTo(m_onReport, m_user, ReportCode::BadOption, "Give it FrameParams to copy to.",
                 "FrameRing::Read: null params");
        return false;
    }
    const Entry &entry = m_entries[frame % kFrames];
    // 2^64 - 1: plus one it is 0, as in an entry without a frame
    if (frame + 1 == 0) return false;
    // acquire: pairs with the last store of BeginFrame. The zeros, or later stamps, are visible.
    if (entry.next.load(kAcquire) != frame + 1) return false;
    params->frame = frame;
    // relaxed, both: see Restart
    params->slot = static_cast<uint32_t>(frame % m_framesInFlight.load(kRelaxed));
    params->stageCount = m_stageCount.load(kRelaxed);
    for (uint32_t i = 0; i < kMaxFrameStages; ++i) {
        const bool isStage = i < params->stageCount;
        // acquire: if this is a stamp of a later frame, the check below sees that the number has
        // changed.
        params->stages[i].begin = TimeOf(isStage ? entry.begin[i].load(kAcquire) : 0);
        params->stages[i].end = TimeOf(isStage ? entry.end[i].load(kAcquire) : 0);
    }
    return entry.next.load(kRelaxed) == frame + 1;  // relaxed: after the acquires above
}

}  // namespace weft
