#include "weft/sync/queued_task.h"

#include "scheduler/api/internal_api.h"
#include "sync/wake_list.h"
#include "weft/deferred.h"

#include <cstdio>

namespace weft {

using namespace internal;

bool QueuedTask::Prepare(TaskScheduler &scheduler, const TaskOptions &options,
                         const char *call) noexcept {
    char what[160];
    if (options.taskGroup != nullptr) {
        std::snprintf(
            what, sizeof what,
            "%s: the task cannot belong to a TaskGroup. A task that is skipped would not pass "
            "on what it has waited for",
            call);
        ReportMisuse(scheduler, ReportCode::BadOption, "Give no taskGroup.", what);
        return false;
    }
    // relaxed: it only decides which one of several callers is first, and several callers are a
    // mistake. If the object was used before and its wait is over, its counter is zero.
    if (!m_wasUsed.exchange(true, kRelaxed)) return true;
    if (m_waiter.counter.IsZero()) return scheduler.IncrementCounter(&m_waiter.counter);
    std::snprintf(what, sizeof what, "%s: the QueuedTask is still in line for another task", call);
    ReportMisuse(scheduler, ReportCode::BadOption,
                 "Give each task that waits a QueuedTask of its own.", what);
    return false;
}

// The task is submitted when the counter of the waiter reaches zero. So a notifier treats this
// waiter like any other, although no stack waits for it.
bool QueuedTask::Submit(TaskScheduler &scheduler, bool waits, const Task &task, Counter *counter,
                        const TaskOptions &options) noexcept {
    if (!waits) {
        WakeList list;
        list.Add(m_waiter);
        list.Wake(scheduler);
    }
    // If it returns true, the task may have run, and this object may be gone.
    return AddKeptTaskAfter(scheduler, &m_waiter.counter, 0, task, counter, options);
}

void QueuedTask::GiveUp() noexcept {
    // As new. No other thread has the waiter, so relaxed suffices.
    PrepareNextWait(m_waiter);
    m_waiter.polls = false;
    m_wasUsed.store(false, kRelaxed);
}

}  // namespace weft
