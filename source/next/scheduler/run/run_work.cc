// Implements run_work.h.
#include "scheduler/run/run_work.h"

#include "platform/floating_point.h"
#include "platform/thread_end.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/run/fiber_switch.h"
#include "scheduler/run/idle_loop.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/claim.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <exception>
#include <utility>

namespace weft::internal {

namespace {

// A fiber that began without work was expected to keep an earlier deadline (RegisterWaiter).
void PassOnDeadline(Worker &worker) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    if (scheduler.timers.Next() < scheduler.keeperUntil.load(kSeqCst))
        WakeOne(scheduler, &worker, kAnyKeeper);
}

}  // namespace

// Destroys the task, if it is a closure.
void SkipTask(const Fiber &self, const Task &task) noexcept {
    auto &closures = self.worker->scheduler->closures;
    if (reinterpret_cast<uintptr_t>(task.arg) % alignof(ClosureBlock) != 0 ||
        !closures.Contains(task.arg))
        return;
    const ClosureBlock *block = static_cast<const ClosureBlock *>(task.arg);
    if (block->run != task.function) return;
    task.function(nullptr, task.arg);
    closures.GiveBack(block->index, CacheOf(self.worker));
}

namespace {

// Called in the handler of an exception.
[[maybe_unused]] bool IsKept(TaskGroup *group) noexcept {
    if (group != nullptr) TaskGroupAccess::Fail(*group, std::current_exception());
    return group != nullptr;
}

}  // namespace

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
void TaskThrew(const Fiber &self, TaskGroup *group) noexcept {
    try {
        throw;
    } catch (const std::exception &exception) {
        if (!IsKept(group)) ReportThrown(*self.worker->scheduler, exception.what());
    } catch (...) {
        CheckThreadStays();
        if (!IsKept(group)) ReportThrown(*self.worker->scheduler, "not a std::exception");
    }
}
#endif

namespace {

// Counts the tasks of a chunk as picks, several at once. A task may have counted picks, too.
void CountPicks(Worker &worker, uint32_t picks) noexcept {
    uint32_t &budget = worker.fair.budget;
    if (budget > picks)
        budget -= picks;
    else
        ReadClock(worker);
}

}  // namespace

// While the chunk is in the claim, the worker has not left this fiber. If tasks take long, the rest
// of the chunk goes back to the deque: then it never waits for a long task. The first task counts
// as a pick already.
template <class Call>
static WEFT_FORCEINLINE void RunTasksOf(Fiber &self, Chunk &chunk, Call call) noexcept {
    Counter *const counter = chunk.of.counter;
    Worker *worker = self.worker;
    const Notices &notices = worker->scheduler->notices;
    const Idle &idle = worker->scheduler->idle;
    BeginChunk(*worker, chunk);
    bool isLong = IsLong(*worker);
    uint32_t next = chunk.begin, counted = next;  // in registers: only this loop changes them
    uint32_t look = next + worker->fair.budget;
    for (;;) {
        const Task task = chunk.Tasks()[next++];
        chunk.begin = static_cast<uint8_t>(next);
        if (WEFT_UNLIKELY(next == chunk.end)) {
            CountPicks(*worker, next - counted - 1);
            EndChunk(*worker);
        } else if (WEFT_UNLIKELY(isLong)) {
            ReleaseClaims(*worker);
        }
        call(task, next);
        worker = self.worker;
        if (WEFT_UNLIKELY(worker->claim != &chunk)) return Ran(*worker, counter, 1);
        if (WEFT_LIKELY(next < look && (notices.Look() & worker->filter.heeds) == 0 &&
                        worker->inbox.LooksEmpty() && !idle.AnySearcher()))
            continue;
        Settle(*worker, 0);
        CountPicks(*worker, next - counted);
        const bool attends = AttendNow(*worker);
        if (worker->claim != &chunk) return;
        if (attends) return ReleaseClaims(*worker);
        isLong = IsLong(*worker);
        counted = next;
        look = next + worker->fair.budget;
    }
}

static void RunTraced(Fiber &self, Chunk &chunk) noexcept {
    const TasksOf of = chunk.of;
    const uint32_t first = chunk.numbers.first, end = chunk.end;
    const uint32_t stolenFrom = std::exchange(chunk.stolenFrom, kAnyWorker);
    RunTasksOf(self, chunk, [&](const Task &task, uint32_t next) {
        const TracedTask traced(self, task, of, first + next - 1, stolenFrom, next != end);
        CallTask(self, task, GroupOf(of));
    });
    TellKeptEnd(*self.worker);
}

void RunChunk(Fiber &self, Chunk &chunk) noexcept {
    if (WEFT_UNLIKELY(chunk.numbers.areTraced)) return RunTraced(self, chunk);
    TaskGroup *const group = GroupOf(chunk.of);
    RunTasksOf(self, chunk, [&](const Task &task, uint32_t) { CallTask(self, task, group); });
}

void RunEntry(Fiber &self, const Entry &entry) noexcept {
    if (entry.TheKind() == Entry::Chunk) return RunChunk(self, entry.TheChunk());
    Counter *const counter = entry.TheCounter();
    CallTask(self, entry.TheTask(), GroupOf(entry));
    Ran(*self.worker, counter, 1);
}

namespace {

WEFT_FORCEINLINE void RunWork(Fiber &self, const Entry &entry, Level level,
                              bool isPinned) noexcept {
    Worker &worker = *self.worker;
    if (WEFT_UNLIKELY(self.floatingPoint != worker.floatingPoint)) {
        self.floatingPoint = worker.floatingPoint;
        SetFloatingPointControl(self.floatingPoint);
    }
    self.level = level;
    self.own = level.priority;
    const TasksOf of = entry.What();
    self.counter.store(of.counter, kRelaxed);
    self.name.store(of.name, kRelaxed);
    self.scope = of.scope;
    self.pinnedTo = isPinned ? worker.index : kAnyWorker;
    RunEntry(self, entry);
}

}  // namespace

// `begins` and `start` are set when the fiber is taken from the pool.
FiberContext *FiberMain(void *arg) noexcept {
    Fiber &self = *static_cast<Fiber *>(arg);
    FinishSwitch(*self.worker);
    for (;;) {
        Work work = std::exchange(self.start, {});
        if (self.begins && self.worker->scheduler->ending != nullptr)
            return self.worker->scheduler->ending;
        while (work || (work = NextWork(*self.worker)) || FindWork(*self.worker, work)) {
            if (std::exchange(self.begins, false)) PassOnDeadline(*self.worker);
            if (work.entry.TheKind() == Entry::Fiber) break;
            RunWork(self, work.entry, work.level, work.isPinned);
            if (work.isPinned) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
            work = {};
            for (Entry next; NextPlain(*self.worker, next);)
                RunWork(self, next, self.worker->filter.home, false);
        }
        SwitchTo(self, work ? work.entry.TheFiber() : self.worker->thread, Destination::ToPool);
    }
}

}  // namespace weft::internal
