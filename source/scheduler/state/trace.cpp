// Implements trace.h.
#include "scheduler/state/trace.h"

#include "core/trace_records.h"
#include "platform/memory_hook.h"
#include "platform/race_finder.h"
#include "scheduler/state/task_entry.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

namespace {

// The events in which the hook may submit tasks. In all others the worker may be in the middle of
// something, or between two tasks, and the end of the run would not see the submitted tasks.
constexpr uint32_t kMaySubmit =
    TraceHooks::Bit(TraceKind::TaskBegin) | TraceHooks::Bit(TraceKind::TaskEnd) |
    TraceHooks::Bit(TraceKind::Submit) | TraceHooks::Bit(TraceKind::Wait) |
    TraceHooks::Bit(TraceKind::Resume) | TraceHooks::Bit(TraceKind::Yield) |
    TraceHooks::Bit(TraceKind::Attach) | TraceHooks::Bit(TraceKind::Detach) |
    TraceHooks::Bit(TraceKind::Frame) | TraceHooks::Bit(TraceKind::CounterName);

// A hook may keep data for each worker. The race finder must not report accesses to it.
void Call(const TraceHooks &hooks, const TraceEvent &event) noexcept {
    const race::Unwatched unwatched;
    hooks.event(event, hooks.user);
}

void Put(TraceRing &ring, const TraceEvent &event) noexcept {
    ring.Put(RecordOf(event));
    if (event.kind == TraceKind::Submit) ring.Put(MoreOfSubmit(event));
}

void Record(TraceRings &rings, const TraceEvent &event) noexcept {
    const race::Unwatched unwatched;
    if (event.worker != kAnyWorker) return Put(rings.rings[event.worker], event);
    const SpinLock::Held held(rings.external);
    Put(rings.External(), event);
}

}  // namespace

namespace {

void Tell(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept {
    const TraceHooks &hooks = *scheduler.trace;
    event.kind = kind;
    event.worker = worker != nullptr ? worker->index : kAnyWorker;
    event.fiber = worker != nullptr ? worker->current->index : env::ThreadNumber();
    if (worker != nullptr) TellKeptEnd(worker);
    if (scheduler.recording != nullptr) Record(*scheduler.recording, event);
    if (hooks.event == nullptr || (hooks.kinds & TraceHooks::Bit(kind)) == 0) return;
    if (worker == nullptr) {
        const MemoryHookCall guard;  // the thread may be inside the gate: it must not wait
        return Call(hooks, event);
    }
    const bool wasInHook = worker->inHook, mustNotSubmit = worker->mustNotSubmit;
    worker->inHook = true;  // calls that wait are refused
    if ((kMaySubmit & TraceHooks::Bit(kind)) == 0) worker->mustNotSubmit = true;
    Call(hooks, event);
    worker->inHook = wasInHook;
    worker->mustNotSubmit = mustNotSubmit;
}

// Tells for how long the worker's thread was off its processor since its last event. `ticks`: the
// time of the event that comes next.
WEFT_NOINLINE void TellOffCpu(Worker *worker, uint64_t ticks) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    const uint64_t lost = scheduler.order.isOn ? 0 : worker->offCpu.TakeLost();
    if (lost == 0) return;
    TraceEvent event{};
    event.other = kAnyWorker;
    event.ticks = ticks;
    event.count = static_cast<uint32_t>(std::min<uint64_t>(lost, ~0u));
    Tell(scheduler, worker, TraceKind::OffCpu, event);
}

}  // namespace

void EmitNow(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept {
    if (event.ticks == 0) event.ticks = env::Ticks();
    if (worker != nullptr && kind == TraceKind::Unpark) {
        worker->offCpu.Begin();  // its own sleep does not count
    } else if (worker != nullptr && WEFT_UNLIKELY(worker->offCpu.MayHaveLost())) {
        TellOffCpu(worker, event.ticks);
    }
    Tell(scheduler, worker, kind, event);
}

namespace {

// RecordBegin and KeepEnd are used if there is a recorder and no hook. If the previous task has
// just ended on this fiber, one record says that it has ended and that this task begins.
void RecordBegin(Fiber *self, uint64_t ticks, const Task &task, const Origin &origin) noexcept {
    Worker &worker = *self->worker;
    const Scheduler &scheduler = *worker.scheduler;
    const bool follows = worker.endedAt != 0;
    worker.endedAt = 0;
    const race::Unwatched unwatched;
    // relaxed: written by this thread
    const char *const name = self->taskName.load(kRelaxed);
    const uint32_t kind =
        follows ? TraceRecords::kTaskNext : static_cast<uint32_t>(TraceKind::TaskBegin);
    self->taskId = FullTaskId(scheduler, origin.taskId);
    scheduler.recording->rings[worker.index].Put(
        TaskRecord(kind, ticks, self->index, origin.stolenFrom, self->taskId, name, task.function));
}

void KeepEnd(Fiber *self, uint64_t ticks, const Task &task, const Origin &origin) noexcept {
    Worker &worker = *self->worker;
    TellKeptEnd(&worker);
    worker.endedAt = ticks;
    // relaxed: written by this thread
    worker.keptEnd = {self->taskName.load(kRelaxed), task.function, origin.taskId,
                      origin.stolenFrom, self->index};
    if (!origin.isOfSlice) TellKeptEndNow(&worker);
}

TraceEvent EventOf(Fiber *self, uint64_t ticks, const Task &task, const Origin &origin) noexcept {
    TraceEvent event{};
    event.other = kAnyWorker;
    event.ticks = ticks;
    event.taskId = FullTaskId(*self->worker->scheduler, origin.taskId);
    event.task = self->taskName.load(kRelaxed);  // written by this thread
    event.function = task.function;
    event.arg = task.arg;
    event.counter = origin.counter;
    return event;
}

// Ends the measurement of the task's stack. Tells the result, if the task was measured.
WEFT_NOINLINE void TellStackUse(Fiber *self, uint64_t ticks, const Task &task, const Origin &origin,
                                StackSample &sample) noexcept {
    const size_t bytes = sample.End(self->StackBottom(), self->sample);
    if (bytes == 0) return;
    TraceEvent event = EventOf(self, ticks, task, origin);
    event.count = static_cast<uint32_t>(bytes);
    EmitNow(*self->worker->scheduler, self->worker, TraceKind::StackUse, event);
}

}  // namespace

void TellKeptEndNow(Worker *worker) noexcept {
    const uint64_t ticks = std::exchange(worker->endedAt, 0);
    const Scheduler &scheduler = *worker->scheduler;
    if (scheduler.trace->event != nullptr || scheduler.recording == nullptr) return;
    const KeptEnd &end = worker->keptEnd;
    const race::Unwatched unwatched;
    scheduler.recording->rings[worker->index].Put(
        TaskRecord(static_cast<uint32_t>(TraceKind::TaskEnd), ticks, end.fiber, end.stolenFrom,
                   FullTaskId(scheduler, end.taskId), end.name, end.function));
}

void TraceTask(Fiber *self, TraceKind kind, const Task &task, const Origin &origin,
               StackSample &sample) noexcept {
    Worker *const worker = self->worker;
    Scheduler &scheduler = *worker->scheduler;
    const bool begins = kind == TraceKind::TaskBegin;
    if (WEFT_UNLIKELY(worker->offCpu.MayHaveLost())) TellOffCpu(worker, env::Ticks());
    const uint64_t ticks = begins && worker->endedAt != 0 ? worker->endedAt : env::Ticks();
    StackMeter *const meter = scheduler.options.stackMeter;
    if (WEFT_UNLIKELY(meter != nullptr) && !begins) TellStackUse(self, ticks, task, origin, sample);
    if (scheduler.trace->event == nullptr && scheduler.recording != nullptr) {
        begins ? RecordBegin(self, ticks, task, origin) : KeepEnd(self, ticks, task, origin);
    } else if (scheduler.trace->event != nullptr) {
        TraceEvent event = EventOf(self, ticks, task, origin);
        event.other = origin.stolenFrom;
        self->taskId = event.taskId;
        EmitNow(scheduler, worker, kind, event);
        worker->endedAt = begins || !origin.isOfSlice ? 0 : ticks;
    }
    if (!begins) return;
    if (WEFT_UNLIKELY(meter != nullptr))
        // relaxed: written by this thread
        sample.Begin(*meter, self->StackBottom(), self->sample, self->taskName.load(kRelaxed),
                     task.function);
}

namespace {

// Returns the first of `count` new numbers of tasks. Skips a range that contains a multiple of
// 2^kTaskIdBits, because the lower bits of one of its numbers would be 0. If `count` is at
// least 2^kTaskIdBits, this cannot be avoided. relaxed: a number says nothing about other data.
uint64_t TakeIds(Scheduler &scheduler, uint32_t count) noexcept {
    for (;;) {
        const uint64_t first = scheduler.taskIds.fetch_add(count, kRelaxed);
        const uint64_t low = first & kTaskIdMask;
        if ((low != 0 && low + count <= kTaskIdMask + 1) || count > kTaskIdMask) return first;
    }
}

// Used if there is no hook. Writes the two records of a submission, if there is a recorder.
void RecordSubmit(Worker *worker, uint32_t count, const Task *tasks, uint64_t first,
                  const Counter *counter, const Label &label) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    if (scheduler.recording == nullptr) return;
    const uint64_t ticks = env::Ticks();
    if (WEFT_UNLIKELY(worker->offCpu.MayHaveLost())) TellOffCpu(worker, ticks);
    TellKeptEnd(worker);
    const race::Unwatched unwatched;
    TraceRing &ring = scheduler.recording->rings[worker->index];
    const uint32_t fiber = worker->current->index;
    ring.Put(TaskRecord(static_cast<uint32_t>(TraceKind::Submit), ticks, fiber, count, first,
                        label.name, tasks[0].function));
    ring.Put(MoreOfSubmit(ticks, fiber, label.TheLevel().ThePriority(), label.Stack(), counter,
                          tasks[0].function));
}

}  // namespace

// A worker takes many numbers at once, because all workers write to Scheduler::taskIds.
uint64_t NewTaskIds(Scheduler &scheduler, Worker *worker, uint32_t count) noexcept {
    constexpr uint32_t kAtOnce = 1024;
    if (worker == nullptr || count > kAtOnce) return TakeIds(scheduler, count);
    if (worker->taskIdEnd - worker->taskIdNext < count) {
        worker->taskIdNext = TakeIds(scheduler, kAtOnce);
        worker->taskIdEnd = worker->taskIdNext + kAtOnce;
    }
    worker->taskIdNext += count;
    return worker->taskIdNext - count;
}

uint64_t FullTaskId(const Scheduler &scheduler, uint32_t id) noexcept {
    if (id == 0) return 0;
    // relaxed: the task was published after its number was taken, so `next` is higher than this
    // number
    const uint64_t next = scheduler.taskIds.load(kRelaxed);
    return next - ((next - id) & kTaskIdMask);
}

uint32_t TraceSubmit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                     const Counter *counter, Label label) noexcept {
    const uint64_t first = NewTaskIds(scheduler, worker, count);
    if (StackMeter *const meter = scheduler.options.stackMeter)
        StackMeterAccess::NoteClass(*meter, label.name, tasks[0].function, label.Stack());
    if (worker != nullptr && scheduler.trace->event == nullptr) {
        RecordSubmit(worker, count, tasks, first, counter, label);
        return static_cast<uint32_t>(first) & kTaskIdMask;
    }
    Emit(scheduler, worker, TraceKind::Submit, [&](TraceEvent &event) {
        event.priority = label.TheLevel().ThePriority();
        event.stack = label.Stack();
        event.count = count;
        event.taskId = first;
        event.task = label.name;
        event.function = tasks[0].function;
        event.arg = tasks[0].arg;
        event.counter = counter;
    });
    return static_cast<uint32_t>(first) & kTaskIdMask;
}

}  // namespace weft::internal
