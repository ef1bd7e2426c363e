// Puts ready fibers and blocks of tasks into ready queues, inboxes and the injector.
#include "scheduler/submit/deliver.h"

#include "platform/compiler.h"
#include "scheduler/state/groups.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/wake.h"

#include <utility>

namespace weft::internal {

namespace {

// PushReady, always inlined: a call would cost a measurable part of a hand-over. The caller reads
// the level before the fiber is published.
WEFT_FORCEINLINE bool PushReadyHere(Worker *worker, const Fiber *fiber, Level level) noexcept {
    const uint32_t i = level.Index();
    if (WEFT_UNLIKELY((level.Set() != 0 && !AcquireSet(*worker, level.Set())) ||
                      !worker->ready[i].Push(fiber->index)))
        return false;
    worker->mayHoldFibers |= level.Bit();
    if (WEFT_UNLIKELY(i != Level().Index())) {
        LookAtRuns(worker);
        if (level.ThePriority() != Priority::Normal) ShowLevel(*worker->scheduler, level);
    }
    return true;
}

WEFT_FORCEINLINE void SetReadyHere(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept {
    Emit(scheduler, worker, TraceKind::Ready, [=](TraceEvent &event) {
        event.other = fiber->index;
        event.task = fiber->taskName.load(kRelaxed);     // the fiber does not run; its
        event.counter = fiber->waitsFor.load(kRelaxed);  // publication came before this
    });
    fiber->isReady.store(true, kRelaxed);  // for reports
}

}  // namespace

void SetReady(Worker *worker, Fiber *fiber) noexcept {
    SetReadyHere(*worker->scheduler, worker, fiber);
}

void MakeReady(Scheduler &scheduler, Worker *worker, Fiber *fiber) noexcept {
    SetReadyHere(scheduler, worker, fiber);
    const uint32_t pinnedTo = fiber->pinnedTo;  // read before it is published
    if (pinnedTo != kAnyWorker) {
        PushInbox(scheduler.workers[pinnedTo], fiber);
        return WakeAt(scheduler, worker, pinnedTo);
    }
    const Level level = fiber->level;
    const bool handOver = worker != nullptr && worker->willPollNext && !worker->wakePending &&
                          !HoldsAnyFiber(worker) && MayRun(*worker, level);
    if (worker == nullptr || !PushReadyHere(worker, fiber, level)) {
        Inject(scheduler, fiber);
    } else if (handOver) {
        worker->wakePending = true;  // FindOwn wakes a worker, unless it takes this fiber
        return;
    }
    if (IsDivided(scheduler, level)) return WakeForGroups(scheduler, worker, 1, level);
    WakeForAny(scheduler, worker);
}

bool PushReady(Worker *worker, Fiber *fiber) noexcept {
    return PushReadyHere(worker, fiber, fiber->level);
}

namespace {

// Puts the items into the inbox of `target`, or into the injector.
void PushItems(Scheduler &scheduler, InboxItem *newest, InboxItem *oldest,
               uint32_t target) noexcept {
    if (target != kAnyWorker) {
        PushInbox(scheduler.workers[target], newest, oldest);
    } else {
        Inject(scheduler, newest, oldest);
    }
}

// Wakes workers for `count` tasks in the inbox of `target`, or in the injector.
void WakeFor(Scheduler &scheduler, Worker *worker, uint32_t count, uint32_t target) noexcept {
    if (target == kAnyWorker) {
        // This may wake a starved worker: it cannot run the tasks, but it can report that.
        WakeForAny(scheduler, worker);
        if (count > 1) WakeForTasks(scheduler, worker, count);
    } else {
        WakeAt(scheduler, worker, target);
    }
}

}  // namespace

void DeliverTasks(Scheduler &scheduler, Worker *worker, InboxItem *newest, InboxItem *oldest,
                  uint32_t count, uint32_t target) noexcept {
    PushItems(scheduler, newest, oldest, target);
    WakeFor(scheduler, worker, count, target);
}

namespace {

// Tells that the condition of a deferred task holds. The worker is in the middle of a decrement or
// of its deadlines, so the hook must not submit.
WEFT_NOINLINE void TraceDeferred(Scheduler &scheduler, Worker *worker, TaskBlock &block) noexcept {
    bool *const mustNotSubmit = worker != nullptr ? &worker->mustNotSubmit : nullptr;
    const bool before = mustNotSubmit != nullptr && std::exchange(*mustNotSubmit, true);
    block.label.taskId = TraceSubmit(scheduler, worker, block.count, block.Tasks(),
                                     block.counter.Get(), block.label);
    if (mustNotSubmit != nullptr) *mustNotSubmit = before;
}

}  // namespace

void Send(Scheduler &scheduler, Worker *worker, TaskBlock *block) noexcept {
    if (IsTraced(scheduler)) TraceDeferred(scheduler, worker, *block);
    const uint32_t target = block->worker;  // read before it is published
    DeliverTasks(scheduler, worker, block, block, 1, target);
}

void SendBatch(Scheduler &scheduler, Worker *worker, TaskBlock *oldest, uint32_t count) noexcept {
    const uint32_t target = oldest->worker;  // read before it is published
    InboxItem *newest = nullptr;
    for (TaskBlock *block = oldest; block != nullptr;) {
        TaskBlock *later = static_cast<TaskBlock *>(block->next);
        if (IsTraced(scheduler)) TraceDeferred(scheduler, worker, *block);
        block->next = newest;
        newest = block;
        block = later;
    }
    DeliverTasks(scheduler, worker, newest, oldest, count, target);
}

}  // namespace weft::internal
