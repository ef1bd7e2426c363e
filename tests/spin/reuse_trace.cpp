// reuse_trace RUNS: traces for reuse.pml: the counter's memory in each round, how many tasks of the
// round have ended, and how many waits of each fiber. They come from runs of the whole scheduler
// until all is quiet. There are three workers. One task goes through the rounds as fiber 0, another
// one waits beside it as fiber 1. Only an observer can see that fiber 1 has registered, so the
// calling thread notifies fiber 0 of it.
#include "core/counter_word.h"
#include "scheduler/state/entry_gate.h"
#include "spin/scheduler_trace.h"

#include <algorithm>
#include <new>

namespace {

using namespace weft;

constexpr uint32_t kWorkers = 3, kFibers = 5, kRounds = 3, kTasks = 3;
constexpr uint32_t kNoFiber = ~0u;
constexpr uint32_t kJunkInModel = 63, kTouched = 255;  // the latter is no word of the model
// The contents of destroyed memory. If it is taken for a counter, its list is empty.
constexpr uint64_t kJunk = ~0ull & ~(uint64_t{internal::CounterWord::kMaxRecords} << 9);

// Makes the steps before this one separate in the trace.
void Step() { env::SchedulePoint(nullptr); }

template <class Condition>
void LingerUntil(Condition isOver) {
    for (uint32_t steps = simulator::Random(200); steps > 0 && !isOver(); --steps) Step();
    Step();
}

void Linger() {
    LingerUntil([] { return false; });
}

class Rounds {
public:
    explicit Rounds(TaskScheduler &scheduler) : m_scheduler(scheduler) { Destroy(); }

    void Owner() {
        m_fibers[0] = internal::CurrentWorker()->current->index;
        const auto run = [this](TaskScheduler *) {
            // Some tasks end together, so that one decrements while another one sorts.
            const uint32_t others = simulator::Random(kTasks);
            LingerUntil([&] { return m_ended >= others; });
            ++m_ended;
        };
        for (uint32_t round = 1; round <= kRounds; ++round) {
            Step();
            if (!m_alive) new (m_memory) Counter;
            m_alive = true;
            m_round = round;
            m_ended = 0;
            const Task tasks[kTasks] = {MakeTask(run), MakeTask(run), MakeTask(run)};
            m_scheduler.AddTasks(kTasks, tasks, &TheCounter());
            m_scheduler.DecrementCounter(&m_submitted[round]);
            if (simulator::Random(2) != 0) Linger();  // otherwise it may take the tasks itself
            WaitAs(0, 0);
            if (m_past != round) m_scheduler.WaitForCounter(&m_passed[round]);
            if (simulator::Random(2) == 0) continue;
            Step();
            Destroy();
            if (simulator::Random(2) != 0) Linger();
        }
    }

    void Companion() {
        m_fibers[1] = internal::CurrentWorker()->current->index;
        for (uint32_t round = 1; round <= kRounds; ++round) {
            m_scheduler.WaitForCounter(&m_submitted[round]);
            WaitAs(1, simulator::Random(2));
            m_past = round;
        }
    }

    // Notifies fiber 0 when fiber 1 has registered, until nothing happens any more.
    void Watch() {
        for (uint32_t told = 0; told < m_past || !spin::AllParked(*spin::s_scheduler);
             env::Pause()) {
            if (told < m_past) m_scheduler.DecrementCounter(&m_passed[++told]);
        }
    }

    // The observed value, packed as in reuse.pml.
    uint32_t Observe() {
        const internal::CounterWord word{internal::CounterAccess::Word(TheCounter()).Peek()};
        if (m_alive && HeadOf(word) == 2) m_past = m_round;
        if (!m_alive && (word.bits != kJunk || simulator::Accessed() == m_memory)) m_touched = true;
        const uint32_t packed = m_touched ? kTouched : m_alive ? Pack(word) : kJunkInModel;
        return m_round | m_ended << 2 | m_went[0] << 4 | m_went[1] << 6 | packed << 8;
    }

private:
    Counter &TheCounter() { return *std::launder(reinterpret_cast<Counter *>(m_memory)); }

    // The first record of the list. 1: fiber 0, 2: fiber 1, 3: another one, 0: none.
    uint32_t HeadOf(internal::CounterWord word) const {
        if (word.Head() == 0) return 0;
        return word.Head() == m_fibers[0] + 1 ? 1 : word.Head() == m_fibers[1] + 1 ? 2 : 3;
    }

    uint32_t Pack(internal::CounterWord word) const {
        const uint32_t count = std::min(word.Count(), kTasks + 1);  // more than the model has
        return count * 16 + HeadOf(word) * 4 + (word.IsSorting() ? 2 : 0) +
               (word.IsEager() ? 1 : 0);
    }

    void WaitAs(uint32_t fiber, uint32_t target) {
        m_scheduler.WaitForCounter(&TheCounter(), target);
        Step();
        ++m_went[fiber];
    }

    void Destroy() {
        if (m_alive) TheCounter().~Counter();
        new (m_memory) uint64_t(kJunk);
        m_alive = false;
    }

    TaskScheduler &m_scheduler;
    alignas(Counter) unsigned char m_memory[sizeof(Counter)];
    Counter m_submitted[kRounds + 1]{Counter(1), Counter(1), Counter(1), Counter(1)};
    Counter m_passed[kRounds + 1]{Counter(1), Counter(1), Counter(1), Counter(1)};
    uint32_t m_fibers[2] = {kNoFiber, kNoFiber};
    uint32_t m_round = 0, m_ended = 0, m_past = 0, m_went[2] = {0, 0};
    bool m_alive = false, m_touched = false;
};

void Run(traces::Trace &trace) {
    SchedulerOptions options = spin::Options(kWorkers, kFibers);
    options.idle = simulator::Random(2) != 0 ? IdlePolicy::Balanced : IdlePolicy::Sleep;
    TaskScheduler scheduler(options);
    Rounds rounds(scheduler);
    auto owner = [&](TaskScheduler *) { rounds.Owner(); };
    auto companion = [&](TaskScheduler *) { rounds.Companion(); };

    spin::s_scheduler = nullptr;
    trace.Begin([&] { return rounds.Observe(); });
    simulator::Check(scheduler.Start() == Status::Ok, "Start failed");
    spin::s_scheduler = internal::EntryGate::StateOf(scheduler).started;
    scheduler.AddTask(MakeTask(owner));
    scheduler.AddTask(MakeTask(companion));
    rounds.Watch();
    trace.End();
    scheduler.Stop();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
