// The public class PostQueue. It forwards to the JobQueue in its storage.
#include "weft/post/post_queue.h"

#include "post/access.h"

#include <new>

namespace weft {

using namespace internal;

PostQueue::PostQueue(TaskScheduler &scheduler, const TaskOptions &options) noexcept {
    static_assert(sizeof(JobQueue) <= sizeof m_storage && alignof(JobQueue) <= 64,
                  "the storage in the public class is too small");
    new (m_storage) JobQueue(scheduler, options);
}

PostQueue::~PostQueue() { Stored<JobQueue>(m_storage).~JobQueue(); }

PostStatistics PostQueue::Statistics() noexcept { return Stored<JobQueue>(m_storage).Statistics(); }

}  // namespace weft
