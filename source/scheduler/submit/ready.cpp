// Implements ready.h.
#include "scheduler/submit/ready.h"

#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

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
    Priority priority = std::min(fiber.own, WaiterOf(fiber.counter.load(kRelaxed)));
    for (const InlineFrame *frame = fiber.inlined; frame != nullptr; frame = frame->outer)
        priority = std::min(priority, WaiterOf(frame->counter));
    return priority;
}

// A Low task that only some groups may run stays with them. relaxed: any of the values will do
bool MayRaise(const Scheduler &scheduler, const Fiber &fiber) noexcept {
    return fiber.own != Priority::Low || fiber.level.slot != 0 ||
           scheduler.lowGroups.load(kRelaxed) == 0;
}

}  // namespace

// A worker that is about to pick probably continues this fiber. Others can steal it, but none is
// woken for it. If the worker picks something else, it wakes them then.
void MakeReady(Scheduler &scheduler, Worker *worker, Fiber &fiber, bool picks) noexcept {
    if (IsTraced(scheduler) && fiber.wait.counter.load(kRelaxed) != nullptr)
        EmitReady(scheduler, worker, fiber);
    fiber.wait.counter.store(nullptr, kRelaxed);
    const Priority priority = MayRaise(scheduler, fiber) ? InheritedPriority(fiber) : fiber.own;
    if (priority != fiber.level.priority) fiber.level = fiber.level.With(priority);
    if (fiber.pinnedTo != kAnyWorker)
        return Mail(scheduler, worker, fiber.pinnedTo, &fiber, &fiber);
    if (worker == nullptr) return Inject(scheduler, nullptr, &fiber, &fiber, 1);
    HandOver &handOver = worker->handOver;
    if (handOver.isQuiet) EndQuiet(*worker);
    handOver.last = &fiber;
    handOver.level = fiber.level;
    // The host's code may not come back to a scheduling point soon. High work must be noticed.
    handOver.isQuiet =
        picks && !worker->current->IsThreadStack() && (kUnnoticed & fiber.level.Bit()) != 0;
    Push(*worker, handOver.level, Entry::Of(fiber));
    if (!handOver.isQuiet) PublishedOwn(*worker, handOver.level, 1);
}

void EndQuiet(Worker &worker) noexcept {
    worker.handOver.isQuiet = false;
    Published(*worker.scheduler, &worker, worker.handOver.level, 1);
}

}  // namespace weft::internal
