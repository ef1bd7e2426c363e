// External threads, and what they submit and check.
#pragma once

#include "support/scheduler_run.h"
#include "weft/task_scheduler.h"

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace test {

/// `count` threads that call body(index). Joined by Join or by the destructor.
class Threads {
public:
    Threads(uint32_t count, std::function<void(uint32_t)> body);
    ~Threads() { Join(); }
    Threads(const Threads &) = delete;
    Threads &operator=(const Threads &) = delete;
    void Join();

private:
    const std::function<void(uint32_t)> m_body;
    std::vector<std::thread> m_threads;
};

/// Tasks that each increment a plain number of their own. Read these numbers only after a wait for
/// the tasks.
class Marks {
public:
    explicit Marks(uint32_t count)
        : m_marks(count),
          m_batch(count, [this](weft::TaskScheduler &, uint32_t i) { ++m_marks[i]; }) {}
    uint32_t Count() const { return m_batch.Count(); }
    const weft::Task *Tasks() const { return m_batch.Tasks(); }
    weft::Task operator[](uint32_t index) const { return m_batch[index]; }
    /// How many of the first `count` tasks have not run exactly `times` times.
    uint32_t Wrong(uint32_t times, uint32_t count) const;
    uint32_t Wrong(uint32_t times = 1) const { return Wrong(times, Count()); }

private:
    std::vector<uint32_t> m_marks;
    Batch m_batch;
};

enum class Life { Run, Start };
const char *Describe(Life life);

/// Calls host(scheduler) on an external thread: during Run, while its main task waits, or between
/// Start and Stop. Returns the status of Run or Start. `host` is not called if Start fails.
weft::Status WhileItRuns(Runner &runner, Life life,
                         const std::function<void(weft::TaskScheduler &)> &host);

/// The reports of the log. Empty if there are none, or only reports of stalls: a main task that
/// waits for an external thread may cause these.
std::string Faults(const ReportLog &log);

}  // namespace test
