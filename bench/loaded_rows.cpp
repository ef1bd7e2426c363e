// Measures how late urgent work begins while every worker has more Normal work than it can do.
//
// weft never interrupts a running task. So the least possible delay is the rest of the shortest
// running task. The goal is at most the length of one task and 100 microseconds (50 for the High
// task).
#include "bodies.h"
#include "run_weft.h"
#include "sleep_late.h"

#include <weft/deferred.h>
#include <weft/time.h>

#include <algorithm>
#include <memory>

namespace bench {

namespace {

// Keeps all workers busy with Normal tasks from its construction to its destruction. Each task
// calls `work`. The tasks come in batches, and the last task of a batch submits the batch again. If
// a batch has no task in a queue, one of its tasks is running. With two batches for each worker,
// the queues always hold at least as many tasks as there are workers.
class Load {
public:
    Load(weft::TaskScheduler &scheduler, uint32_t workers, void (*work)())
        : m_scheduler(scheduler), m_work(work), m_batches(new Batch[2 * workers]) {
        for (uint32_t i = 0; i < 2 * workers; ++i) {
            Batch &batch = m_batches[i];
            batch.load = this;
            for (weft::Task &task : batch.tasks) task = {Work, &batch};
            Submit(batch);
        }
    }
    ~Load() {
        m_isOver.store(true, std::memory_order_relaxed);  // publishes nothing
        m_scheduler.WaitForCounter(&m_tasks);
    }
    Load(const Load &) = delete;
    Load &operator=(const Load &) = delete;

private:
    static constexpr uint32_t kTasks = 32;
    struct Batch {
        Load *load;
        weft::Task tasks[kTasks];
        std::atomic<uint32_t> left;
    };

    void Submit(Batch &batch) {
        // Relaxed here and in Work: AddTasks publishes the value to the batch's tasks, and the
        // tasks write nothing else.
        batch.left.store(kTasks, std::memory_order_relaxed);
        m_scheduler.AddTasks(kTasks, batch.tasks, &m_tasks);
    }

    static void Work(weft::TaskScheduler *, void *arg) {
        Batch &batch = *static_cast<Batch *>(arg);
        Load &load = *batch.load;
        if (load.m_isOver.load(std::memory_order_relaxed)) return;
        load.m_work();
        if (batch.left.fetch_sub(1, std::memory_order_relaxed) == 1) load.Submit(batch);
    }

    weft::TaskScheduler &m_scheduler;
    void (*const m_work)();
    const std::unique_ptr<Batch[]> m_batches;
    std::atomic<bool> m_isOver{false};
    weft::Counter m_tasks;
};

BENCH_NOINLINE uint64_t MixSteps(uint32_t steps) {
    uint64_t value = steps;
    for (uint32_t i = 0; i < steps; ++i) value = Mix(value + i);
    return value;
}

// Returns how many steps take 50 microseconds while nothing disturbs them. The fastest of 20 runs
// counts, because other threads may disturb some.
uint32_t StepsOf50Microseconds() {
    constexpr uint32_t kSteps = 10000;
    double least = 1e9;
    for (int i = 0; i < 20; ++i) {
        const Clock::time_point begin = Clock::now();
        [[maybe_unused]] const volatile uint64_t value = MixSteps(kSteps);
        least = std::min(least, Since(begin));
    }
    return static_cast<uint32_t>(kSteps * 50e3 / least);
}

// Computes a fixed number of steps. A task that calls Spin would not show the time that another
// thread had its processor: Spin would end as soon as the worker runs again.
void Compute50Microseconds() {
    static const uint32_t steps = StepsOf50Microseconds();
    [[maybe_unused]] const volatile uint64_t value = MixSteps(steps);
}

const weft::TaskOptions kHigh{weft::Priority::High, weft::kAnyWorker, nullptr};

// An external thread submits an empty High task about every millisecond, beside Normal tasks of 50
// microseconds. Returns the time from just before AddTask to the beginning of the task.
//
// The time consists of the call and the rest of a Normal task. If there are as many workers as
// processors, the threads also disturb each other. The external thread takes the processor from a
// worker until it waits, so the task of this worker takes longer. Or the external thread loses the
// processor between its look at the clock and the call.
Quantiles ExternalHigh(uint32_t workers) {
    constexpr uint32_t kTimes = 200;
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    std::vector<double> delays;
    {
        // measures the number of steps before there are tasks
        Compute50Microseconds();
        const Load load(scheduler, workers, Compute50Microseconds);
        for (uint32_t i = 0; i < kTimes; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(500 + Mix(i + 1) % 1000));
            weft::Counter counter;
            Clock::time_point begin;
            auto measure = [&](weft::TaskScheduler *) { delays.push_back(Since(begin)); };
            const weft::Task task = weft::MakeTask(measure);
            begin = Clock::now();
            scheduler.AddTask(task, &counter, kHigh);
            scheduler.WaitForCounter(&counter);
        }
    }
    scheduler.Stop();
    if (delays.size() != kTimes) Wrong("a task did not run");
    return InMicroseconds(QuantilesOf(std::move(delays)));
}

void SpinMillisecond() { Spin(1e6); }

// High tasks for a time one millisecond ahead, beside Normal tasks of one millisecond. `late` holds
// the times from the set time to the beginning of the task. Each High task submits the next one and
// then works for a part of the millisecond. Without this part, the next Normal task of the same
// worker would always end just at the set time.
struct TimedTasks {
    explicit TimedTasks(weft::TaskScheduler &scheduler) { SubmitNext(scheduler); }

    void operator()(weft::TaskScheduler *scheduler) {
        late.push_back(Since(time));
        if (late.size() == kTimedWaits) return;
        const double part = PartOfMillisecond(late.size());
        SubmitNext(*scheduler);  // from here on the members belong to the next task
        Spin(part);
    }
    void SubmitNext(weft::TaskScheduler &scheduler) {
        time = Clock::now() + std::chrono::milliseconds(1);
        if (!weft::AddTaskAt(scheduler, time, weft::MakeTask(*this), &counter, kHigh))
            Wrong("AddTaskAt");
    }

    Clock::time_point time;
    std::vector<double> late;
    weft::Counter counter;
};

Quantiles TaskAt(uint32_t workers) {
    Quantiles late{};
    RunsOnWeft::Run(workers, [&] {
        weft::TaskScheduler &scheduler = *RunsOnWeft::s_running;
        const Load load(scheduler, workers, SpinMillisecond);
        TimedTasks tasks(scheduler);
        scheduler.WaitForCounter(&tasks.counter);
        late = QuantilesOf(std::move(tasks.late));
    });
    return InMicroseconds(late);
}

// A task waits with such a deadline for a counter that stays at 1. Returns how late it continues.
Quantiles WaitUntil(uint32_t workers) {
    Quantiles late{};
    RunsOnWeft::Run(workers, [&] {
        weft::TaskScheduler &scheduler = *RunsOnWeft::s_running;
        const Load load(scheduler, workers, SpinMillisecond);
        weft::Counter never(1);
        late = TimedWaitsLate([&](Clock::time_point deadline) {
            if (weft::WaitForCounterUntil(scheduler, &never, deadline))
                Wrong("a wait that nobody has ended");
        });
    });
    return InMicroseconds(late);
}

}  // namespace

void AddLoadedRows(std::vector<Row> &rows, uint32_t workers) {
    const auto add = [&](const std::string &workload, auto measure) {
        AddQuantiles(
            rows, workload, "weft", workers, [=] { return measure(workers); }, "us");
    };
    add("loaded_external_high", ExternalHigh);
    add("loaded_task_at", TaskAt);
    add("loaded_wait_until", WaitUntil);
}

}  // namespace bench
