// Helpers for models of the whole scheduler.
#pragma once

#include "core/counter_word.h"
#include "platform/env.h"
#include "simulator/virtual_threads.h"
#include "weft/task_scheduler.h"

#include <deque>

namespace simulator {

using namespace weft;

// Counters for models that check that weft no longer uses a counter after the wait for zero. Their
// memory is not used again within a schedule.
class Counters {
public:
    Counter *New(uint32_t count = 0) { return &m_counters.emplace_back(count); }
    /// Call this when the wait for zero has returned. An access after that ends the schedule with a
    /// failure.
    static void Kill(Counter *counter) {
        Check(weft::internal::CounterWord{weft::internal::CounterAccess::Word(*counter).Peek()}
                      .Count() == 0,
              "resumed before the counter reached zero");
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

inline void AnyReportFails(const Report &report, void *) { Fail(report.what); }

/// Pauses for a random time, so that other threads can get ahead.
inline void Dawdle(uint32_t most) {
    for (uint32_t turns = Random(most); turns != 0; --turns) weft::env::Pause();
}

inline SchedulerOptions Options(uint32_t workers, uint32_t fibers) {
    SchedulerOptions options;
    options.workers = workers;
    options.fibers = fibers;
    options.stackBytes = 32 << 10;
    options.idle = static_cast<IdlePolicy>(Random(3));
    options.onReport = AnyReportFails;
    return options;
}

// An onReport that fails for all reports except these.
template <ReportCode... kAllowed>
void OnlyThese(const Report &report, void *) {
    if (!((report.code == kAllowed) || ...)) Fail(report.what);
}

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

// Runs `main` as the main task of a new scheduler, until the run has ended.
template <class Main>
void RunMain(const SchedulerOptions &options, Main main) {
    TaskScheduler scheduler(options);
    const Task task = MakeTask(main);
    Check(scheduler.Run(task.function, task.arg, TaskOptions()) == Status::Ok, "Run failed");
}

}  // namespace simulator
