// sleep_trace RUNS: traces for sleep.pml: the state of Idle, where work lies, and how many tasks
// have begun. They come from runs of the whole scheduler until all is quiet. The threads are those
// of the model within its default bounds: two workers, and two threads that submit a task each. The
// first task that begins submits another one.
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/scheduler.h"
#include "spin/traces.h"
#include "support/private_members.h"
#include "weft/task_scheduler.h"

namespace test {

using namespace weft::internal;

struct StateOf {
    friend constexpr auto Member(StateOf);
};
struct PlainOf {
    friend constexpr auto Member(PlainOf);
};
struct WordsOf {
    friend constexpr auto Member(WordsOf);
};
struct HeadOf {
    friend constexpr auto Member(HeadOf);
};
struct TopOf {
    friend constexpr auto Member(TopOf);
};
struct BottomOf {
    friend constexpr auto Member(BottomOf);
};
struct Notified {
    friend constexpr auto Member(Notified);
};
struct Sleeper {
    friend constexpr auto Member(Sleeper);
};
template struct Reveal<StateOf, &Idle::m_state>;
template struct Reveal<PlainOf, &Idle::m_plain>;
template struct Reveal<WordsOf, &AtomicBitSet::m_words>;
template struct Reveal<HeadOf, &PushList<Node>::m_head>;
template struct Reveal<TopOf, &WorkStealingDeque<Entry>::m_top>;
template struct Reveal<BottomOf, &WorkStealingDeque<Entry>::m_bottom>;
template struct Reveal<Notified, &weft::env::Parker::m_notified>;
template struct Reveal<Sleeper, &weft::env::Parker::m_sleeper>;

}  // namespace test

namespace {

using namespace weft;

constexpr uint32_t kWorkers = 2, kPosters = 2;

// The scheduler of the current run; null until its first thread begins.
internal::Scheduler *s_scheduler = nullptr;

uint32_t QueuedOn(const internal::Worker &worker) {
    uint32_t count = 0;
    for (const auto &queue : worker.queue) {
        const uint64_t top = (queue.*Member(test::TopOf())).Peek(),
                       bottom = (queue.*Member(test::BottomOf())).Peek();
        if (static_cast<int64_t>(bottom - top) > 0) count += static_cast<uint32_t>(bottom - top);
    }
    return count;
}

// The observed value, packed as in sleep.pml.
uint32_t Observe(const internal::Scheduler &scheduler, uint32_t begun) {
    const uint64_t state = (scheduler.idle.*Member(test::StateOf())).Peek();
    const uint64_t asleep =
        (scheduler.idle.*Member(test::PlainOf()).*Member(test::WordsOf()))[0].bits.Peek();
    uint32_t injected = 0;
    for (const internal::Node *node = (scheduler.injector.*Member(test::HeadOf())).Peek();
         node != nullptr; node = node->next)
        ++injected;
    return static_cast<uint32_t>((state & 3) | (state >> 16 & 3) << 2 | asleep << 4) | begun << 6 |
           injected << 8 | QueuedOn(scheduler.workers[0]) << 10 |
           QueuedOn(scheduler.workers[1]) << 12;
}

// Returns true if all workers are parked. Then nothing happens until another thread does something.
bool AllParked(const internal::Scheduler &scheduler) {
    for (uint32_t i = 0; i < kWorkers; ++i) {
        const env::Parker &parker = scheduler.workers[i].parker;
        if (parker.*Member(test::Notified()) || parker.*Member(test::Sleeper()) == ~0u)
            return false;
    }
    return true;
}

SchedulerOptions Options() {
    SchedulerOptions options;
    options.workers = kWorkers;
    options.fibers = 5;
    options.stackBytes = 32 << 10;
    options.idle = simulator::Random(2) != 0 ? IdlePolicy::Balanced : IdlePolicy::Sleep;
    options.stallMilliseconds = 60'000;  // the model has no deadlines
    // Other reports come from a mutant.
    options.onReport = [](const Report &report, void *) {
        if (report.fatal) simulator::Fail(report.what);
    };
    options.threads.onStart = [](uint32_t, void *) {
        s_scheduler = internal::CurrentWorker()->scheduler;
    };
    return options;
}

void Run(traces::Trace &trace) {
    TaskScheduler scheduler(Options());
    uint32_t begun = 0;
    const auto begin = [&] {
        env::SchedulePoint(nullptr);  // makes the steps before this one separate in the trace
        return ++begun;
    };
    auto child = [&](TaskScheduler *) { begin(); };
    auto task = [&](TaskScheduler *running) {
        if (begin() == 1) running->AddTask(MakeTask(child));
    };
    s_scheduler = nullptr;
    trace.Begin([&] { return s_scheduler != nullptr ? Observe(*s_scheduler, begun) : 0; });
    simulator::Check(scheduler.Start() == Status::Ok, "Start failed");
    s_scheduler = internal::EntryGate::StateOf(scheduler).started;
    std::vector<std::function<void()>> works(kPosters, [&] { scheduler.AddTask(MakeTask(task)); });
    traces::RunAll(works);
    while (!AllParked(*s_scheduler)) env::Pause();
    trace.End();
    scheduler.Stop();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
