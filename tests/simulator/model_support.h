// Helpers for models of the whole scheduler.
#pragma once

#include "core/counter_word.h"
#include "platform/env.h"
#include "simulator/virtual_threads.h"
#include "weft/task_scheduler.h"

#include <deque>
#include <utility>
#include <vector>

namespace simulator {

using namespace weft;

inline weft::internal::CounterWord WordOf(const Counter &counter) {
    return weft::internal::CounterWord{weft::internal::CounterAccess::Word(counter).Peek()};
}

// Counters for models that check that weft no longer uses a counter after the wait for zero. Their
// memory is not used again within a schedule.
class Counters {
public:
    Counter *New(uint32_t count = 0) { return &m_counters.emplace_back(count); }
    /// Call this when the wait for zero has returned. An access after that ends the schedule with a
    /// failure.
    static void Kill(Counter *counter) {
        Check(WordOf(*counter).Count() == 0, "resumed before the counter reached zero");
        MarkDead(counter, sizeof *counter);
    }

private:
    std::deque<Counter> m_counters;
};

// Data with relaxed order. With --weak a thread sees the newest value only if the code under test
// orders the accesses.
class Cell {
public:
    uint32_t Get() const { return m_value.load(std::memory_order_relaxed); }
    void Set(uint32_t value) { m_value.store(value, std::memory_order_relaxed); }
    void Add(uint32_t n) { Set(Get() + n); }

private:
    weft::env::Atomic<uint32_t> m_value{0};
};

// Data that threads pass to each other. Each user must see what the previous one wrote.
class Traced {
public:
    void Use(uint32_t value) {
        Check(m_cell.Get() == m_newest, "the previous write is not visible");
        m_cell.Set(value);
        m_newest = value;
    }

private:
    Cell m_cell;
    uint32_t m_newest = 0;
};

/// Pauses, or takes steps, for a random time, so that other threads can get ahead.
inline void Dawdle(uint32_t most) {
    for (uint32_t turns = Random(most); turns != 0; --turns) weft::env::Pause();
}
inline void Linger(uint32_t most) {
    for (uint32_t steps = Random(most); steps != 0; --steps) weft::env::SchedulePoint(nullptr);
}

// A call of Come blocks its thread until there are `awaited` calls.
struct Meeting {
    uint32_t awaited;
    uint32_t come = 0;
    void Come() {
        ++come;
        while (come < awaited) weft::env::Pause();
    }
};

// An onReport that fails for all reports except these.
template <ReportCode... kAllowed>
void OnlyThese(const Report &report, void *) {
    if (!((report.code == kAllowed) || ...)) Fail(report.what);
}

// All reports fail, except these.
template <ReportCode... kAllowed>
SchedulerOptions Options(uint32_t workers, uint32_t fibers) {
    SchedulerOptions options;
    options.workers = workers;
    options.fibers = fibers;
    options.stackBytes = 32 << 10;
    options.idle = static_cast<IdlePolicy>(Random(3));
    options.onReport = OnlyThese<kAllowed...>;
    return options;
}

inline Priority AnyPriority() { return static_cast<Priority>(Random(3)); }
inline TaskOptions PinnedTo(uint32_t worker, Priority priority = Priority::Normal) {
    return {priority, worker, nullptr};
}
inline TaskOptions Of(Priority priority) { return PinnedTo(kAnyWorker, priority); }
inline TaskOptions InGroup(uint32_t group, Priority priority = Priority::Normal) {
    TaskOptions options = Of(priority);
    options.group = static_cast<uint8_t>(group);
    return options;
}

// A scheduler that has been started. Call Stop.
class StartedScheduler : public TaskScheduler {
public:
    explicit StartedScheduler(const SchedulerOptions &options) : TaskScheduler(options) {
        Check(Start() == Status::Ok, "Start failed");
    }
};

// A thread of the host. Call Join: the destructor does not, because a schedule may end earlier.
template <class Work>
class HostThread {
public:
    explicit HostThread(Work work) : m_work(work) {}
    void Start() {
        m_thread.Start([](void *self) { static_cast<HostThread *>(self)->m_work(); }, this, 0);
    }
    void Join() { m_thread.Join(); }

private:
    Work m_work;
    weft::env::Thread m_thread;
};

// The same, started at once.
template <class Work>
class RunningThread : public HostThread<Work> {
public:
    explicit RunningThread(Work work) : HostThread<Work>(work) { this->Start(); }
};

// Submits the callables as tasks, one by one.
template <class... F>
void AddEach(TaskScheduler *scheduler, Counter *counter, F &...callables) {
    (scheduler->AddTask(MakeTask(callables), counter), ...);
}

// Submits the callables as one batch, and waits for it (AddTasksAndWait).
template <class... F>
void AddAndWait(TaskScheduler *scheduler, F &...callables) {
    const Task tasks[] = {MakeTask(callables)...};
    scheduler->AddTasksAndWait(static_cast<uint32_t>(sizeof...(F)), tasks);
}

// Submits a batch of `count` tasks that are the same, or also waits for it (AddTasksAndWait).
template <class F>
void AddBatch(TaskScheduler *scheduler, uint32_t count, F &callable, Counter *counter = nullptr,
              const TaskOptions &options = {}) {
    const std::vector<Task> tasks(count, MakeTask(callable));
    scheduler->AddTasks(count, tasks.data(), counter, options);
}
template <class F>
void AddBatchAndWait(TaskScheduler *scheduler, uint32_t count, F &callable,
                     const TaskOptions &options = {}) {
    const std::vector<Task> tasks(count, MakeTask(callable));
    scheduler->AddTasksAndWait(count, tasks.data(), options);
}

// Submits a task, or a batch, with a counter, and waits for this counter.
template <class F>
void RunTask(TaskScheduler *scheduler, F &callable, const TaskOptions &options = {}) {
    Counter counter;
    scheduler->AddTask(MakeTask(callable), &counter, options);
    scheduler->WaitForCounter(&counter);
}
template <class F>
void RunBatch(TaskScheduler *scheduler, uint32_t count, F &callable,
              const TaskOptions &options = {}) {
    Counter counter;
    AddBatch(scheduler, count, callable, &counter, options);
    scheduler->WaitForCounter(&counter);
}

// A callable whose body gets its own task, to submit it again.
template <class Body>
class Repeated {
public:
    explicit Repeated(Body body) : m_body(body) {}
    void operator()(TaskScheduler *scheduler) { m_body(scheduler, MakeTask(*this)); }

private:
    Body m_body;
};

// Tasks that call `body(scheduler, index)`, each with its own index.
template <class Body>
class IndexedTasks {
public:
    IndexedTasks(uint32_t count, Body body) : m_body(std::move(body)), m_calls(count) {
        for (uint32_t i = 0; i < count; ++i) {
            m_calls[i] = {&m_body, i};
            m_tasks.push_back(MakeTask(m_calls[i]));
        }
    }
    IndexedTasks(const IndexedTasks &) = delete;
    IndexedTasks &operator=(const IndexedTasks &) = delete;
    const Task &operator[](uint32_t index) const { return m_tasks[index]; }
    const Task *data() const { return m_tasks.data(); }

private:
    struct Call {
        Body *body;
        uint32_t index;
        void operator()(TaskScheduler *scheduler) { (*body)(scheduler, index); }
    };
    Body m_body;
    std::vector<Call> m_calls;
    std::vector<Task> m_tasks;
};

// Waits until each counter has been zero. After its wait no thread may use it.
template <class... C>
void WaitAndKill(TaskScheduler *scheduler, C *...counters) {
    ((scheduler->WaitForCounter(counters), Counters::Kill(counters)), ...);
}

// Runs `main` as the main task, until the run has ended.
template <class Main>
void RunMain(TaskScheduler &scheduler, Main main, const TaskOptions &options = {}) {
    const Task task = MakeTask(main);
    Check(scheduler.Run(task.function, task.arg, options) == Status::Ok, "Run failed");
}

// The same for a new scheduler.
template <class Main>
void RunMain(const SchedulerOptions &options, Main main) {
    TaskScheduler scheduler(options);
    RunMain(scheduler, main);
}

// The same for a main task that submits tasks with a counter. They are waited for when `main` has
// returned, so the callables must outlive it.
template <class Main>
void RunCounted(const SchedulerOptions &options, Main main) {
    Counters counters;
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter *const counter = counters.New();
        main(scheduler, counter);
        WaitAndKill(scheduler, counter);
    });
}

}  // namespace simulator
