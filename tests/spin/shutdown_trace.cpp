// shutdown_trace RUNS MUTANT [-DMAIN=1]: traces for shutdown.pml: the gate, the threads inside, the
// flags of the end, the counts of tasks, where tasks lie, and the idle state. They come from whole
// runs of the scheduler. There are two workers. Two threads submit a task each and may wait for it,
// at any time, also before and after the run. The first task that begins submits another one. The
// thread that calls Start and Stop wants the end, or the main task of Run.
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"
#include "spin/scheduler_trace.h"

#include <cstring>
#include <new>
#include <utility>

namespace {

using namespace weft;

constexpr uint32_t kWorkers = 2, kVisitors = 2;

bool s_hasMainTask = false;
bool s_released = false;

// The scheduler's part of the observed value, packed as in shutdown.pml.
uint32_t ObserveScheduler(const internal::Scheduler &scheduler) {
    const spin::IdleState state(scheduler.idle);
    const internal::Worker &first = scheduler.workers[0], &second = scheduler.workers[1];
    const uint64_t counts = scheduler.externalSubmitted.Peek() << 4 | first.submitted.Peek() << 6 |
                            second.submitted.Peek() << 8 | first.finished.Peek() << 9 |
                            second.finished.Peek() << 12;
    return static_cast<uint32_t>(counts) | static_cast<uint32_t>(scheduler.endWanted.Peek()) |
           static_cast<uint32_t>(scheduler.stopping.Peek()) << 1 | scheduler.guests.Peek() << 2 |
           spin::Length(scheduler.injector) << 15 | spin::TasksOf(first) << 17 |
           spin::TasksOf(second) << 19 | state.searchers << 21 | state.sleepers << 23 |
           state.asleep << 25;
}

uint32_t Observe(const internal::SchedulerState &taskScheduler) {
    internal::Scheduler *running = taskScheduler.scheduler.Peek();
    if (running != nullptr) spin::s_scheduler = running;  // the workers of Run may begin later
    uint32_t packed = taskScheduler.closing.Peek() | static_cast<uint32_t>(running != nullptr) << 1;
    // Each visitor has its own stripe. Its index is the number of its thread, which begins at 1.
    for (uint32_t i = 0; i < kVisitors; ++i)
        packed |= taskScheduler.stripes[i + 1].inside.Peek() << (2 + i);
    if (s_released) return packed;
    // Before the first step only the main task is submitted.
    const uint32_t before = s_hasMainTask ? 1u << 6 : 0;
    return packed | (spin::s_scheduler != nullptr ? ObserveScheduler(*spin::s_scheduler) : before)
                        << 4;
}

// Whether the run has ended although it must not (a mutant's run). After that the code would use a
// scheduler that is gone.
bool IsBroken(const internal::Scheduler &scheduler) {
    uint64_t pending = scheduler.externalSubmitted.Peek();
    for (uint32_t i = 0; i < kWorkers; ++i) {
        pending += scheduler.workers[i].submitted.Peek() - scheduler.workers[i].finished.Peek();
    }
    return scheduler.stopping.Peek() && (pending != 0 || scheduler.guests.Peek() != 0);
}

// The fibers are released first. After that no thread may access anything.
const MemoryHooks kMemory = [] {
    MemoryHooks hooks;
    hooks.allocate = [](size_t bytes, size_t alignment, void *) {
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    };
    hooks.release = [](void *memory, size_t bytes, size_t alignment, void *) {
        s_released = true;
        spin::s_scheduler = nullptr;
        simulator::MarkDead(memory, bytes);
        ::operator delete(memory, std::align_val_t(alignment));
    };
    return hooks;
}();

void Run(traces::Trace &trace) {
    SchedulerOptions options = spin::Options(kWorkers, 4);
    options.idle = simulator::Random(2) != 0 ? IdlePolicy::Balanced : IdlePolicy::Sleep;
    options.memory = kMemory;
    TaskScheduler scheduler(options);
    const internal::SchedulerState &taskScheduler = internal::EntryGate::StateOf(scheduler);
    bool hasBegun = false;
    auto child = [](TaskScheduler *) {};
    auto task = [&](TaskScheduler *running) {
        if (!std::exchange(hasBegun, true)) running->AddTask(MakeTask(child));
    };
    spin::s_scheduler = nullptr;
    s_released = false;
    trace.Begin([&] {
        if (spin::s_scheduler != nullptr && IsBroken(*spin::s_scheduler)) trace.EndsHere();
        return Observe(taskScheduler);
    });
    std::vector<std::function<void()>> works;
    for (uint32_t i = 0; i < kVisitors; ++i) {
        const bool waits = simulator::Random(2) != 0;
        const Task visitors = MakeTask(task);
        works.push_back([&scheduler, visitors, waits] {
            waits ? scheduler.AddTasksAndWait(1, &visitors) : scheduler.AddTask(visitors);
        });
    }
    works.push_back([&] {
        if (s_hasMainTask) {
            const Task main = MakeTask(task);
            simulator::Check(scheduler.Run(main.function, main.arg) == Status::Ok, "Run failed");
        } else {
            simulator::Check(scheduler.Start() == Status::Ok, "Start failed");
            scheduler.Stop();
        }
    });
    traces::RunAll(works);
    trace.End();
}

}  // namespace

int main(int argc, char **argv) {
    for (int i = 3; i < argc; ++i)
        s_hasMainTask = s_hasMainTask || std::strcmp(argv[i], "-DMAIN=1") == 0;
    return traces::Print(argc, argv, Run);
}
