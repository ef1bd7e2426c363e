#include "weft/post/post_queue.h"

#include "post/access.h"

#include <new>

namespace weft {

using namespace internal;

PostQueue::PostQueue(TaskScheduler &scheduler, const TaskOptions &options) noexcept {
    static_assert(sizeof(PostLane) <= sizeof m_storage && alignof(PostLane) <= 64,
                  "the public class has room for it");
    new (m_storage) PostLane(scheduler, options);
}

PostQueue::~PostQueue() { Stored<PostLane>(m_storage).~PostLane(); }

PostStatistics PostQueue::Statistics() noexcept { return Stored<PostLane>(m_storage).Statistics(); }

}  // namespace weft
