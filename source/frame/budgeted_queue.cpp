// A queue whose tasks use a budget of time in each frame.
//
// A runner is a task that begins one task of the queue, and then submits itself again. So the
// worker looks for other work after each task of the queue.
//
// A runner gives up its place (m_runners) under the lock under which it has seen that it may not
// begin a task. BeginFrame counts the places under the same lock. So it never takes a runner that
// is about to end for one that goes on.
#include "weft/frame/budgeted_queue.h"

#include "platform/backoff.h"
#include "platform/compiler.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

#include <algorithm>

namespace weft {

using namespace internal;

class BudgetedQueue::Held {
public:
    explicit Held(const BudgetedQueue &queue) noexcept : m_isLocked(queue.m_isLocked) {
        // acquire: comes after what the last holder did.
        for (Backoff backoff; m_isLocked.exchange(true, kAcquire); backoff.Next()) {
        }
    }
    // release: comes before what the next holder does.
    ~Held() { m_isLocked.store(false, kRelease); }
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;

private:
    WEFT_ATOMIC<bool> &m_isLocked;
};

// Ends a task of the queue, also if an exception leaves it.
struct BudgetedQueue::Ending {
    BudgetedQueue &queue;
    const Clock::time_point begin;
    bool hasReturned = false;
    ~Ending() { queue.End(begin, hasReturned); }
};

BudgetedQueue::BudgetedQueue(TaskScheduler &scheduler, uint32_t slots, Task *storage,
                             const TaskOptions &options) noexcept
    : m_scheduler(&scheduler),
      m_slots(storage),
      m_slotCount(storage != nullptr ? slots : 0),
      m_group(scheduler, options.taskGroup),
      m_options(OfOwner(options)) {
    m_options.taskGroup = &m_group;
    if (storage == nullptr)
        ReportMisuse(scheduler, ReportCode::BadOption, "Give it an array of tasks.",
                     "BudgetedQueue: the storage is null");
}

BudgetedQueue::~BudgetedQueue() {
    if (m_group.IsZero()) return;
    m_group.Cancel();
    m_group.Wait();
}

bool BudgetedQueue::Add(Task task) noexcept {
    if (task.function == nullptr) {
        ReportMisuse(*m_scheduler, ReportCode::NullTask, "Give the task a function.",
                     "BudgetedQueue::Add: a task with a null function");
        return false;
    }
    if (IsCancelled()) return false;
    const Held held(*this);
    if (m_count == m_slotCount) return false;
    race::Submitted(1, &task);
    m_slots[(uint64_t{m_first} + m_count) % m_slotCount] = task;
    ++m_count;
    return true;
}

bool BudgetedQueue::BeginFrame(Clock::duration budget, uint32_t runners) noexcept {
    uint32_t missing = 0;
    {
        const Held held(*this);
        const Clock::time_point now = Now();
        m_frameBegin = now;
        m_budget = budget;
        m_maxRunners = runners;
        m_hasBegun = false;
        m_ended = m_begins = Clock::duration::zero();
        if (MayBegin(now)) {
            // Each running task has a runner, which can begin another one only later.
            const uint64_t useful = (std::min)(uint64_t{runners}, uint64_t{m_count} + m_running);
            missing = useful > m_runners ? static_cast<uint32_t>(useful) - m_runners : 0;
            m_runners += missing;
        }
    }
    for (; missing != 0; --missing) {
        if (SubmitRunner()) continue;
        const Held held(*this);
        m_runners -= missing;
        return false;
    }
    return true;
}

bool BudgetedQueue::SubmitRunner() noexcept {
    const Task runner{RunNext, this};
    return Caller(*m_scheduler, "BudgetedQueue::BeginFrame").Submit(1, &runner, m_options);
}

void BudgetedQueue::RunNext(TaskScheduler *scheduler, void *arg) {
    BudgetedQueue &queue = *static_cast<BudgetedQueue *>(arg);
    Task task;
    Clock::time_point begin;
    {
        const Held held(queue);
        begin = Now();
        if (!queue.MayBegin(begin)) {
            --queue.m_runners;
            return;
        }
        task = queue.m_slots[queue.m_first];
        queue.m_first = (queue.m_first + 1) % queue.m_slotCount;
        --queue.m_count;
        ++queue.m_running;
        ++queue.m_begun;
        queue.m_hasBegun = true;
        queue.m_begins += queue.OffsetOf(begin);
    }
    race::Starts(task);
    Ending ending{queue, begin};
    task.function(scheduler, task.arg);
    ending.hasReturned = true;
}

// The group counts this runner until it has returned. So the queue lives until then.
void BudgetedQueue::End(Clock::time_point begin, bool hasReturned) noexcept {
    {
        const Held held(*this);
        const Clock::time_point now = Now();
        --m_running;
        m_begins -= OffsetOf(begin);
        m_ended += OffsetOf(now) - OffsetOf(begin);
        if (!hasReturned || !MayBegin(now)) {
            --m_runners;
            return;
        }
    }
    if (SubmitRunner()) return;
    const Held held(*this);
    --m_runners;
}

bool BudgetedQueue::MayBegin(Clock::time_point now) const noexcept {
    if (m_count == 0 || m_budget <= Clock::duration::zero() || IsCancelled()) return false;
    if (m_runners > m_maxRunners || m_maxRunners == 0) return false;
    return !m_hasBegun || UsedAt(now) < m_budget;
}

// A time before the frame, when a task of an earlier frame began, counts as the begin of the frame.
Clock::duration BudgetedQueue::OffsetOf(Clock::time_point time) const noexcept {
    return (std::max)(time - m_frameBegin, Clock::duration::zero());
}

Clock::duration BudgetedQueue::UsedAt(Clock::time_point now) const noexcept {
    return m_ended + m_running * OffsetOf(now) - m_begins;
}

uint32_t BudgetedQueue::QueuedCount() const noexcept {
    const Held held(*this);
    return IsCancelled() ? 0 : m_count;
}

uint32_t BudgetedQueue::DroppedCount() const noexcept {
    const Held held(*this);
    return IsCancelled() ? m_count : 0;
}

uint64_t BudgetedQueue::BegunCount() const noexcept {
    const Held held(*this);
    return m_begun;
}

Clock::duration BudgetedQueue::UsedTime() const noexcept {
    const Held held(*this);
    return UsedAt(Now());
}

}  // namespace weft
