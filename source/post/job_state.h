// What a queue knows of a job. The queue's lock guards all members, except those that are marked as
// "the poster's": they belong to the thread that may post the job.
#pragma once

#include "containers/pairing_heap.h"
#include "weft/post/posted_job.h"

#include <cstdint>

namespace weft::internal {

class JobQueue;

/// Where a job is. Nowhere: it is not posted, or its callback runs.
enum class JobStatus : uint8_t { Nowhere, Ready, Timed, Waiting };

/// The state of a job, in the storage of its PostedJob.
struct JobState : HeapLinks {
    JobQueue *lane;
    PostedJob *job;
    PostedFunction callback;  // the poster's
    Clock::time_point due{};
    uint64_t turn = 0;  // the order of Timed jobs with the same time
    JobStatus status = JobStatus::Nowhere;
    bool waits = false;      // for a job that is Timed or Waiting: Wake and Signal make it ready
    bool isExpired = false;  // written before the callback begins, then the poster's
    bool isCalled = false;   // Wake or Signal was called since the last callback began
    bool isSignalled = false;

    JobState(JobQueue *of, PostedJob *owner, PostedFunction function) noexcept
        : lane(of), job(owner), callback(function) {}
};

/// Orders Timed jobs by time, then by the order of their posts.
struct DueEarlier {
    bool operator()(const JobState &a, const JobState &b) const noexcept {
        return a.due != b.due ? a.due < b.due : a.turn < b.turn;
    }
};

/// A list of the jobs that are not in the heap. TakeFirst does not access the second job, because
/// another worker will take that one next. So the `previous` of the first job is stale.
class JobList {
public:
    JobState *Last() const noexcept { return static_cast<JobState *>(m_last); }
    uint32_t Size() const noexcept { return m_size; }

    /// Adds the job at the end.
    void Append(JobState &job) noexcept {
        ++m_size;
        job.next = nullptr;
        job.previous = m_last;
        (m_last != nullptr ? m_last->next : m_first) = &job;
        m_last = &job;
    }

    /// Returns null if the list is empty.
    JobState *TakeFirst() noexcept {
        HeapLinks *const first = m_first;
        if (first == nullptr) return nullptr;
        --m_size;
        m_first = first->next;
        if (m_first == nullptr) m_last = nullptr;
        return static_cast<JobState *>(first);
    }

    /// Removes the job, which must be in the list.
    void Remove(JobState &job) noexcept {
        if (m_first == &job) {
            TakeFirst();
            return;
        }
        --m_size;
        job.previous->next = job.next;
        (job.next != nullptr ? job.next->previous : m_last) = job.previous;
    }

private:
    HeapLinks *m_first = nullptr;
    HeapLinks *m_last = nullptr;
    uint32_t m_size = 0;
};

}  // namespace weft::internal
