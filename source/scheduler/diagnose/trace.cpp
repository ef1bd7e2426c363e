// Implements state/trace.h.
#include "scheduler/state/trace.h"

#include "core/trace_records.h"
#include "platform/memory_hook.h"
#include "platform/race_finder.h"
#include "scheduler/state/reporting.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

/// What tracing needs in a run.
struct Tracing {
    struct alignas(kLineBytes) OfWorker {
        uint64_t nextId = 0, endOfIds = 0;  // numbers for the tasks that it submits
        uint64_t endedAt = 0;               // not 0: the time of a TaskEnd that is kept
        TraceRecord keptEnd{};              // its record, if there is a recorder and no hook
        env::OffCpuWatch offCpu;
    };
    struct alignas(kLineBytes) OfFiber {
        uint64_t id = 0;  // of the task that it runs
        StackSample *sample = nullptr;
    };

    TraceRings *recording = nullptr;
    OfWorker *workers = nullptr;
    OfFiber *fibers = nullptr;
    env::Atomic<uint64_t> ids{1};  // the next number of a task
};

namespace {

// The events in which the hook may submit tasks. In all others the worker may be in the middle of
// something, or between two tasks, and the end of the run would not see the submitted tasks.
constexpr uint32_t kMaySubmit =
    TraceHooks::Bit(TraceKind::TaskBegin) | TraceHooks::Bit(TraceKind::TaskEnd) |
    TraceHooks::Bit(TraceKind::Submit) | TraceHooks::Bit(TraceKind::Wait) |
    TraceHooks::Bit(TraceKind::Resume) | TraceHooks::Bit(TraceKind::Yield) |
    TraceHooks::Bit(TraceKind::Attach) | TraceHooks::Bit(TraceKind::Detach) |
    TraceHooks::Bit(TraceKind::Frame) | TraceHooks::Bit(TraceKind::CounterName);

// Returns null, after a report, if the memory of the recorder is too small.
TraceRings *BeginRecording(const Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    TraceRings *rings = RecorderAccess::Begin(*options.recorder, scheduler.slotCount);
    if (rings == nullptr) {
        ReportMistake(options, ReportCode::BadOption,
                      "Give the recorder at least Recorder::LeastBytes.",
                      "the memory of SchedulerOptions::recorder is too small for %u threads; "
                      "nothing is recorded",
                      scheduler.slotCount);
        return nullptr;
    }
    TraceFileHeader &header = rings->header;
    header.workers = scheduler.workerCount;
    header.fibers = options.fibers;
    header.stackBytes = options.stackBytes;
    header.ticksPerMicrosecond = env::TicksPerMicrosecond();
    header.ticksAtStart = env::Ticks();
    header.nanosecondsAtStart = env::Now();
    return rings;
}

Tracing::OfWorker &StateOf(const Worker &worker) noexcept {
    return worker.scheduler->tracing->workers[worker.index];
}

// Returns the number that events use for this fiber: kAnyWorker for a stack without tasks.
uint32_t NumberOf(const Worker &worker, const Fiber &fiber) noexcept {
    return &fiber == &worker.thread ? kAnyWorker : fiber.index;
}

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
    Put(rings.rings[rings.header.rings - 1], event);
}

void PutTask(const Worker &worker, const TraceRecord &record) noexcept {
    const race::Unwatched unwatched;
    worker.scheduler->tracing->recording->rings[worker.index].Put(record);
}

void CallIn(Worker &worker, const TraceHooks &hooks, const TraceEvent &event) noexcept {
    const bool wasInHook = std::exchange(worker.inHook, true);  // calls that wait are refused
    const bool mayNot = worker.MustNotSubmit();
    if ((kMaySubmit & TraceHooks::Bit(event.kind)) == 0) worker.SetMustNotSubmit(true);
    Call(hooks, event);
    worker.inHook = wasInHook;
    worker.SetMustNotSubmit(mayNot);
}

void Tell(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept {
    const TraceHooks &hooks = scheduler.options.trace;
    event.kind = kind;
    event.worker = worker != nullptr ? worker->index : kAnyWorker;
    event.fiber = worker != nullptr ? NumberOf(*worker, *worker->current) : env::ThreadNumber();
    if (worker != nullptr) TellKeptEnd(*worker);
    if (scheduler.tracing->recording != nullptr) Record(*scheduler.tracing->recording, event);
    if (hooks.event == nullptr || (hooks.kinds & TraceHooks::Bit(kind)) == 0) return;
    if (worker != nullptr) return CallIn(*worker, hooks, event);
    const MemoryHookCall guard;  // the thread may be inside the gate: it must not wait
    Call(hooks, event);
}

// Tells for how long the worker's thread was off its processor since its last event. `ticks`: the
// time of the event that comes next.
WEFT_NOINLINE void TellOffCpu(Worker &worker, uint64_t ticks) noexcept {
    const bool isOrdered = worker.scheduler->order != nullptr;
    const uint64_t lost = isOrdered ? 0 : StateOf(worker).offCpu.TakeLost();
    if (lost == 0) return;
    TraceEvent event{};
    event.other = kAnyWorker;
    event.ticks = ticks;
    event.count = static_cast<uint32_t>(std::min<uint64_t>(lost, ~0u));
    Tell(*worker.scheduler, &worker, TraceKind::OffCpu, event);
}

// Returns the number with this lower half. It is exact while fewer than 2^32 tasks were
// submitted after the task. relaxed: the task was published after its number was taken, so the next
// one is higher.
uint64_t FullId(const Tracing &tracing, uint32_t id) noexcept {
    const uint64_t next = tracing.ids.load(kRelaxed);
    return next - static_cast<uint32_t>(next - id);
}

// Returns the first of `count` new numbers. A worker takes many numbers at once, because all
// workers write to Tracing::ids. relaxed: a number says nothing about other data.
uint64_t NewIds(Tracing &tracing, const Worker *worker, uint32_t count) noexcept {
    constexpr uint32_t kAtOnce = 1024;
    if (worker == nullptr || count > kAtOnce) return tracing.ids.fetch_add(count, kRelaxed);
    Tracing::OfWorker &state = StateOf(*worker);
    if (state.endOfIds - state.nextId < count) {
        state.nextId = tracing.ids.fetch_add(kAtOnce, kRelaxed);
        state.endOfIds = state.nextId + kAtOnce;
    }
    state.nextId += count;
    return state.nextId - count;
}

}  // namespace

bool BeginTracing(Scheduler &scheduler) noexcept {
    const SchedulerOptions &options = scheduler.options;
    TraceRings *const recording = options.recorder != nullptr ? BeginRecording(scheduler) : nullptr;
    if (options.trace.event == nullptr && recording == nullptr && options.stackMeter == nullptr)
        return true;
    Tracing *const tracing = scheduler.tracing = scheduler.memory.NewArray<Tracing>(1);
    if (tracing == nullptr) return false;
    tracing->recording = recording;
    tracing->workers = scheduler.memory.NewArray<Tracing::OfWorker>(scheduler.slotCount);
    tracing->fibers = scheduler.memory.NewArray<Tracing::OfFiber>(scheduler.AllFibers());
    if (options.stackMeter != nullptr)
        StackMeterAccess::Begin(*options.stackMeter, options.stackBytes);
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) scheduler.workers[i].submitBits |= kWatched;
    return tracing->workers != nullptr && tracing->fibers != nullptr;
}

void EndTracing(Scheduler &scheduler) noexcept {
    if (scheduler.tracing == nullptr) return;
    scheduler.memory.DeleteArray(scheduler.tracing->workers, scheduler.slotCount);
    scheduler.memory.DeleteArray(scheduler.tracing->fibers, scheduler.AllFibers());
    scheduler.memory.DeleteArray(scheduler.tracing, 1);
}

void EmitEvent(Scheduler &scheduler, Worker *worker, TraceKind kind, TraceEvent &event) noexcept {
    if (event.ticks == 0) event.ticks = env::Ticks();
    if (worker != nullptr && kind == TraceKind::Unpark) {
        StateOf(*worker).offCpu.Begin();  // its own sleep does not count
    } else if (worker != nullptr && WEFT_UNLIKELY(StateOf(*worker).offCpu.MayHaveLost())) {
        TellOffCpu(*worker, event.ticks);
    }
    Tell(scheduler, worker, kind, event);
}

void EmitNow(Scheduler &scheduler, Worker *worker, TraceKind kind, const Counter *counter,
             uint32_t count, uint32_t other) noexcept {
    constexpr uint32_t kHasName =
        TraceHooks::Bit(TraceKind::Wait) | TraceHooks::Bit(TraceKind::Resume) |
        TraceHooks::Bit(TraceKind::Satisfied) | TraceHooks::Bit(TraceKind::Yield);
    TraceEvent event{};
    event.counter = counter;
    event.count = count;
    event.other = other;
    if (worker != nullptr && (kHasName & TraceHooks::Bit(kind)) != 0)
        event.task = worker->current->name.load(kRelaxed);
    EmitEvent(scheduler, worker, kind, event);
}

void EmitReady(Scheduler &scheduler, Worker *worker, Fiber &fiber) noexcept {
    TraceEvent event{};
    event.other = fiber.index;
    event.task = fiber.name.load(kRelaxed);
    // relaxed: the fiber does not run, and its publication came before this
    event.counter = fiber.wait.counter.load(kRelaxed);
    EmitEvent(scheduler, worker, TraceKind::Ready, event);
}

void EmitSwitch(Worker &worker, const Fiber &to) noexcept {
    EmitNow(*worker.scheduler, &worker, TraceKind::FiberSwitch, nullptr, 0, NumberOf(worker, to));
}

void TellKeptEnd(Worker &worker) noexcept {
    Tracing::OfWorker &state = StateOf(worker);
    if (WEFT_LIKELY(state.endedAt == 0)) return;
    state.endedAt = 0;
    if (worker.scheduler->options.trace.event == nullptr) PutTask(worker, state.keptEnd);
}

// The argument of Run's main task is the scheduler. That task has the number 0, and no Submit.
uint32_t TraceSubmit(Scheduler &scheduler, Worker *worker, uint32_t count, const Task *tasks,
                     const TasksOf &of, Level level) noexcept {
    Tracing &tracing = *scheduler.tracing;
    if (tasks[0].arg == &scheduler) return 0;
    TraceEvent event{};
    event.priority = level.ThePriority();
    event.other = kAnyWorker;
    event.count = count;
    event.taskId = NewIds(tracing, worker, count);
    event.task = of.Name();
    event.function = tasks[0].function;
    event.arg = tasks[0].arg;
    event.counter = of.TheCounter();
    EmitEvent(scheduler, worker, TraceKind::Submit, event);
    return static_cast<uint32_t>(event.taskId);
}

void TraceDeferred(Scheduler &scheduler, Worker *worker, const ChunkList &tasks) noexcept {
    uint32_t count = 0;
    Chunk *oldest = nullptr;
    for (Node *node = tasks.newest; node != nullptr; node = node->next) {
        oldest = static_cast<Chunk *>(node);
        count += oldest->Left();
    }
    const bool mayNot = worker != nullptr && worker->MustNotSubmit();
    if (worker != nullptr) worker->SetMustNotSubmit(true);
    uint32_t number =
        count + TraceSubmit(scheduler, worker, count, oldest->Tasks(), oldest->of, oldest->level);
    if (worker != nullptr) worker->SetMustNotSubmit(mayNot);
    for (Node *node = tasks.newest; node != nullptr; node = node->next) {
        Chunk &chunk = *static_cast<Chunk *>(node);
        chunk.number = number -= chunk.Left();
    }
}

uint64_t TaskOn(const Scheduler &scheduler, const Fiber &fiber) noexcept {
    return IsTraced(scheduler) ? scheduler.tracing->fibers[fiber.index].id : 0;
}

void TracedTask::Tell(TraceKind kind, uint64_t ticks, uint32_t other, uint32_t count) noexcept {
    TraceEvent event{};
    event.other = other;
    event.count = count;
    event.ticks = ticks;
    event.taskId = m_id;
    event.task = m_of.Name();
    event.function = m_task.function;
    event.arg = m_task.arg;
    event.counter = m_of.TheCounter();
    EmitEvent(*m_self.worker->scheduler, m_self.worker, kind, event);
}

WEFT_FORCEINLINE TraceRecord TracedTask::RecordAt(uint64_t ticks, uint32_t kind) const noexcept {
    return TaskRecord(kind, ticks, m_self.index, m_stolenFrom, m_id, m_of.Name(), m_task.function);
}

TracedTask::TracedTask(Fiber &self, const Task &task, const TasksOf &of, uint32_t number,
                       uint32_t stolenFrom, bool isInChunk) noexcept
    : m_self(self), m_task(task), m_of(of), m_stolenFrom(stolenFrom), m_isInChunk(isInChunk) {
    Worker &worker = *self.worker;
    const SchedulerOptions &options = worker.scheduler->options;
    const Tracing &tracing = *worker.scheduler->tracing;
    Tracing::OfWorker &state = StateOf(worker);
    Tracing::OfFiber &ofFiber = tracing.fibers[self.index];
    m_id = number != 0 ? FullId(tracing, number) : 0;
    m_outerId = std::exchange(ofFiber.id, m_id);
    if (WEFT_UNLIKELY(state.offCpu.MayHaveLost())) TellOffCpu(worker, env::Ticks());
    const uint64_t ticks = state.endedAt != 0 ? state.endedAt : env::Ticks();
    if (options.trace.event != nullptr) {
        Tell(TraceKind::TaskBegin, ticks, m_stolenFrom);
    } else if (tracing.recording != nullptr) {
        // One record may say that the previous task has ended, and that this one begins.
        const bool follows = std::exchange(state.endedAt, 0) != 0;
        PutTask(worker, RecordAt(ticks, follows ? TraceRecords::kTaskNext
                                                : static_cast<uint32_t>(TraceKind::TaskBegin)));
    }
    if (StackMeter *const meter = options.stackMeter)
        m_sample.Begin(*meter, self.Bottom(), ofFiber.sample, of.Name(), task.function);
}

TracedTask::~TracedTask() {
    Worker &worker = *m_self.worker;
    const SchedulerOptions &options = worker.scheduler->options;
    const Tracing &tracing = *worker.scheduler->tracing;
    Tracing::OfWorker &state = StateOf(worker);
    Tracing::OfFiber &ofFiber = tracing.fibers[m_self.index];
    if (WEFT_UNLIKELY(state.offCpu.MayHaveLost())) TellOffCpu(worker, env::Ticks());
    const uint64_t ticks = env::Ticks();
    const size_t bytes =
        options.stackMeter != nullptr ? m_sample.End(m_self.Bottom(), ofFiber.sample) : 0;
    if (WEFT_UNLIKELY(bytes != 0))
        Tell(TraceKind::StackUse, ticks, kAnyWorker, static_cast<uint32_t>(bytes));
    if (options.trace.event != nullptr) {
        Tell(TraceKind::TaskEnd, ticks, m_stolenFrom);
        state.endedAt = m_isInChunk ? ticks : 0;
    } else if (tracing.recording != nullptr) {
        TellKeptEnd(worker);
        state.endedAt = ticks;
        state.keptEnd = RecordAt(ticks, static_cast<uint32_t>(TraceKind::TaskEnd));
        if (!m_isInChunk) TellKeptEnd(worker);
    }
    ofFiber.id = m_outerId;
}

}  // namespace weft::internal
