// pool_trace RUNS: traces for pool.pml: the free fibers, the starved workers, the idle state with
// both sets of sleepers, where work lies, and how many tasks have ended. They come from runs of the
// whole scheduler until all is quiet. Two workers share one small fiber. One thread submits a task,
// another one a task that is pinned to worker 0. Each task may wait, for a counter that a third
// thread lowers as soon as the task waits.
#include "core/counter_word.h"
#include "scheduler/state/entry_gate.h"
#include "spin/scheduler_trace.h"

namespace {

using namespace weft;

constexpr uint32_t kWorkers = 2, kFibers = 1, kTasks = 2;

// The observed value, packed as in pool.pml. The model has one place for the lanes and one for the
// ready fibers of both workers.
uint32_t Observe(const internal::Scheduler &scheduler, uint32_t ended) {
    const spin::IdleState state(scheduler.idle);
    uint32_t tasks = 0, ready = 0;
    for (uint32_t i = 0; i < kWorkers; ++i) {
        tasks += spin::TasksOf(scheduler.workers[i]);
        ready += spin::ReadyOf(scheduler.workers[i]);
    }
    return spin::FreeSmall(scheduler.pool) | spin::Starved(scheduler.pool) << 1 |
           state.searchers << 3 | state.sleepers << 5 | state.others << 7 | state.asleep << 9 |
           state.starvedAsleep << 11 | ended << 13 |
           spin::Length(scheduler.workers[0].inbox) << 15 | spin::Length(scheduler.injector) << 17 |
           tasks << 19 | ready << 21;
}

// Lowers the counters for which tasks wait, each counter once.
class Resumer {
public:
    explicit Resumer(TaskScheduler &scheduler) : m_scheduler(scheduler) {}

    void Run() {
        while (!m_over) {
            for (uint32_t i = 0; i < kTasks; ++i) {
                if (!HasWaiter(i)) continue;
                m_busy = true;
                m_scheduler.DecrementCounter(&m_counters[i]);
                m_busy = false;
            }
            env::Pause();
        }
    }
    void End() { m_over = true; }
    bool HasNothingToDo() { return !m_busy && !HasWaiter(0) && !HasWaiter(1); }
    Counter &CounterOf(uint32_t task) { return m_counters[task]; }

private:
    bool HasWaiter(uint32_t i) {
        return internal::CounterWord{internal::CounterAccess::Word(m_counters[i]).Peek()}.Head() !=
               0;
    }
    TaskScheduler &m_scheduler;
    Counter m_counters[kTasks]{Counter(1), Counter(1)};
    bool m_busy = false, m_over = false;
};

void Run(traces::Trace &trace) {
    SchedulerOptions options = spin::Options(kWorkers, kFibers);
    options.idle = simulator::Random(2) != 0 ? IdlePolicy::Balanced : IdlePolicy::Sleep;
    TaskScheduler scheduler(options);
    Resumer resumer(scheduler);
    uint32_t ended = 0, posted = 0;
    const auto run = [&](uint32_t number, bool waits) {
        if (waits) scheduler.WaitForCounter(&resumer.CounterOf(number));
        env::SchedulePoint(nullptr);  // makes the steps before this one separate in the trace
        ++ended;
    };
    const bool firstWaits = simulator::Random(2) != 0, secondWaits = simulator::Random(2) != 0;
    auto first = [&](TaskScheduler *) { run(0, firstWaits); };
    auto second = [&](TaskScheduler *) { run(1, secondWaits); };
    TaskOptions pinned;
    pinned.worker = 0;

    spin::s_scheduler = nullptr;
    trace.Begin([&] {
        return spin::s_scheduler != nullptr ? Observe(*spin::s_scheduler, ended)
                                            : (1u << kFibers) - 1;
    });
    simulator::Check(scheduler.Start() == Status::Ok, "Start failed");
    spin::s_scheduler = internal::EntryGate::StateOf(scheduler).started;
    std::vector<std::function<void()>> works;
    works.push_back([&] { scheduler.AddTask(MakeTask(first)), ++posted; });
    works.push_back([&] { scheduler.AddTask(MakeTask(second), nullptr, pinned), ++posted; });
    works.push_back([&] { resumer.Run(); });
    works.push_back([&] {
        while (posted != kTasks || !resumer.HasNothingToDo() ||
               !spin::AllParked(*spin::s_scheduler))
            env::Pause();
        resumer.End();
    });
    traces::RunAll(works);
    trace.End();
    scheduler.Stop();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
