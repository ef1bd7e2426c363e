// What a run waits for that is to end: the text of the report EndDelayed.
#pragma once

#include "scheduler/find/wait_text.h"
#include "scheduler/state/scheduler.h"

#include <cstdint>

namespace weft::internal {

/// A list in a report. The first items are told, the others are only counted.
class ItemList {
public:
    static constexpr uint32_t kMost = 8;

    /// `heading`: comes before the first item.
    ItemList(ReportText &text, Scheduler &scheduler, const char *heading) noexcept;

    /// Adds `count` tasks of one submission that wait for a time (`deadline`) or for counters
    /// (kNever). `kind`: a word before the name.
    void AddDeferred(const char *kind, uint32_t count, const char *name,
                     uint64_t deadline) noexcept;
    /// Adds a task that waits on its fiber.
    void AddWaiter(const WaiterInfo &waiter) noexcept;
    /// Ends the list. `others`: how many more tasks there are, of which nothing is known.
    void End(uint64_t others) noexcept;

    uint64_t TaskCount() const noexcept { return m_tasks; }
    /// Returns true if the next item is only counted.
    bool IsFull() const noexcept { return m_items >= kMost; }

private:
    // Counts the next item. Returns true if it is to be told.
    bool Begin(uint32_t tasks) noexcept;
    void AddName(const char *kind, uint32_t count, const char *name) noexcept;

    ReportText &m_text;
    Scheduler &m_scheduler;
    const char *m_heading;
    const uint64_t m_now;
    uint64_t m_tasks = 0;
    uint32_t m_items = 0;
};

/// Returns "periodic" or "timed", by what counts the tasks of the block.
const char *KindOfTimed(const TaskBlock &block) noexcept;

/// Returns the deadline of a timed batch, for the list; or kNever. The caller holds the batch.
uint64_t DeadlineOfBatch(const ItemList &items, Scheduler &scheduler, uint32_t index) noexcept;

/// Returns true if external threads keep the run from ending: they wait, or are attached.
inline bool AnyGuest(const Scheduler &scheduler) noexcept {
    // without workers Stop itself is attached
    return scheduler.guests.load(kSeqCst) > (scheduler.workerCount == 0 ? 1u : 0u);
}

/// Reports EndDelayed, once a run. `withdrawn`: a text of the `count` tasks that StopFor has
/// withdrawn, or null.
void ReportLateEnd(Scheduler &scheduler, Worker *worker, const char *withdrawn,
                   uint64_t count) noexcept;

/// Reports it if the timer of the end has expired and nothing was reported then. The caller is the
/// last worker to fall asleep, so no task runs.
inline void ReportIfLate(Scheduler &scheduler, Worker *worker) noexcept {
    // relaxed: a worker that has handled the timer comes here later
    if (WEFT_UNLIKELY(scheduler.lateEnd.isLate.load(kRelaxed)) &&
        (PendingTasks(scheduler) != 0 || AnyGuest(scheduler)) &&
        scheduler.lateEnd.isLate.exchange(false, kRelaxed))
        ReportLateEnd(scheduler, worker, nullptr, 0);
}

}  // namespace weft::internal
