// A queue from which posted jobs begin, in the order in which they were posted.
//
//     weft::PostQueue queue(*scheduler);
//     (new Download(queue))->Post();         // weft/post/posted_job.h
//     ...                                    // the destructor of `queue` waits for the job
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// How often the lock of a PostQueue was used.
struct PostStatistics {
    /// How often the lock was taken: by Post, Wake, Signal, starting jobs and due deadlines
    uint64_t locks = 0;
    uint64_t contended = 0;  ///< how often it was not free at once
};

/// A queue of jobs that are ready to begin.
///
/// A job becomes ready when it is posted, woken or signalled, or when its time has come. Jobs begin
/// in the order in which they became ready. Of jobs whose times are found to have come together,
/// the one with the earlier time is first, then the one that was posted earlier. Several workers
/// run several jobs at once. While any job has a time or a deadline, the queue uses a fiber.
///
/// The run waits for jobs that are ready and for jobs that have a time or a deadline. It does not
/// wait for jobs that wait without a deadline. If the tasks of the jobs are refused (reported; the
/// options name a thread that is not attached), the ready jobs are dropped, as if never posted.
class WEFT_API PostQueue {
public:
    /// Makes an empty queue. Its jobs run as tasks with `options`. With kAnyGroup they are in no
    /// worker group. The task that waits for times and deadlines is High and in no group. The
    /// scheduler must outlive the queue, and need not run yet.
    explicit PostQueue(TaskScheduler &scheduler, const TaskOptions &options = {}) noexcept;

    /// Waits until all jobs that are ready or have a time or a deadline have run, and the jobs that
    /// they post meanwhile.
    ///
    /// Jobs that still wait without a deadline are dropped then, as if never posted, and reported
    /// (DestroyedInUse). Nothing else may post, wake or signal jobs of the queue any more. Do not
    /// destroy it in one of its jobs. In a task the fiber waits.
    ~PostQueue();
    PostQueue(const PostQueue &) = delete;
    PostQueue &operator=(const PostQueue &) = delete;

    /// Returns the figures since the construction. Takes the lock, too. Thread-safe.
    PostStatistics Statistics() noexcept;

private:
    friend class PostedJob;
    // The size never changes, so that the library can be replaced without recompiling its users.
    alignas(64) unsigned char m_storage[256];
};

}  // namespace weft
