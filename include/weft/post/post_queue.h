// The lane that posted jobs begin from, in the order of their posts.
//
//     weft::PostQueue queue(*scheduler);
//     (new Download(queue))->Post();         // weft/post/posted_job.h
//     ...                                    // the end of `queue` waits for it
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

namespace weft {

/// What a PostQueue has gone through.
struct PostStatistics {
    /// How often its lock was taken, by posts, calls, runners and deadlines
    uint64_t locks = 0;
    uint64_t contended = 0;  ///< how often it was not free at once
};

/// Jobs are taken in the order in which they became ready: were posted, were called, or were found
/// due; of those that are found due together, the earlier time first, then the earlier post.
/// Several workers run several jobs at once. While any job has a deadline the queue holds one small
/// fiber.
///
/// A run does not end before the jobs that are ready or have a time, but waits without a deadline
/// do not hold it up. If their tasks are refused (reported: the options name a thread that is not
/// attached), the jobs that are ready are given back, as if never posted.
class WEFT_API PostQueue {
public:
    /// All of its jobs run as tasks with these options. The scheduler must outlive it, and need not
    /// run yet.
    explicit PostQueue(TaskScheduler &scheduler, const TaskOptions &options = {}) noexcept;

    /// Returns when all jobs that are ready or have a time have run, and all that they post
    /// meanwhile. The jobs that then still wait without a deadline are given back, as if never
    /// posted, and reported (CounterDestroyed). Others must not post or call jobs any more. Not
    /// from a job of this queue. In a task the fiber waits.
    ~PostQueue();
    PostQueue(const PostQueue &) = delete;
    PostQueue &operator=(const PostQueue &) = delete;

    /// Since its construction; asking takes the lock, too. Any thread.
    PostStatistics Statistics() noexcept;

private:
    friend class PostedJob;
    // its size never changes, so that libraries can be exchanged
    alignas(64) unsigned char m_storage[256];
};

}  // namespace weft
