// The public class PostedJob. It forwards to the JobQueue of its queue.
#include "weft/post/posted_job.h"

#include "post/access.h"

#include <algorithm>
#include <new>

namespace weft {

using namespace internal;

PostedJob::PostedJob(PostQueue &queue, PostedFunction callback) noexcept {
    static_assert(sizeof(JobState) <= sizeof m_storage && alignof(JobState) <= 8,
                  "the storage in the public class is too small");
    new (m_storage) JobState(&Stored<JobQueue>(queue.m_storage), this, callback);
}

// Without the lock: no other thread may use the job any more, and its queue may be gone.
PostedJob::~PostedJob() {
    JobState &state = Stored<JobState>(m_storage);
    if (state.status != JobStatus::Nowhere) state.lane->Forget(state);
}

void PostedJob::SetCallback(PostedFunction callback) noexcept {
    JobState &state = Stored<JobState>(m_storage);
    if (state.lane->IsCallback(callback, "PostedJob::SetCallback: a null callback"))
        state.callback = callback;
}

void PostedJob::Post() noexcept {
    JobState &state = Stored<JobState>(m_storage);
    state.lane->Post(state, JobQueue::kAtOnce, false);
}

void PostedJob::PostUntil(Clock::time_point time, bool waits) noexcept {
    JobState &state = Stored<JobState>(m_storage);
    // kAtOnce is no time. So the lowest time that can be posted is the next one.
    state.lane->Post(state, std::max(time, JobQueue::kAtOnce + Clock::duration(1)), waits);
}

void PostedJob::Wake() noexcept {
    JobState &state = Stored<JobState>(m_storage);
    state.lane->Call(state, false);
}

void PostedJob::Signal() noexcept {
    JobState &state = Stored<JobState>(m_storage);
    state.lane->Call(state, true);
}

bool PostedJob::ReceiveSignal() noexcept {
    JobState &state = Stored<JobState>(m_storage);
    return state.lane->ReceiveSignal(state);
}

bool PostedJob::IsExpired() const noexcept { return Stored<JobState>(m_storage).isExpired; }

}  // namespace weft
