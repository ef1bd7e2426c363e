// Implements deferred.h. state/work.h explains the object of such a submission.
#include "scheduler/wait/deferred.h"

#include "platform/backoff.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/state/group_of_tasks.h"
#include "scheduler/state/reporting.h"
#include "scheduler/submit/finish.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"
#include "scheduler/wait/wait.h"

namespace weft::internal {

namespace {

using Registration = Counters::Registration;

// Returns false, after a report, if another scheduler uses one of the counters.
bool AreOurs(Scheduler &scheduler, const char *call, uint32_t count,
             const CounterTarget *targets) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        // relaxed: for a report
        const CounterWord word{CounterAccess::Word(*targets[i].counter).load(kRelaxed)};
        if (scheduler.counters.IsOurs(word)) continue;
        ReportWrongScheduler(scheduler, call, *targets[i].counter);
        return false;
    }
    return true;
}

void ReportNoRecord(Scheduler &scheduler, const char *call, const char *instead) noexcept {
    ReportOnce(scheduler, ReportCode::OutOfMemory, "Let fewer tasks wait for counters at once.",
               "%s: there is no memory for another wait record; %s", call, instead);
}

// A submission of deferred tasks. It refers to its object from Begin to End, and holds the group
// meanwhile: the tasks may have run by then.
class Submission {
public:
    Submission(Scheduler &scheduler, Worker *worker, const LaterTasks &tasks) noexcept
        : m_scheduler(scheduler),
          m_self(worker != nullptr ? worker->current : nullptr),
          m_group(tasks.options.taskGroup),
          m_priority(tasks.options.priority),
          m_counter(tasks.counter) {}
    Submission(const Submission &) = delete;
    Submission &operator=(const Submission &) = delete;

    // Makes the object, which waits for `left` things and the call, and hands the tasks over when
    // `firesAt` of them are left. Returns null after a report.
    Deferred *Begin(const LaterTasks &later, uint32_t left, uint32_t firesAt = 0) noexcept {
        Worker *const worker = TheWorker();
        if (worker != nullptr) Flush(*worker);
        const uint32_t index = m_scheduler.pools.deferred.Take(CacheOf(worker));
        if (index == m_scheduler.pools.deferred.kNone) {
            ReportMistake(m_scheduler.options, ReportCode::OutOfMemory,
                          "Let fewer batches wait at once.",
                          "there is no memory for another deferred batch; it is not submitted");
            return nullptr;
        }
        const bool isHeld =
            m_group == nullptr || RaiseNow(m_scheduler, *TaskGroupAccess::CounterOf(m_group), 1);
        if (!isHeld || !Count(later)) {
            if (isHeld) LetGroupGo();
            m_scheduler.pools.deferred.GiveBack(index, CacheOf(worker));
            return nullptr;
        }
        m_deferred = &m_scheduler.pools.deferred.At(index);
        Deferred &deferred = *m_deferred;
        // relaxed: only this thread uses the object
        const uint64_t generation = deferred.state.load(kRelaxed) >> Deferred::kGenerationShift;
        m_handle = {index, static_cast<uint32_t>(generation), m_scheduler.runNumber};
        deferred.index = index;
        deferred.timer.owner = kDeferredOwner | index;
        // release: see ReferTo
        deferred.firesAt.store(firesAt, kRelease);
        deferred.name = later.options.name;
        deferred.count = later.count;
        deferred.isKept = later.IsKept();
        deferred.isPeriodic = m_group != nullptr && TaskGroupAccess::IsPeriodic(*m_group);
        deferred.tasks =
            MakeChunks(m_scheduler, worker, later.count, later.tasks,
                       TasksWith(worker, m_counter, later.options),
                       LevelOf(m_scheduler, worker, later.options), later.options.worker);
        // relaxed: the store below publishes it
        deferred.counter.store(m_counter, kRelaxed);
        // release: publishes the object to WithdrawTasks
        deferred.state.store(
            uint64_t{m_handle.generation} << Deferred::kGenerationShift | (uint64_t{left} + 1),
            kRelease);
        return &deferred;
    }

    // Puts a record for the tasks on the counter, unless it was reached.
    Registration Register(const CounterTarget &after) noexcept {
        const Registration result = m_scheduler.counters.Register(
            CounterAccess::Word(*after.counter), kDeferredOwner | m_handle.index, after.value,
            m_priority, CacheOf(TheWorker()));
        if (result == Registration::Satisfied) race::SawCount(*after.counter);
        return result;
    }

    // Waits for the counter in place of a record.
    void WaitInstead(const char *call, const CounterTarget &target) noexcept {
        ReportNoRecord(m_scheduler, call, "the call waits itself");
        if (m_self != nullptr) {
            Wait(*m_self->worker, {*target.counter, target.value});
            return;
        }
        for (Backoff backoff; !IsReached(*target.counter, target.value); backoff.Next()) {
        }
    }

    // There is no memory for the record of after[which], and the caller is in a hook. Takes the
    // records off the counters before it: their owner may destroy them when the call returns.
    // Returns false if nothing was submitted.
    bool Refuse(const char *call, const CounterTarget *after, uint32_t which,
                uint32_t reached) noexcept {
        ReportMistake(m_scheduler.options, ReportCode::OutOfMemory,
                      "Let fewer tasks wait for counters at once.",
                      "%s: there is no memory for another wait record, and a hook cannot "
                      "wait; nothing is submitted",
                      call);
        for (uint32_t i = 0; i < which; ++i)
            reached += m_scheduler.counters.Remove(CounterAccess::Word(*after[i].counter),
                                                   kDeferredOwner | m_handle.index);
        // if the group has withdrawn the tasks first, the group skips them
        const bool isRefused = WithdrawTasks(m_scheduler, TheWorker(), m_handle, true);
        End(reached, nullptr);
        return !isRefused;
    }

    // `reached` of the things are over. If the tasks belong to a group that is cancelled, withdraws
    // them. After that the group may be gone.
    void End(uint32_t reached, DeferredHandle *handle) noexcept {
        if (handle != nullptr) *handle = m_handle;
        Reach(m_scheduler, TheWorker(), *m_deferred, reached + 1);
        if (m_group != nullptr && TaskGroupAccess::IsCancelledLast(*m_group))
            WithdrawTasks(m_scheduler, TheWorker(), m_handle, false);
        LetGroupGo();
        if (m_self == nullptr) LetOneLook(m_scheduler);
        if (m_handsOn) HandOn(*TheWorker(), m_counter);
    }

    bool IsInHook() const noexcept { return m_self != nullptr && m_self->worker->inHook; }

private:
    // The call may have waited, and then continued on another worker.
    Worker *TheWorker() const noexcept { return m_self != nullptr ? m_self->worker : nullptr; }

    bool Count(const LaterTasks &later) noexcept {
        if (!CountInGroup(m_scheduler.options, later.options, m_counter)) return false;
        m_handsOn = later.goesOn && m_counter != nullptr && m_self != nullptr &&
                    m_self->CounterOfTask() == m_counter;
        return CountTasks(m_scheduler, TheWorker(), later.count, m_handsOn ? nullptr : m_counter,
                          later.options);
    }

    void LetGroupGo() noexcept {
        if (m_group != nullptr)
            Lower(m_scheduler, TheWorker(), *TaskGroupAccess::CounterOf(m_group), 1);
    }

    Scheduler &m_scheduler;
    Fiber *const m_self;
    // the options may be gone at the end
    TaskGroup *const m_group;
    const Priority m_priority;
    Counter *m_counter;
    Deferred *m_deferred = nullptr;
    bool m_handsOn = false;
    DeferredHandle m_handle;
};

}  // namespace

bool MayDefer(Scheduler &scheduler, const TaskOptions &options, const char *call) noexcept {
    // relaxed: see diagnose/late_end.cpp
    if (WEFT_LIKELY(!scheduler.lateEnd.withdraws.load(kRelaxed))) return true;
    if (options.taskGroup != nullptr && TaskGroupAccess::IsPeriodic(*options.taskGroup)) {
        options.taskGroup->Cancel();
        return false;
    }
    ReportOnce(scheduler, ReportCode::RunEnding,
               "Submit nothing for later when the run is to end, or give StopFor more time.",
               "%s: the run is ending, and StopFor withdraws tasks that wait for a counter or a "
               "time; the task is refused",
               call);
    return false;
}

bool SubmitAfter(Scheduler &scheduler, Worker *worker, uint32_t afterCount,
                 const CounterTarget *after, const LaterTasks &tasks) noexcept {
    if (!AreOurs(scheduler, tasks.call, afterCount, after)) return false;
    Submission submission(scheduler, worker, tasks);
    if (submission.Begin(tasks, afterCount) == nullptr) {
        if (tasks.goesOn) submission.WaitInstead(tasks.call, *after);
        return false;
    }
    uint32_t reached = 0;
    for (uint32_t i = 0; i < afterCount; ++i) {
        const Registration result = submission.Register(after[i]);
        if (result == Registration::Waiting) continue;
        if (result == Registration::NoRecord) {
            if (submission.IsInHook())
                return submission.Refuse(tasks.call, after, i, reached + afterCount - i);
            submission.WaitInstead(tasks.call, after[i]);
        }
        ++reached;
    }
    submission.End(reached, tasks.handle);
    return true;
}

bool SubmitAt(Scheduler &scheduler, Worker *worker, uint64_t deadline,
              const LaterTasks &tasks) noexcept {
    Submission submission(scheduler, worker, tasks);
    Deferred *const deferred = submission.Begin(tasks, 1);
    if (deferred == nullptr) {
        Counter never(1);
        if (tasks.goesOn) Wait(*worker, {never, 0, deadline});
        return false;
    }
    SetTimer(scheduler, worker, deferred->timer, deadline);
    // If the tasks were withdrawn before the timer was set, that call has not cleared the timer.
    // The lock of the timers orders the two. relaxed: so does it the flag.
    const bool isWithdrawn = (deferred->state.load(kRelaxed) & Deferred::kWithdrawn) != 0;
    const uint32_t reached = isWithdrawn && scheduler.timers.Clear(deferred->timer) ? 1 : 0;
    submission.End(reached, tasks.handle);
    return true;
}

// The references: the wait record, the timer, the caller's, and that of the call. When two of them
// are gone, the tasks are handed over. From the registration on, this call uses only the object.
bool SubmitAfterOrAt(Scheduler &scheduler, Worker &worker, const CounterTarget &after,
                     uint64_t deadline, const LaterTasks &tasks, uint32_t &index) noexcept {
    if (!AreOurs(scheduler, tasks.call, 1, &after)) return false;
    Submission submission(scheduler, &worker, tasks);
    Deferred *const deferred = submission.Begin(tasks, 3, 2);
    if (deferred == nullptr) return false;
    index = deferred->index;
    const Registration result = submission.Register(after);
    deferred->hasRecord = result != Registration::NoRecord;
    uint32_t reached = result == Registration::Waiting ? 0 : 1;
    if (deferred->hasRecord) {
        SetTimer(scheduler, &worker, deferred->timer, deadline);
    } else {
        ReportNoRecord(scheduler, tasks.call, "it ends at once");
        ++reached;  // the timer
    }
    submission.End(reached, nullptr);
    return true;
}

bool EndAfterOrAt(Worker &worker, const CounterTarget &after, uint32_t index) noexcept {
    Scheduler &scheduler = *worker.scheduler;
    Deferred &deferred = scheduler.pools.deferred.At(index);
    const bool isEarly = scheduler.counters.Remove(CounterAccess::Word(*after.counter),
                                                   kDeferredOwner | index, worker.index);
    const bool isReached = !isEarly && deferred.hasRecord;
    if (isReached) race::SawCount(*after.counter);
    const bool isCleared = scheduler.timers.Clear(deferred.timer);
    Reach(scheduler, &worker, deferred, 1u + (isEarly ? 1 : 0) + (isCleared ? 1 : 0));
    return isReached || IsReached(*after.counter, after.value);
}

// A later use stores its `firesAt` after the end of this one (release and acquire). So if that one
// is read here, the CAS fails.
Deferred *ReferTo(Scheduler &scheduler, DeferredHandle handle, uint64_t flags) noexcept {
    if (handle.run != scheduler.runNumber || !scheduler.pools.deferred.Has(handle.index))
        return nullptr;
    Deferred &deferred = scheduler.pools.deferred.At(handle.index);
    uint64_t state = deferred.state.load(kRelaxed);  // relaxed: the CAS decides
    Backoff backoff;
    do {
        for (; flags != 0 && (state & Deferred::kHeld) != 0; backoff.Next())
            state = deferred.state.load(kRelaxed);
        if (state >> Deferred::kGenerationShift != handle.generation ||
            (state & Deferred::kWithdrawn) != 0 ||
            (state & Deferred::kLeft) <= deferred.firesAt.load(kAcquire))
            return nullptr;
        // acquire: the object is complete
    } while (
        !deferred.state.compare_exchange_strong(state, (state + 1) | flags, kAcqRel, kRelaxed));
    return &deferred;
}

uint32_t CountDeferred(Scheduler &scheduler, bool timed) noexcept {
    uint32_t count = 0;
    ForDeferred(scheduler, nullptr, [&](Deferred &deferred, const DeferredHandle &) {
        if (timed || scheduler.timers.DeadlineOf(deferred.timer) == Timers::kNever)
            count += deferred.count;
    });
    return count;
}

bool WithdrawTasks(Scheduler &scheduler, Worker *worker, DeferredHandle handle,
                   bool replaces) noexcept {
    Deferred *const deferred = ReferTo(scheduler, handle, Deferred::kWithdrawn);
    if (deferred != nullptr) DeliverClaimed(scheduler, worker, *deferred, replaces);
    return deferred != nullptr;
}

void DeliverClaimed(Scheduler &scheduler, Worker *worker, Deferred &deferred,
                    bool replaces) noexcept {
    const ChunkList tasks = deferred.tasks;
    const bool isCleared = scheduler.timers.Clear(deferred.timer);
    Reach(scheduler, worker, deferred, isCleared ? 2 : 1);
    for (Node *node = tasks.newest; replaces && node != nullptr; node = node->next) {
        Chunk &chunk = *static_cast<Chunk *>(node);
        for (uint32_t i = 0; i < chunk.end; ++i)
            chunk.Tasks()[i] = {[](TaskScheduler *, void *) {}, nullptr};
    }
    Deliver(scheduler, worker, tasks);
}

void WithdrawBatchesOf(Scheduler &scheduler, Worker *worker, const Counter *group) noexcept {
    for (uint32_t index = 0; scheduler.pools.deferred.Has(index); ++index) {
        const DeferredHandle handle = HandleOf(scheduler, index);
        if (!handle.IsEmpty() && scheduler.pools.deferred.At(index).counter.load(kRelaxed) == group)
            WithdrawTasks(scheduler, worker, handle, false);
    }
}

}  // namespace weft::internal
