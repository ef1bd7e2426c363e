// sleep_trace RUNS: traces for sleep.pml: the idle state, where work lies, and how many tasks have
// begun. They come from runs of the whole scheduler until all is quiet. The threads are those of
// the model within its default bounds: two workers, and two threads that submit a task each. The
// first task that begins submits another one, or yields.
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"
#include "spin/private_members.h"
#include "spin/scheduler_trace.h"

namespace {

using namespace weft;

constexpr uint32_t kWorkers = 2, kPosters = 2;

// The observed value, packed as in sleep.pml.
uint32_t Observe(const internal::Scheduler &scheduler, uint32_t begun) {
    const spin::IdleState state(scheduler.idle);
    uint32_t packed = state.searchers | state.sleepers << 2 | state.asleep << 4 | begun << 6;
    packed |= spin::Length(scheduler.injector) << 8;
    for (uint32_t i = 0; i < kWorkers; ++i) {
        const internal::Worker &worker = scheduler.workers[i];
        packed |= spin::TasksOf(worker) << (10 + 2 * i) | spin::ReadyOf(worker) << (14 + 2 * i);
    }
    return packed;
}

void Run(traces::Trace &trace) {
    SchedulerOptions options = spin::Options(kWorkers, 4);
    options.idle = simulator::Random(2) != 0 ? IdlePolicy::Balanced : IdlePolicy::Sleep;
    TaskScheduler scheduler(options);
    uint32_t begun = 0;
    const auto begin = [&] {
        env::SchedulePoint(nullptr);  // makes the steps before this one separate in the trace
        return ++begun;
    };
    auto child = [&](TaskScheduler *) { begin(); };
    const bool yields = simulator::Random(2) != 0;
    auto task = [&](TaskScheduler *running) {
        if (begin() != 1) return;
        if (yields) {
            running->Yield();
            begin();
        } else {
            running->AddTask(MakeTask(child));
        }
    };
    spin::s_scheduler = nullptr;
    trace.Begin(
        [&] { return spin::s_scheduler != nullptr ? Observe(*spin::s_scheduler, begun) : 0; });
    simulator::Check(scheduler.Start() == Status::Ok, "Start failed");
    spin::s_scheduler = internal::EntryGate::StateOf(scheduler).started;
    std::vector<std::function<void()>> works(kPosters, [&] { scheduler.AddTask(MakeTask(task)); });
    traces::RunAll(works);
    while (!spin::AllParked(*spin::s_scheduler)) env::Pause();
    trace.End();
    scheduler.Stop();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
