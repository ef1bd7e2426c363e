// Runs tasks, and the loop of each fiber of the pool.
#include "scheduler/run/run.h"

#include "platform/thread_end.h"
#include "scheduler/policy/next_work.h"
#include "scheduler/state/trace.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <exception>
#include <utility>

namespace weft::internal {

void SkipTask(const Fiber &self, Task task) noexcept {
    auto &closures = self.worker->scheduler->pools.closures;
    if (reinterpret_cast<uintptr_t>(task.arg) % alignof(ClosureBlock) != 0 ||
        !closures.Contains(task.arg))
        return;
    const ClosureBlock *block = static_cast<const ClosureBlock *>(task.arg);
    if (block->run != task.function) return;
    task.function(nullptr, task.arg);
    race::Frees(task.arg);
    closures.GiveBack(block->index, CacheOf(self.worker));
}

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
void TaskThrew(const Fiber &self, TaskGroup *group) noexcept {
    const char *what = "not a std::exception";
    try {
        throw;
    } catch (const std::exception &exception) {
        what = exception.what();  // the caller's handler keeps the exception
    } catch (...) {
        CheckThreadStays();
    }
    if (group != nullptr) return TaskGroupAccess::Fail(*group, std::current_exception());
    ReportThrown(*self.worker->scheduler, what);
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

// Returns true if others are idle, and find nothing to steal in this worker's deque.
WEFT_FORCEINLINE bool OthersStarve(const Worker &worker, const Chunk &chunk) noexcept {
    return worker.scheduler->idle.AnyIdle() && worker.queue[chunk.level.Index()].LooksEmpty();
}

// Counts tasks of the chunk as picks. Puts the chunk back and returns false if other work is due,
// else returns true. Reads the clock early if others find nothing to steal, and tasks have become
// long.
WEFT_NOINLINE bool GoesOn(Worker &worker, Chunk &chunk, uint32_t picks) noexcept {
    uint32_t &budget = worker.fair.budget;
    budget -= std::min(budget, picks);  // a task may have counted picks, too
    if (budget == 0) ReadClock(worker);
    const uint64_t shortly = (worker.fair.period - budget + 1) * worker.scheduler->tuning.shortPick;
    if (OthersStarve(worker, chunk) && env::Ticks() - worker.fair.lookedAt > shortly)
        ReadClock(worker);
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
WEFT_FORCEINLINE void RunTasksOf(Fiber &self, Chunk &chunk, Call call) noexcept {
    constexpr uint32_t kTasksToLook = 4;  // tasks between two looks
    Worker *worker = self.worker;
    Counter *const counter = chunk.of.TheCounter();
    const uint32_t last = chunk.end - 1u;
    BeginChunk(*worker, chunk);
    uint32_t next = chunk.begin;  // in a register: only this function changes it
    while (next != last && !worker->fair.AreLong()) {
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
                EndIfForked(*worker);
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
        if (!GoesOn(*worker, chunk, next - begin)) return;
    }
    const Task task = chunk.Tasks()[next++];
    chunk.begin = static_cast<uint8_t>(next);
    next == chunk.end ? EndChunk(*worker) : ReleaseClaims(*worker);
    call(worker->taskScheduler, task, next);
    EndIfForked(*self.worker);
    Ran(*self.worker, counter, 1);
}

// The tasks are traced, or of a group, or both.
void RunSpecial(Fiber &self, Chunk &chunk) noexcept {
    const TasksOf of = chunk.of;
    const bool isTraced = IsTraced(*self.worker->scheduler);
    const uint32_t number = chunk.number - 1;
    const uint32_t end = chunk.end, stolenFrom = std::exchange(chunk.stolenFrom, kAnyWorker);
    RunTasksOf(self, chunk, [&](TaskScheduler *scheduler, Task task, uint32_t next) {
        if (!isTraced) return CallTask(self, scheduler, task, GroupOf(of));
        const TracedTask traced(self, task, of, number + next, stolenFrom, next != end);
        CallTask(self, scheduler, task, GroupOf(of));
    });
    if (isTraced) TellKeptEnd(*self.worker);
}

WEFT_FORCEINLINE void RunWork(Fiber &self, const Entry &entry, Level level,
                              bool isPinned) noexcept {
    Worker &worker = *self.worker;
    if (WEFT_UNLIKELY(self.floatingPoint != worker.floatingPoint)) {
        self.floatingPoint = worker.floatingPoint;
        SetFloatingPointControl(self.floatingPoint);
    }
    self.level = level;
    self.own = level.ThePriority();
    self.counter.store(entry.TheCounter(), kRelaxed);
    self.name.store(entry.Name(), kRelaxed);
    self.scope = entry.Scope();
    self.pinnedTo = isPinned ? worker.index : kAnyWorker;
    if (isPinned) race::ComesToThread(&worker);
    RunEntry(self, entry);
    if (isPinned) race::LeavesThread(self.worker);
}

// For the race finder: ends the task's part of this fiber, and returns another fiber, on which the
// next task begins. Otherwise ThreadSanitizer would take the two tasks for one thread. Returns
// nothing if no fiber is free.
Work EndOnFiber(Worker &worker) noexcept {
    if (worker.fair.budget != 0) --worker.fair.budget;  // a pick, as in NextPlain
    Flush(worker);
    Fiber *const next = AcquireFiber(worker);
    return next != nullptr ? Work{Entry::Of(*next), next->level, false} : Work();
}

}  // namespace

void RunTraced(Fiber &self, const Entry &entry) noexcept {
    const Task task = entry.TheTask();
    const TracedTask traced(self, task, entry, entry.Number(), kAnyWorker, false);
    RunTask(self, task, GroupOf(entry));
}

void RunChunk(Fiber &self, Chunk &chunk) noexcept {
    if (IsTraced(*self.worker->scheduler) || WEFT_UNLIKELY(chunk.of.IsOfGroup()))
        return RunSpecial(self, chunk);
    RunTasksOf(self, chunk, [&](TaskScheduler *scheduler, Task task, uint32_t) {
        CallTask(self, scheduler, task, nullptr);
    });
}

FiberContext *FiberMain(void *arg) noexcept {
    Fiber &self = *static_cast<Fiber *>(arg);
    FinishSwitch(*self.worker);
    for (;;) {
        Work work = std::exchange(self.start, {});
        if (self.begins && self.worker->scheduler->ending != nullptr)
            return self.worker->scheduler->ending;
        while (work || (work = NextWork(*self.worker)) || FindWork(*self.worker, work)) {
            if (std::exchange(self.begins, false))
                KeepDeadline(*self.worker->scheduler, self.worker);  // see RegisterWaiter
            if (work.entry.TheKind() == Entry::Fiber) break;
            RunWork(self, work.entry, work.level, work.isPinned);
            if (work.isPinned) Unbind(*self.worker->scheduler, self.worker, *self.worker, 1);
            work = race::kFinder ? EndOnFiber(*self.worker) : Work();
            Level level;
            for (Entry next; !race::kFinder && NextPlain(*self.worker, next, level);)
                RunWork(self, next, level, false);
        }
        SwitchTo(self, work ? work.entry.TheFiber() : self.worker->thread, Destination::ToPool);
    }
}

}  // namespace weft::internal
