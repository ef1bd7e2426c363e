// Implements run_work.h.
#include "scheduler/run/run_work.h"

#include "platform/floating_point.h"
#include "platform/thread_end.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/run/fiber_switch.h"
#include "scheduler/run/idle_loop.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace weft::internal {

namespace {

constexpr uint32_t kSpell = 8;  // tasks of a chunk between two looks at other things

// Between two tasks of a chunk: gives others a part of it, or the rest if tasks take long. Then the
// rest never waits for a long task.
void LookUp(Worker &worker, Chunk &chunk) noexcept {
    Look(worker, 0);
    if (worker.fair.period < 32 || worker.fair.isUrgent)
        ReleaseClaims(worker);
    else if (worker.scheduler->idle.AnySearcher() && worker.queue[chunk.level.index].LooksEmpty())
        ShareClaim(worker);
}

WEFT_FORCEINLINE bool AnyCall(const Worker &worker) noexcept {
    return WEFT_UNLIKELY(worker.handOver.next != nullptr ||
                         (worker.scheduler->notices.Look() & worker.filter.heeds) != 0 ||
                         !worker.inbox.LooksEmpty());
}

}  // namespace

void CallTask(Fiber &self, const Task &task) noexcept {
    TaskScheduler *const taskScheduler = self.worker->taskScheduler;
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
        task.function(taskScheduler, task.arg);
    } catch (const std::exception &exception) {
        ReportThrown(*self.worker->scheduler, exception.what());
    } catch (...) {
        CheckThreadStays();
        ReportThrown(*self.worker->scheduler, "not a std::exception");
    }
#else
    task.function(taskScheduler, task.arg);
#endif
}

// While the chunk is in the claim, the worker has not left this fiber.
void RunChunk(Fiber &self, Chunk &chunk) noexcept {
    Counter *const counter = chunk.of.counter;
    Worker *worker = self.worker;
    BeginChunk(*worker, chunk);
    uint32_t next = chunk.begin;  // in a register: only this loop changes it meanwhile
    for (uint32_t look = next;;) {
        const Task task = chunk.Tasks()[next++];
        chunk.begin = static_cast<uint8_t>(next);
        if (WEFT_UNLIKELY(next > look)) {
            if (next != chunk.end) LookUp(*worker, chunk);
            if (worker->claim == &chunk && next == chunk.end) EndChunk(*worker);
            if (worker->claim == &chunk) look = std::min<uint32_t>(next + kSpell, chunk.end - 1);
        }
        CallTask(self, task);
        worker = self.worker;
        if (WEFT_UNLIKELY(worker->claim != &chunk)) return Ran(*worker, counter, 1);
        if (AnyCall(*worker)) {
            Settle(*worker, 0);
            const bool attend = AttendNow(*worker);
            if (worker->claim != &chunk) return;
            if (attend) return ReleaseClaims(*worker);
            look = next;
        }
    }
}

void RunEntry(Fiber &self, const Entry &entry) noexcept {
    if (entry.TheKind() == Entry::Chunk) return RunChunk(self, entry.TheChunk());
    Counter *const counter = entry.TheCounter();
    CallTask(self, entry.TheTask());
    Ran(*self.worker, counter, 1);
}

void Execute(Fiber &self, const Work &work) noexcept {
    if (work.entry.TheKind() == Entry::Fiber)
        return SwitchTo(self, work.entry.TheFiber(), Destination::ToPool);
    self.level = work.level;
    self.own = work.level.ThePriority();
    self.task = work.entry.What();
    self.pinnedTo = work.isPinned ? self.worker->index : kAnyWorker;
    RunEntry(self, work.entry);
    if (WEFT_UNLIKELY(work.isPinned)) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
}

FiberContext *FiberMain(void *arg) noexcept {
    Fiber &self = *static_cast<Fiber *>(arg);
    FinishSwitch(*self.worker);
    for (;;) {
        Worker &worker = *self.worker;
        if (WEFT_UNLIKELY(self.floatingPoint != worker.floatingPoint)) {
            self.floatingPoint = worker.floatingPoint;
            SetFloatingPointControl(self.floatingPoint);
        }
        Work work;
        if (self.start) {
            work = std::exchange(self.start, {});
        } else if (NextPlain(worker, work.entry)) {
            work.level = worker.filter.home;
        } else {
            work = NextWork(worker);
            if (!work && !FindWork(worker, work)) {
                if (worker.scheduler->ending != nullptr) return worker.scheduler->ending;
                SwitchTo(self, worker.thread, Destination::ToPool);
                continue;
            }
        }
        self.begins = false;
        Execute(self, work);
    }
}

}  // namespace weft::internal
