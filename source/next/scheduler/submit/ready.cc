// Implements ready.h.
#include "scheduler/submit/ready.h"

#include "scheduler/submit/wake.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

Priority WaiterOf(const Counter *counter) noexcept {
    // relaxed: a waiter that comes later raises the next fiber that becomes ready
    return counter != nullptr
               ? CounterWord{CounterAccess::Word(*counter).load(kRelaxed)}.HighestWaiter()
               : Priority::Low;
}

// A task inherits the priority of the highest waiter for the counter that counts it. These counters
// are alive: each of them counts a task of this fiber that has not finished.
Priority InheritedPriority(const Fiber &fiber) noexcept {
    Priority priority = std::min(fiber.own, WaiterOf(fiber.task.counter));
    for (const InlineFrame *frame = fiber.inlined; frame != nullptr; frame = frame->outer)
        priority = std::min(priority, WaiterOf(frame->counter));
    return priority;
}

}  // namespace

// A fiber that this worker is likely to continue next is not shown to others, and wakes nobody: it
// was so several times in a row. The worker shows it at its next pick if it takes something else.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber) noexcept {
    fiber.level = fiber.level.With(InheritedPriority(fiber));
    if (fiber.pinnedTo != kAnyWorker)
        return Mail(scheduler, worker, fiber.pinnedTo, &fiber, &fiber);
    if (worker == nullptr) return Inject(scheduler, nullptr, &fiber, &fiber, 1);
    if (worker->handOver.next != nullptr) ShowHandOver(*worker);
    worker->handOver.last = &fiber;
    // The host's code may not come back to a scheduling point soon.
    if (worker->handOver.inARow >= HandOver::kExpected && !worker->current->IsThreadStack())
        worker->handOver.next = &fiber;
    else
        PushEntry(*worker, fiber.level, Entry::Of(fiber));
}

void ShowHandOver(Worker &worker) noexcept {
    Fiber &fiber = *std::exchange(worker.handOver.next, nullptr);
    worker.handOver.inARow = 0;
    PushEntry(worker, fiber.level, Entry::Of(fiber));
}

}  // namespace weft::internal
