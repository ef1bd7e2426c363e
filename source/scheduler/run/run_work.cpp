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

// Destroys the task, if it is a closure.
void SkipTask(const Fiber &self, Task task) noexcept {
    auto &closures = self.worker->scheduler->closures;
    if (reinterpret_cast<uintptr_t>(task.arg) % alignof(ClosureBlock) != 0 ||
        !closures.Contains(task.arg))
        return;
    const ClosureBlock *block = static_cast<const ClosureBlock *>(task.arg);
    if (block->run != task.function) return;
    task.function(nullptr, task.arg);
    race::Frees(task.arg);
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

void CheckFloatingPoint(const Fiber &self, uint64_t before) noexcept {
    if (FloatingPointControl() == before) return;
    SetFloatingPointControl(before);
    ReportMistake(self.worker->scheduler->options, ReportCode::FloatingPointState,
                  "Restore rounding and flush-to-zero before the task returns; the next task runs "
                  "on the same stack.",
                  "the task returned with other floating-point control words");
}

namespace {

// Counts the tasks of a chunk as picks, several at once. A task may have counted picks, too.
void CountPicks(Worker &worker, uint32_t picks) noexcept {
    uint32_t &budget = worker.fair.budget;
    budget -= std::min(budget, picks);
    if (budget == 0) ReadClock(worker);
}

}  // namespace

constexpr uint32_t kTasksToLook = 4;  // tasks of a chunk between two looks

// Returns true if others are idle, and find nothing to steal in this worker's deque.
static WEFT_FORCEINLINE bool OthersStarve(const Worker &worker, const Chunk &chunk) noexcept {
    return worker.scheduler->idle.AnyIdle() && worker.queue[chunk.level.Index()].LooksEmpty();
}

// Puts the chunk back and returns false if other work is due, else returns true. Reads the clock
// early if others find nothing to steal, and tasks have become long.
WEFT_NOINLINE static bool GoesOn(Worker &worker, Chunk &chunk) noexcept {
    if (OthersStarve(worker, chunk) && IsLongNow(worker)) ReadClock(worker);
    if (!IsCalled(worker)) return true;
    Settle(worker, 0);
    if (!AttendNow(worker)) return true;
    ReleaseClaims(worker);
    return false;
}

// Runs tasks while the chunk is in the claim: then the worker has not left this fiber. If tasks
// take long, the rest of the chunk goes back to the deque before a task begins: it never waits for
// a long one. The first task counts as a pick already.
template <class Call>
static WEFT_FORCEINLINE void RunTasksOf(Fiber &self, Chunk &chunk, Call call) noexcept {
    Worker *worker = self.worker;
    Counter *const counter = chunk.of.counter;
    const uint32_t last = chunk.end - 1u;
    BeginChunk(*worker, chunk);
    uint32_t next = chunk.begin;  // in a register: only this function changes it
    while (next != last && !IsLong(*worker)) {
        uint32_t begin = next, budget = worker->fair.budget;
        const uint32_t end = std::min(begin + std::max(budget, 1u), last);
        const Task *tasks = chunk.Tasks() + begin;
        for (bool calls;;) {
            const uint32_t stop = std::min(next + kTasksToLook, end);
            do {
                const Task task = *tasks++;
                chunk.begin = static_cast<uint8_t>(++next);
                call(worker->taskScheduler, task, next);
                worker = self.worker;
                EndIfForked(*worker->scheduler, worker->home);
                if (WEFT_UNLIKELY(worker->claim != &chunk)) return Ran(*worker, counter, 1);
                calls = (worker->scheduler->notices.Look() & worker->filter.heeds) != 0 ||
                        !worker->inbox.LooksEmpty();
            } while (WEFT_LIKELY(!calls) && WEFT_LIKELY(next != stop));
            // If the budget has changed, a task has counted picks itself.
            calls = calls || worker->fair.isUrgent || worker->fair.budget != budget ||
                    OthersStarve(*worker, chunk);
            if (WEFT_UNLIKELY(calls) || WEFT_UNLIKELY(next == end)) break;
            worker->fair.budget = budget -= next - begin;  // a task may leave this loop
            begin = next;
        }
        CountPicks(*worker, next - begin);
        if (!GoesOn(*worker, chunk)) return;
    }
    const Task task = chunk.Tasks()[next++];
    chunk.begin = static_cast<uint8_t>(next);
    next == chunk.end ? EndChunk(*worker) : ReleaseClaims(*worker);
    call(worker->taskScheduler, task, next);
    EndIfForked(*self.worker->scheduler, self.worker->home);
    Ran(*self.worker, counter, 1);
}

static void RunTraced(Fiber &self, Chunk &chunk) noexcept {
    const TasksOf of = chunk.of;
    const uint32_t first = chunk.numbers.first, end = chunk.end;
    const uint32_t stolenFrom = std::exchange(chunk.stolenFrom, kAnyWorker);
    RunTasksOf(self, chunk, [&](TaskScheduler *scheduler, Task task, uint32_t next) {
        const TracedTask traced(self, task, of, first + next - 1, stolenFrom, next != end);
        CallTask(self, scheduler, task, GroupOf(of));
    });
    TellKeptEnd(*self.worker);
}

static void RunOfGroup(Fiber &self, Chunk &chunk) noexcept {
    TaskGroup &group = *GroupOf(chunk.of);
    RunTasksOf(self, chunk, [&](TaskScheduler *scheduler, Task task, uint32_t) {
        CallTask(self, scheduler, task, &group);
    });
}

void RunChunk(Fiber &self, Chunk &chunk) noexcept {
    if (WEFT_UNLIKELY(chunk.numbers.areTraced)) return RunTraced(self, chunk);
    if (WEFT_UNLIKELY(chunk.of.isGroup)) return RunOfGroup(self, chunk);
    RunTasksOf(self, chunk, [&](TaskScheduler *scheduler, Task task, uint32_t) {
        CallTask(self, scheduler, task, nullptr);
    });
}

WEFT_FORCEINLINE static void RunIt(Fiber &self, const Entry &entry) noexcept {
    if (entry.TheKind() == Entry::Chunk) return RunChunk(self, entry.TheChunk());
    Counter *const counter = entry.TheCounter();
    RunTask(self, entry.TheTask(), GroupOf(entry));
    Ran(*self.worker, counter, 1);
}

void RunEntry(Fiber &self, const Entry &entry) noexcept { RunIt(self, entry); }

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
    if (isPinned) race::ComesToThread(&worker);
    RunIt(self, entry);
    if (isPinned) race::LeavesThread(self.worker);
}

// For the race finder: ends the task's part of this fiber, and returns another fiber, on which the
// next task begins. Otherwise ThreadSanitizer would take the two tasks for one thread. Returns
// nothing if no fiber is free.
Work EndOnFiber(Worker &worker) noexcept {
    if (worker.fair.budget != 0) --worker.fair.budget;  // a pick, as in NextPlain
    Flush(worker);
    Fiber *const next = AcquireFiber(worker);
    if (next == nullptr) return {};
    next->begins = true;
    return {Entry::Of(*next), next->level, false};
}

}  // namespace

// `begins` and `start` are set when the fiber is taken from the pool. RegisterWaiter wakes no
// keeper if the worker is about to search. If the worker then finds work, it wakes a keeper here.
FiberContext *FiberMain(void *arg) noexcept {
    Fiber &self = *static_cast<Fiber *>(arg);
    FinishSwitch(*self.worker);
    for (;;) {
        Work work = std::exchange(self.start, {});
        if (self.begins && self.worker->scheduler->ending != nullptr)
            return self.worker->scheduler->ending;
        while (work || (work = NextWork(*self.worker)) || FindWork(*self.worker, work)) {
            if (std::exchange(self.begins, false)) {
                KeepDeadline(*self.worker->scheduler, self.worker);
            }
            if (work.entry.TheKind() == Entry::Fiber) break;
            RunWork(self, work.entry, work.level, work.isPinned);
            if (work.isPinned) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
            work = race::kFinder ? EndOnFiber(*self.worker) : Work();
            for (Entry next; !race::kFinder && NextPlain(*self.worker, next);)
                RunWork(self, next, self.worker->filter.home, false);
        }
        SwitchTo(self, work ? work.entry.TheFiber() : self.worker->thread, Destination::ToPool);
    }
}

}  // namespace weft::internal
