// Who calls a PostQueue: a task, an attached thread, or another thread. While one of them lives the scheduler runs, so that what
// is decided under the queue's lock can be done afterwards.
#pragma once

#include "scheduler/call.h"
#include "weft/task_scheduler.h"

#include <optional>

namespace weft::internal {

class PostCaller {
public:
    /// Not beyond a call by which the task may move to another worker.
    PostCaller(TaskScheduler &scheduler, const char *call) noexcept;

    /// False after a report.
    bool MaySubmit() const noexcept { return m_scheduler != nullptr; }
    bool Submit(uint32_t count, const Task *tasks, const TaskOptions &options) noexcept;
    void Lower(Counter &counter) noexcept;

private:
    const char *const m_call;
    Worker *const m_worker;  // null: a thread that is none
    std::optional<ForeignCall> m_foreign;
    Scheduler *m_scheduler;
};

}  // namespace weft::internal
