// What a queue knows of a job. All of it is under the queue's lock, but for what is said to be the
// poster's.
#pragma once

#include "containers/pairing_heap.h"
#include "weft/post/posted_job.h"

#include <cstdint>

namespace weft::internal {

class JobQueue;

enum class JobPlace : uint8_t { Nowhere, Ready, Timed, Waiting };

struct JobState : HeapLinks {
    JobQueue *lane;
    PostedJob *job;
    PostedFunction callback;  // the poster's
    Clock::time_point due{};
    uint64_t turn = 0;  // of those that are due at the same time
    JobPlace place = JobPlace::Nowhere;
    bool waits = false;      // while it is Timed or Waiting: a call begins it
    bool isExpired = false;  // written before the callback begins; then the poster's
    bool isCalled = false;   // since the callback began
    bool isSignalled = false;

    JobState(JobQueue *of, PostedJob *owner, PostedFunction function) noexcept
        : lane(of), job(owner), callback(function) {}
};

struct DueEarlier {
    bool operator()(const JobState &a, const JobState &b) const noexcept {
        return a.due != b.due ? a.due < b.due : a.turn < b.turn;
    }
};

/// Links the jobs that are in no heap. To take the first does not touch the second, which another
/// worker is to have next: its `previous` is stale then.
class JobList {
public:
    JobState *Last() const noexcept { return static_cast<JobState *>(m_last); }
    uint32_t Size() const noexcept { return m_size; }

    void Append(JobState &job) noexcept {
        ++m_size;
        job.next = nullptr;
        job.previous = m_last;
        (m_last != nullptr ? m_last->next : m_first) = &job;
        m_last = &job;
    }

    /// Null if there is none.
    JobState *TakeFirst() noexcept {
        HeapLinks *const first = m_first;
        if (first == nullptr) return nullptr;
        --m_size;
        m_first = first->next;
        if (m_first == nullptr) m_last = nullptr;
        return static_cast<JobState *>(first);
    }

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
