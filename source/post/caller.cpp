#include "post/caller.h"

#include "scheduler/claim.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/submit.h"

namespace weft::internal {

PostCaller::PostCaller(TaskScheduler &scheduler, const char *call) noexcept
    : m_call(call), m_worker(WorkerOf(scheduler)) {
    if (m_worker != nullptr) {
        m_scheduler = internal::MaySubmit(m_worker, call) ? m_worker->scheduler : nullptr;
    } else {
        m_scheduler = m_foreign.emplace(scheduler, call).running;
    }
}

bool PostCaller::Submit(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept {
    if (!AreTasks(*m_scheduler, count, tasks, options, m_call)) return false;
    if (m_worker != nullptr) return internal::Submit(m_worker, count, tasks, nullptr, options);
    return Post(*m_scheduler, nullptr, count, tasks, nullptr, options);
}

void PostCaller::Lower(Counter &counter) noexcept {
    if (m_worker != nullptr) FlushPending(m_worker);
    LowerCounter(*m_scheduler, m_worker, counter, 1);
}

}  // namespace weft::internal
