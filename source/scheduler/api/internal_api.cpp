// What the other layers and the templates in the public headers call.
#include "scheduler/api/internal_api.h"

#include "scheduler/state/check_options.h"
#include "weft/data/fiber_local.h"

#include <cstdarg>
#include <cstdio>

namespace weft::internal {

void ReportMisuse(const TaskScheduler &scheduler, ReportCode code, const char *hint,
                  const char *what) noexcept {
    ReportMistake(EntryGate::OptionsOf(scheduler), code, hint, "%s", what);
}

void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept {
    ReportFatal(EntryGate::OptionsOf(scheduler), ReportCode::OutOfMemory,
                "Give the process more memory.", "%s", what);
}

uint32_t FiberCountOf(const SchedulerOptions &options) noexcept {
    SchedulerOptions effective = options;
    SetDefaults(effective);
    return effective.fibers + EffectiveWorkers(options) + 2 * effective.maxAttached;
}

uint32_t FiberCountOf(const TaskScheduler &scheduler) noexcept {
    return Query(scheduler, [&](const Scheduler *running) {
        return running != nullptr ? running->AllFibers()
                                  : FiberCountOf(EntryGate::OptionsOf(scheduler));
    });
}

const MemoryHooks &MemoryHooksOf(const TaskScheduler &scheduler) noexcept {
    return EntryGate::OptionsOf(scheduler).memory;
}

bool MayCall(const TaskScheduler &scheduler, const char *call) noexcept {
    return !IsRefusedInMemoryHook(EntryGate::OptionsOf(scheduler), call);
}

bool LowerForWaiter(TaskScheduler &taskScheduler, Counter &counter, const char *call) noexcept {
    const Caller caller(taskScheduler, call);
    if (WEFT_LIKELY(caller.Running() != nullptr)) return caller.Lower(counter);
    if (MemoryHookCall::Current() == nullptr) return false;
    EntryGate::Visit visit(taskScheduler);
    visit.ComeBack();
    Scheduler *const running = visit.Running();
    const bool isLowered = running != nullptr && Lower(*running, nullptr, counter, 1);
    visit.GoOut();
    return isLowered;
}

namespace {

// Calls tell(scheduler, worker) if the scheduler runs. `worker`: the caller's, or null.
template <class TellIt>
void TellAsCaller(TaskScheduler &taskScheduler, TellIt tell) noexcept {
    if (Worker *const worker = WorkerOf(taskScheduler)) return tell(*worker->scheduler, worker);
    if (MemoryHookCall::Current() != nullptr) return;  // the thread may be inside the gate
    EntryGate::Visit visit(taskScheduler);
    if (Scheduler *const running = visit.ComeIn()) tell(*running, static_cast<Worker *>(nullptr));
    visit.GoOut();
}

// `own`: of the calling task, or null. If it unlocks what another task has locked, that one is
// not the holder any more. relaxed: see HeldLocks
void NoteHolder(Scheduler &scheduler, HeldLocks *own, LockStep step, const void *lock) noexcept {
    if (own != nullptr && step != LockStep::Unlocks)
        own->awaited.store(step == LockStep::Awaits ? lock : nullptr, kRelaxed);
    if (own != nullptr && step == LockStep::Locks) own->Add(lock);
    if (step != LockStep::Unlocks || (own != nullptr && own->Remove(lock))) return;
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        if (scheduler.fibers[i].locks.Remove(lock)) return;
    }
}

}  // namespace

void EmitFrom(TaskScheduler &taskScheduler, TraceKind kind, TraceEvent event) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(taskScheduler);
    if (WEFT_LIKELY(options.trace.event == nullptr && options.recorder == nullptr)) return;
    event.other = kAnyWorker;
    TellAsCaller(taskScheduler, [&](Scheduler &scheduler, Worker *worker) {
        if (IsTraced(scheduler)) EmitEvent(scheduler, worker, kind, event);
    });
}

void NoteLock(TaskScheduler &taskScheduler, LockStep step, const void *lock) noexcept {
    const TraceKind kind = step == LockStep::Locks     ? TraceKind::Lock
                           : step == LockStep::Unlocks ? TraceKind::Unlock
                                                       : TraceKind::LockWait;
    TellAsCaller(taskScheduler, [&](Scheduler &scheduler, Worker *worker) {
        if (!scheduler.options.lockHolders) return;
        NoteHolder(scheduler, worker != nullptr ? &worker->current->locks : nullptr, step, lock);
        if (!IsTraced(scheduler)) return;
        TraceEvent event{};
        event.other = kAnyWorker;
        event.lock = step != LockStep::GivesUp ? lock : nullptr;
        if (worker != nullptr) event.task = worker->current->name.load(kRelaxed);
        EmitEvent(scheduler, worker, kind, event);
    });
}

void LetOthersRun(const TaskScheduler &scheduler) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr && IsOrdered(*worker->scheduler)) PassPoint(*worker->taskScheduler);
}

bool MayWaitHere(const TaskScheduler &scheduler, const char *call) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    return worker != nullptr ? MayWait(worker, call) : MayCall(scheduler, call);
}

void ReportTo(void (*onReport)(const Report &report, void *user), void *user, ReportCode code,
              const char *hint, const char *what, ...) noexcept {
    char text[512];
    va_list arguments;
    va_start(arguments, what);
    std::vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    SchedulerOptions options;  // a report needs only these two options
    options.onReport = onReport;
    options.user = user;
    ReportMistake(options, code, hint, "%s", text);
}

}  // namespace weft::internal
