// m_toGo[s] counts down from 2^32 - 1 by one for each frame that stage s has ended: "stage s has
// ended frame n" is the wait for a value that never comes back. At the end of a run each stage
// takes what is left, after m_end is written: whoever waits for a frame that will not be goes on,
// and sees that.
#include "weft/frame/frame_pipeline.h"

#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "weft/task_scheduler.h"

namespace weft {

using namespace internal;

namespace {

constexpr uint32_t kAll = ~0u;

}  // namespace

// A stage of one frame, as a task of its own: hooks see it, its exceptions are reported, and the
// pipeline goes on.
struct FramePipeline::StageCall {
    FramePipeline *pipeline;
    uint32_t stage, frame;

    void operator()(TaskScheduler *scheduler) {
        struct Stamps {  // the end is stamped when an exception leaves, too
            FrameRing &ring;
            uint32_t frame, stage;
            ~Stamps() { ring.EndStage(frame, stage); }
        };
        FrameRing &ring = pipeline->m_ring;
        const FrameStage &of = pipeline->m_stages[stage];
        ring.BeginStage(frame, stage);
        FrameParams params;
        ring.Read(frame, &params);  // it is there until the frame has completed
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
    // acquire, and release below: what the run before us left comes before what we write.
    if (m_running.exchange(1, kAcquire) != 0) {
        ReportTo(m_onReport, m_user, ReportCode::BadOption, "Let one run end before the next.",
                 "FramePipeline::Run was called while it runs");
        return Status::AlreadyRunning;
    }
    // In a task: between the first stage's submission and the last one's a thread of the host might
    // be held up, and the workers would report that only waiters are left.
    Status status = Status::NotRunning;  // and reported, if the task does not run
    auto run = [&](TaskScheduler *self) { status = RunStages(self, frames); };
    const Task task = MakeTask(run);
    if (frames != 0) {
        scheduler->AddTasksAndWait(1, &task,
                                   {Priority::Normal, StackClass::Small, kAnyWorker, "frames"});
    } else {
        m_ring.Restart(m_stageCount, m_framesInFlight);
        m_stop.store(0, kRelaxed);  // relaxed: it asks for nothing but an end
        status = Status::Ok;
    }
    m_running.store(0, kRelease);
    return status;
}

Status FramePipeline::RunStages(TaskScheduler *scheduler, uint32_t frames) noexcept {
    scheduler->IncrementCounter(&m_gate);
    m_end.store(frames, kRelaxed);  // relaxed: published to the loops by their submission
    m_ring.Restart(m_stageCount, m_framesInFlight);
    Counter loops;
    uint32_t begun = 0;
    for (uint32_t i = 0; i < m_stageCount; ++i) {
        scheduler->IncrementCounter(&m_toGo[i], kAll);
        scheduler->AddTask({RunLoop, &m_loops[i]}, &loops, m_stages[i].options);
        if (loops.Value() != begun) {
            ++begun;  // none ends before the gate is open
        } else {
            // its options were refused, which was reported
            scheduler->DecrementCounter(&m_toGo[i], kAll);
        }
    }
    const bool all = begun == m_stageCount;
    if (!all) m_end.store(0, kRelaxed);  // relaxed: published by the gate
    scheduler->DecrementCounter(&m_gate);
    scheduler->WaitForCounter(&loops);
    // Nobody is in the counters any more who let others go on.
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
        if (isLast) m_ring.CompleteFrame(frame);  // before those go on that wait for it
        scheduler->DecrementCounter(&m_toGo[stage]);
    }
    if (frame != kAll) scheduler->DecrementCounter(&m_toGo[stage], kAll - frame);
}

// False: the frame will not be. Only the first stage changes m_end, to a frame that has not begun,
// before it lets go of those that wait for that one; so it is enough to look at it after the wait.
bool FramePipeline::AwaitTurn(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept {
    // relaxed here and below: published by the counters
    if (frame >= m_end.load(kRelaxed)) return false;
    if (stage != 0) {
        AwaitEndOf(scheduler, stage - 1, frame);
        return frame < m_end.load(kRelaxed);
    }
    if (frame >= m_framesInFlight)
        AwaitEndOf(scheduler, m_stageCount - 1, frame - m_framesInFlight);
    if (m_stop.load(kRelaxed) != 0) {  // relaxed: it asks for nothing but an end
        m_end.store(frame, kRelaxed);
        return false;
    }
    m_ring.BeginFrame(frame);
    return true;
}

void FramePipeline::AwaitEndOf(TaskScheduler *scheduler, uint32_t stage, uint32_t frame) noexcept {
    scheduler->WaitForCounter(&m_toGo[stage], kAll - 1 - frame);
}

void FramePipeline::Stop() noexcept {
    m_stop.store(1, kRelaxed);  // relaxed: nothing is published with it
}

bool FramePipeline::WaitForFrame(TaskScheduler *scheduler, uint64_t frame) noexcept {
    const uint32_t last = m_stageCount - 1, of = static_cast<uint32_t>(frame);
    if (!IsScheduler(scheduler, "FramePipeline::WaitForFrame")) return false;
    // as many stages are refused by Run
    if (frame >= kAll || last >= kMaxFrameStages) return false;
    // After a run, or before the first, there is nothing to wait for, and perhaps no scheduler that
    // runs.
    const bool mustWait =
        !m_ring.HasFrameCompleted(frame) && !scheduler->PollCounter(&m_toGo[last], kAll - 1 - of);
    if (mustWait) AwaitEndOf(scheduler, last, of);
    return m_ring.HasFrameCompleted(frame);
}

}  // namespace weft
