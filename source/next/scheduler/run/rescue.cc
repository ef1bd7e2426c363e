// Implements rescue.h.
#include "scheduler/run/rescue.h"

#include "scheduler/policy/places.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/chunks.h"
#include "scheduler/submit/wake.h"

namespace weft::internal {

// The counter counts the task, so it is alive.
Fiber *Rescue(Worker &worker, const Entry &entry) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    if (entry.IsEmpty() || entry.TheCounter() == nullptr) return nullptr;
    const auto wants = [&](uint32_t owner, uint32_t target) {
        if (target != 0 || (owner & kThreadOwner) != 0) return false;
        const Fiber &fiber = scheduler.fibers[owner];
        return fiber.wait.deadline == Timers::kNever && !fiber.IsThreadStack() &&
               (fiber.pinnedTo == kAnyWorker || fiber.pinnedTo == worker.index);
    };
    const uint32_t owner =
        scheduler.counters.RemoveIf(CounterAccess::Word(*entry.TheCounter()), worker.index, wants);
    if (owner == Counters::kNobody) return nullptr;
    scheduler.fibers[owner].wait.rescue = entry;
    return &scheduler.fibers[owner];
}

void PutBehind(Worker &worker, const Work &work) noexcept {
    Chunk *chunk;
    if (work.entry.TheKind() == Entry::Chunk) {
        chunk = &work.entry.TheChunk();
    } else {
        const Task task = work.entry.TheTask();
        chunk = &FillChunk(*worker.scheduler, &worker, 1, &task, work.entry.What(), work.level);
    }
    if (!chunk->isPinned) return Inject(*worker.scheduler, &worker, chunk, chunk, 1);
    worker.pinned[static_cast<uint32_t>(work.level.ThePriority())].PushBack(*chunk);
    NoteFilter(worker);
}

Fiber *WithoutFiber(Fiber &self, Destination destination, const Work &work) noexcept {
    Worker &worker = *self.worker;
    ReportOnce(
        *worker.scheduler, ReportCode::OutOfSmallFibers, "Raise SchedulerOptions::smallFibers.",
        "all %u fibers run tasks or wait; other tasks cannot begin", worker.scheduler->fiberCount);
    const FiberWait &wait = self.wait;
    if (work && destination == Destination::ToWaiting && wait.deadline == Timers::kNever &&
        wait.target == 0 && !self.IsThreadStack() && work.entry.TheCounter() == wait.counter) {
        self.wait.rescue = work.entry;
        return &self;
    }
    if (work) {
        if (Fiber *const fiber = Rescue(worker, work.entry)) return fiber;
        PutBehind(worker, work);
    }
    return &worker.thread;
}

}  // namespace weft::internal
