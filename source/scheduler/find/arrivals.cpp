// Implements arrivals.h.
#include "scheduler/find/arrivals.h"

#include "scheduler/submit/deliver.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/timing.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Pushes the tasks of the blocks to the worker's lanes. Returns the number of tasks, and their
// highest priority in `highest`. A worker takes the item from its lane that came last. So the
// newest block is pushed first, and the oldest one begins first.
uint32_t EnqueueBlocks(Worker *worker, InboxItem *newest, Priority &highest) noexcept {
    uint32_t tasks = 0;
    ReadBlocks blocks(worker);
    for (InboxItem *item = newest; item != nullptr;) {
        TaskBlock *block = static_cast<TaskBlock *>(item);
        item = item->next;
        tasks += block->count;
        highest = std::min(highest, block->label.TheLevel().ThePriority());
        Enqueue(worker, block->count, block->Tasks(), block->counter, block->label);
        AskForRescue(worker, block->label.TheLevel());
        blocks.Add(block);
    }
    return tasks;
}

// Moves what external threads submitted or made ready to this worker's own deques, where other
// workers can steal it. Returns true if tasks of this priority or a higher one came.
bool TakeInjected(Worker *worker, Priority priority) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if ((scheduler.notices.Look() & Notices::kInjected) == 0) return false;
    // [order] Cleared before the list is taken: an item that comes later sets it again.
    scheduler.notices.Hide(Notices::kInjected, [] { return false; });
    uint32_t fibers = 0;
    InboxItem *newestTasks = nullptr;
    for (InboxItem *item = scheduler.injector.TakeAll(); item != nullptr;) {
        InboxItem *next = item->next;
        if (item->kind == InboxItem::Kind::Tasks) {
            item->next = newestTasks;
            newestTasks = item;
        } else if (PushReady(worker, static_cast<Fiber *>(item))) {
            ++fibers;
        } else {
            Inject(scheduler, item);
        }
        item = next;
    }
    Priority highest = Priority::Low;
    const uint32_t tasks = EnqueueBlocks(worker, newestTasks, highest);
    Emit(scheduler, worker, TraceKind::TakeInbox,
         [=](TraceEvent &event) { event.count = tasks + fibers; });
    // This worker may take one of the fibers next. If it does not, FindOwn wakes another worker.
    if (fibers != 0) worker->wakePending = true;
    for (uint32_t i = 1; i < fibers && i < 3; ++i) WakeForAny(scheduler, worker);
    if (WEFT_UNLIKELY(scheduler.groupCount > 1)) {
        WakeForAllLevels(scheduler, worker, tasks + fibers);
    } else if (tasks != 0) {
        WakeForTasks(scheduler, worker, tasks);
    }
    return tasks != 0 && highest <= priority;
}

}  // namespace

bool TakeArrivals(Worker *worker, Priority priority) noexcept {
    TellDueNow(worker);
    return TakeInjected(worker, priority);
}

}  // namespace weft::internal
