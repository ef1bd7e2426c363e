// A FramePipeline: one loop for each stage, and counters between the loops.
//
// m_toGo[s] begins at 2^32 - 1 and is decremented once for each frame that stage s has ended. So
// "stage s has ended frame n" is the wait for a value that does not come again. At the end of a run
// each stage decrements its counter to zero, after m_end has been written. This ends all waits for
// frames that will not run, and the waiters see m_end.
#include "weft/frame/frame_pipeline.h"

#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "weft/task_scheduler.h"
#include "weft/trace/marks.h"

namespace weft {

using namespace internal;

namespace {

constexpr uint32_t kAllFrames = ~0u;

}  // namespace

// One stage of one frame, as a task of its own. So hooks see it, an exception is reported, and the
// pipeline continues.
struct FramePipeline::StageCall {
    FramePipeline *pipeline;
    uint32_t stage, frame;

    void operator()(TaskScheduler *scheduler) {
        struct Stamps {  // also stamps the end if the function throws
            FrameRing &ring;
            uint32_t frame, stage;
            ~Stamps() { ring.EndStage(frame, stage); }
        };
        FrameRing &ring = pipeline->m_ring;
        const FrameStage &of = pipeline->m_stages[stage];
        ring.BeginStage(frame, stage);
        FrameParams params;
        ring.Read(frame, &params);  // the entry stays until the frame has completed
        const Stamps stamps{ring, frame, stage};
        of.function(scheduler, params, of.arg);
    }
};

FramePipeline::FramePipeline(const SchedulerOptions &options, uint32_t stageCount,
                             const FrameStage *stages, uint32_t framesInFlight) noexcept
    : m_onReport(options.onReport),
      m_user(options.user),
      m_stageCount(stageCount),
      m_framesInFlight(framesInFlight),
      m_ring(options) {
    for (uint32_t i = 0; i < stageCount && i < kMaxFrameStages && stages != nullptr; ++i) {
        m_stages[i] = stages[i];
        m_loops[i] = {this, i};
    }
}

bool FramePipeline::AreStagesGood() const noexcept {
    bool good = m_stageCount >= 1 && m_stageCount <= kMaxFrameStages && m_framesInFlight >= 1 &&
                m_framesInFlight <= kMaxFramesInFlight;
    for (uint32_t i = 0; good && i < m_stageCount; ++i) good = m_stages[i].function != nullptr;
    if (good) return true;
    ReportTo(m_onReport, m_user, ReportCode::BadOption,
             "Give 1 to 8 stages with functions, and 1 to 8 frames in flight.",
             "FramePipeline: %u stages, a function is missing, or %u frames in flight",
             m_stageCount, m_framesInFlight);
    return false;
}

bool FramePipeline::IsScheduler(const TaskScheduler *scheduler, const char *call) const noexcept {
    if (scheduler != nullptr) return true;
    ReportTo(m_onReport, m_user, ReportCode::BadOption,
             "Give it the scheduler that runs the stages.", "%s: null scheduler", call);
    return false;
}

Status FramePipeline::Run(TaskScheduler *scheduler, uint32_t frames) noexcept {
    if (!AreStagesGood() || !IsScheduler(scheduler, "FramePipeline::Run")) return Status::BadOption;
    // acquire, and release below: what the last run wrote comes before what this one writes.
    if (m_running.exchange(1, kAcquire) != 0) {
        ReportTo(m_onReport, m_user, ReportCode::BadOption,
                 "Begin a run only after the last one has ended.",
                 "FramePipeline::Run was called while it runs");
        return Status::AlreadyRunning;
    }
    // A task submits the stages. If an external thread did this, and were held up between two
    // stages, the workers would report Stalled, because only waiting fibers are left.
    Status status = Status::NotRunning;  // stays so if the task does not run, which was reported
    auto run = [&](TaskScheduler *self) { status = RunStages(self, frames); };
    const Task task = MakeTask(run);
    if (frames != 0) {
        scheduler->AddTasksAndWait(1, &task, {Priority::Normal, kAnyWorker, "frames"});
    } else {
        m_ring.Restart(m_stageCount, m_framesInFlight);
        m_stop.store(0, kRelaxed);  // relaxed: it only asks for an end
        status = Status::Ok;
    }
    m_running.store(0, kRelease);
    return status;
}

Status FramePipeline::RunStages(TaskScheduler *scheduler, uint32_t frames) noexcept {
    scheduler->IncrementCounter(&m_gate);
    m_end.store(frames, kRelaxed);  // relaxed: the submission publishes it to the loops
    m_ring.Restart(m_stageCount, m_framesInFlight);
    Counter loops;
    uint32_t begun = 0;
    for (uint32_t i = 0; i < m_stageCount; ++i) {
        scheduler->IncrementCounter(&m_toGo[i], kAllFrames);
        if (const char *name = m_stages[i].options.name) NameCounter(*scheduler, &m_toGo[i], name);
        scheduler->AddTask({RunLoop, &m_loops[i]}, &loops, m_stages[i].options);
        if (loops.Value() != begun) {
            ++begun;  // the loop cannot have ended: the gate is closed
        } else {
            // the options of the stage were refused, which was reported
            scheduler->DecrementCounter(&m_toGo[i], kAllFrames);
        }
    }
    const bool all = begun == m_stageCount;
    if (!all) m_end.store(0, kRelaxed);  // relaxed: the gate publishes it
    scheduler->DecrementCounter(&m_gate);
    scheduler->WaitForCounter(&loops);
    // After this no decrement of the loops accesses these counters any more.
    for (uint32_t i = 0; i < m_stageCount; ++i) scheduler->WaitForCounter(&m_toGo[i]);
    m_stop.store(0, kRelaxed);
    return all ? Status::Ok : Status::BadOption;
}

void FramePipeline::RunLoop(TaskScheduler *scheduler, void *arg) {
    const Loop &loop = *static_cast<Loop *>(arg);
    loop.pipeline->LoopOver(scheduler, loop.stage);
}

void FramePipeline::LoopOver(TaskScheduler *scheduler, uint32_t stage) noexcept {
    const bool isLast = stage + 1 == m_stageCount;
    scheduler->WaitForCounter(&m_gate);
    uint32_t frame = 0;
    for (; AwaitTurn(scheduler, stage, frame); ++frame) {
        StageCall call{this, stage, frame};
        const Task task = MakeTask(call);
        scheduler->AddTasksAndWait(1, &task, m_stages[stage].options);
        if (isLast) MarkFrame(*scheduler, frame);
        if (isLast) m_ring.CompleteFrame(frame);  // before the waiters for this frame continue
        scheduler->DecrementCounter(&m_toGo[stage]);
    }
    if (frame != kAllFrames) scheduler->DecrementCounter(&m_toGo[stage], kAllFrames - frame);
}

// Returns false if the frame will not run. Only the first stage changes m_end, to the number of a
// frame that has not begun. It does so before it ends the waits for that frame. So it is enough to
// check m_end after the wait.
bool FramePipeline::AwaitTurn(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept {
    // relaxed, here and below: the counters publish it
    if (frame >= m_end.load(kRelaxed)) return false;
    if (stage != 0) {
        AwaitEndOf(scheduler, stage - 1, frame);
        return frame < m_end.load(kRelaxed);
    }
    if (frame >= m_framesInFlight)
        AwaitEndOf(scheduler, m_stageCount - 1, frame - m_framesInFlight);
    if (m_stop.load(kRelaxed) != 0) {  // relaxed: it only asks for an end
        m_end.store(frame, kRelaxed);
        return false;
    }
    m_ring.BeginFrame(frame);
    return true;
}

void FramePipeline::AwaitEndOf(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept {
    scheduler->WaitForCounter(&m_toGo[stage], kAllFrames - 1 - frame);
}

void FramePipeline::Stop() noexcept {
    m_stop.store(1, kRelaxed);  // relaxed: nothing is published with it
}

bool FramePipeline::WaitForFrame(TaskScheduler *scheduler, uint64_t frame) noexcept {
    const uint32_t last = m_stageCount - 1, of = static_cast<uint32_t>(frame);
    if (!IsScheduler(scheduler, "FramePipeline::WaitForFrame")) return false;
    // Run refuses such numbers of stages
    if (frame >= kAllFrames || last >= kMaxFrameStages) return false;
    // After a run, or before the first one, there is nothing to wait for, and perhaps no scheduler
    // that runs.
    const bool mustWait = !m_ring.HasFrameCompleted(frame) &&
                          !scheduler->PollCounter(&m_toGo[last], kAllFrames - 1 - of);
    if (mustWait) AwaitEndOf(scheduler, last, of);
    return m_ring.HasFrameCompleted(frame);
}

}  // namespace weft
