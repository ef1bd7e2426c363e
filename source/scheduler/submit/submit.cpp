// Implements submit.h.
#include "scheduler/submit/submit.h"

#include "scheduler/state/reporting.h"
#include "scheduler/state/trace.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kFew = 16;  // at most so many tasks become one entry each

// The worker pops the newest entry first. So the first task is the newest one.
WEFT_FORCEINLINE void EnqueueEntries(Worker &worker, uint32_t count, const Task *tasks,
                                     const TasksOf &of, Level level, uint32_t number,
                                     bool isTraced) noexcept {
    WorkStealingDeque<Entry> &queue = worker.queue[level.Index()];
    if (!queue.Reserve(count)) OutOfMemory(*worker.scheduler);
    const auto stage = queue.Staging();
    for (uint32_t i = 0; i < count; ++i)
        stage(count - 1 - i, Entry::Of(tasks[i], of, isTraced ? number + i : 0));
    queue.Publish(count);
    worker.holds |= level.Bit();
    PublishedOwn(worker, level, count);
}

// The last chunk is pushed first, so the worker pops task 0 first, and thieves begin with the last
// tasks meanwhile. Sleepers are woken after the first chunks. They may fall asleep again during the
// copy, so they are woken once more at the end. A notice may be hidden meanwhile, so it is shown
// each time.
void EnqueueChunks(Worker &worker, uint32_t count, const Task *tasks, const TasksOf &of,
                   Level level, uint32_t size, uint32_t number) noexcept {
    constexpr uint32_t kAtOnce = 8;
    const uint32_t chunks = (count - 1) / size + 1;
    for (uint32_t left = chunks; left-- != 0;) {
        const uint32_t begin = left * size;
        Push(worker, level,
             Entry::Of(FillChunk(*worker.scheduler, &worker, std::min(size, count - begin),
                                 tasks + begin, of, level, number + begin)));
        if (left == 0 || left + kAtOnce == chunks)
            PublishedOwn(worker, level, chunks);
        else
            worker.scheduler->notices.Show(level.Bit() & ~kUnnoticed);
    }
}

}  // namespace

void Enqueue(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
             const TasksOf &of, Level level, uint32_t onWorker, uint32_t number) noexcept {
    if (worker == nullptr || onWorker != kAnyWorker)
        return Deliver(scheduler, worker,
                       MakeChunks(scheduler, worker, count, tasks, of, level, onWorker, number),
                       false);
    const uint32_t size = count <= kFew ? 1 : ChunkSize(scheduler, count, kAnyWorker);
    if (size == 1)
        EnqueueEntries(*worker, count, tasks, of, level, number, IsTraced(scheduler));
    else
        EnqueueChunks(*worker, count, tasks, of, level, size, number);
}

// A thread that pins tasks to itself has not detached yet. It may be detaching; then it reads
// `bound` once more after it has run tasks.
bool Bind(Scheduler &scheduler, const Worker *caller, Worker &target, uint32_t count) noexcept {
    if (!scheduler.IsAttachedSlot(target.index)) return true;
    RaiseNow(scheduler, target.bound, count);
    // This is a read-modify-write, like the exchange in Detach that refuses further tasks. Of the
    // two, either this one is later and reads 0; or the exchange is later, and then Detach sees the
    // raised counter. acquire and release for that.
    if (&target == caller || target.accepts.fetch_add(0, kAcqRel) != 0) return true;
    Lower(scheduler, nullptr, target.bound, count);
    return false;
}

void Unbind(Scheduler &scheduler, Worker *caller, Worker &target, uint32_t count) noexcept {
    if (scheduler.IsAttachedSlot(target.index)) Lower(scheduler, caller, target.bound, count);
}

bool CountTasks(Scheduler &scheduler, Worker *worker, uint32_t count, Counter *counter,
                const TaskOptions &options) noexcept {
    const bool isPinned = options.worker != kAnyWorker;
    if (isPinned && !Bind(scheduler, worker, scheduler.workers[options.worker], count)) {
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Name a worker, or a thread that is attached.",
                      "TaskOptions::worker of task '%s': no thread is attached as %u",
                      options.name != nullptr ? options.name : "unnamed", options.worker);
        return false;
    }
    if (counter != nullptr && !Raise(scheduler, worker, *counter, count)) {
        if (isPinned) Unbind(scheduler, worker, scheduler.workers[options.worker], count);
        return false;
    }
    // relaxed, both: the publication orders it. So a thread that counts one of these tasks as ended
    // counts it as submitted, too.
    if (worker != nullptr)
        AddTo(worker->submitted, count, kRelaxed);
    else
        scheduler.submittedOutside.fetch_add(count, kRelaxed);
    return true;
}

bool Submit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
            Counter *counter, const TaskOptions &options) noexcept {
    race::Submitted(count, tasks);
    if (WEFT_LIKELY(worker != nullptr && count <= kFew && options.worker == kAnyWorker &&
                    options.taskGroup == nullptr && worker->submitBits == 0)) {  // the usual case
        if (counter != nullptr && !Raise(scheduler, worker, *counter, count)) return false;
        AddTo(worker->submitted, count, kRelaxed);  // as in CountTasks
        EnqueueEntries(*worker, count, tasks, TasksWith(worker, counter, options),
                       LevelOf(scheduler, worker, options), 0, false);
        return true;
    }
    if (!CountInGroup(scheduler.options, options, counter) ||
        !CountTasks(scheduler, worker, count, counter, options))
        return false;
    const TasksOf of = TasksWith(worker, counter, options);
    const Level level = LevelOf(scheduler, worker, options);
    const uint32_t number =
        IsTraced(scheduler) ? TraceSubmit(scheduler, worker, count, tasks, of, level) : 0;
    Enqueue(scheduler, worker, count, tasks, of, level, options.worker, number);
    return true;
}

}  // namespace weft::internal
