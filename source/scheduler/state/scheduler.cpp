// Counting the pending tasks of a scheduler.
#include "scheduler/state/scheduler.h"

namespace weft::internal {

// Sums up the finished tasks first, then the submitted ones.
//
// Suppose both sums are equal and a task T is unfinished. T is not among the finished tasks.
// Because the sums are equal, T's submission was not among the submissions that were read. T's
// submitter is not among the finished tasks either: reading its end (acquire) would have shown the
// submission. So the submitter is unfinished too, and its own submission was not read. The same
// holds for its submitter, and so on up to the main task. But the submission of the main task is
// always read: a contradiction.
//
// External threads submit without being tasks. A caller that relies on the sums reads them while
// the gate is closed and no thread is inside it, so that all submissions of external threads are
// read. Or it needs only "at some moment of my call", as WaitIdle does.
uint64_t PendingTasks(const Scheduler &scheduler) noexcept {
    uint64_t finished = 0;
    uint64_t submitted = 0;
    // acquire: pairs with the release in CountFinished. What the finished tasks have submitted is
    // counted below.
    uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) finished += scheduler.workers[i].finished.load(kAcquire);
    // Reads the number of slots again. A thread may have attached since then, and some tasks that
    // were counted as finished may have been submitted by it. Tasks that finished on this thread
    // are not counted, so the result may be too large. In that case this thread calls PendingTasks
    // later, after it has finished them.
    slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) submitted += scheduler.workers[i].submitted.load(kAcquire);
    return submitted + scheduler.externalSubmitted.load(kAcquire) - finished;
}

}  // namespace weft::internal
