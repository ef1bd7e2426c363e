// What the other layers and the templates in the public headers call.
#include "scheduler/api/internal_api.h"

#include "scheduler/api/by_caller.h"
#include "scheduler/state/check_options.h"
#include "scheduler/wait/urgent.h"
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
    return effective.smallFibers + effective.largeFibers + effective.maxAttached;
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

Memory MemoryOf(const TaskScheduler &scheduler) noexcept {
    return Memory(EntryGate::OptionsOf(scheduler).memory);
}

bool LowerForWaiter(TaskScheduler &taskScheduler, Counter &counter, const char *call) noexcept {
    const Caller caller(taskScheduler, call);
    if (WEFT_LIKELY(caller.Running() != nullptr)) return caller.Lower(counter);
    if (MemoryHookCall::Current() == nullptr) return false;
    EntryGate::Visit visit(taskScheduler);
    visit.ComeBack();
    Scheduler *const running = visit.Running();
    const bool isLowered = running != nullptr && LowerCounter(*running, nullptr, counter, 1);
    visit.GoOut();
    return isLowered;
}

void EmitFrom(TaskScheduler &scheduler, TraceKind kind, TraceEvent event) noexcept {
    const SchedulerOptions &options = EntryGate::OptionsOf(scheduler);
    if (WEFT_LIKELY(options.trace.event == nullptr && options.recorder == nullptr)) return;
    event.other = kAnyWorker;
    if (Worker *const worker = WorkerOf(scheduler)) {
        if (IsTraced(*worker->scheduler)) EmitNow(*worker->scheduler, worker, kind, event);
        return;
    }
    if (MemoryHookCall::Current() != nullptr) return;  // the thread may be inside the gate
    EntryGate::Visit visit(scheduler);
    Scheduler *const running = visit.ComeIn();
    if (running != nullptr && IsTraced(*running)) EmitNow(*running, nullptr, kind, event);
    visit.GoOut();
}

void LetOthersRun(const TaskScheduler &scheduler) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr && worker->scheduler->order.isOn && !worker->inHook &&
        worker->noSuspend == nullptr)
        YieldToUrgentNow(worker->current);
}

namespace {

void ForgetHolder(Scheduler &scheduler, const void *lock) noexcept {
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        if (scheduler.fibers[i].locks.Remove(lock)) return;
    }
}

void TellLock(Scheduler &scheduler, Worker *worker, LockStep step, const void *lock) noexcept {
    const TraceKind kind = step == LockStep::Locks     ? TraceKind::Lock
                           : step == LockStep::Unlocks ? TraceKind::Unlock
                                                       : TraceKind::LockWait;
    Emit(scheduler, worker, kind, [=](TraceEvent &event) {
        event.lock = step != LockStep::GivesUp ? lock : nullptr;
        // relaxed: written by this thread
        if (worker != nullptr) event.task = worker->current->taskName.load(kRelaxed);
    });
}

void NoteLockOf(Worker *worker, LockStep step, const void *lock) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    HeldLocks &locks = worker->current->locks;
    switch (step) {
        case LockStep::Awaits:
            locks.awaited.store(lock, kRelaxed);  // relaxed, here and below: see held_locks.h
            break;
        case LockStep::GivesUp:
            locks.awaited.store(nullptr, kRelaxed);
            break;
        case LockStep::Locks:
            locks.awaited.store(nullptr, kRelaxed);
            locks.Add(lock);
            break;
        case LockStep::Unlocks:
            if (!locks.Remove(lock)) ForgetHolder(scheduler, lock);
            break;
    }
    TellLock(scheduler, worker, step, lock);
}

}  // namespace

void NoteLock(TaskScheduler &scheduler, LockStep step, const void *lock) noexcept {
    if (Worker *const worker = WorkerOf(scheduler)) {
        if (worker->scheduler->options.lockHolders) NoteLockOf(worker, step, lock);
        return;
    }
    if (MemoryHookCall::Current() != nullptr) return;  // the thread may be inside the gate
    EntryGate::Visit visit(scheduler);
    Scheduler *const running = visit.ComeIn();
    if (running != nullptr && running->options.lockHolders) {
        if (step == LockStep::Unlocks) ForgetHolder(*running, lock);
        TellLock(*running, nullptr, step, lock);
    }
    visit.GoOut();
}

Recorder *RecorderOf(const TaskScheduler &scheduler) noexcept {
    return EntryGate::OptionsOf(scheduler).recorder;
}

bool IsTaskOf(const TaskScheduler &scheduler) noexcept { return WorkerOf(scheduler) != nullptr; }

bool CallerMayWait(const TaskScheduler &scheduler, const char *call) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker != nullptr) return MayWait(worker, call);
    IsRefusedInMemoryHook(EntryGate::OptionsOf(scheduler), call);
    return false;
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
