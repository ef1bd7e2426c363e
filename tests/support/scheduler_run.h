// Runs a scheduler in a test, over a grid of configurations.
#pragma once

#include "support/report_log.h"
#include "weft/task_scheduler.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace test {

struct GridPoint {
    uint32_t workers;
    uint32_t fibers;
    weft::IdlePolicy idle;
};

/// Options for tests. Stacks are larger for sanitizers and unoptimised code.
weft::SchedulerOptions Options(uint32_t workers, uint32_t fibers = 160,
                               weft::IdlePolicy idle = weft::IdlePolicy::Balanced);
weft::SchedulerOptions Options(const GridPoint &point);

/// The number of fibers in the pool: so many tasks can wait at once.
uint32_t FibersOf(const weft::SchedulerOptions &options);

/// 1, 2, 3 and 8 workers, pools of 2+1, 3+2 and 128+32 fibers, all idle policies.
std::vector<GridPoint> Grid();
/// The same without the small pools.
std::vector<GridPoint> GridOfLargePools();
std::string Describe(const GridPoint &point);

/// A scheduler with a report log, whose Run takes any callable.
class Runner {
public:
    explicit Runner(const weft::SchedulerOptions &options) : scheduler(WithLog(options)) {}
    explicit Runner(const GridPoint &point) : Runner(Options(point)) {}

    /// Runs `body(TaskScheduler &)` as the main task.
    weft::Status Run(std::function<void(weft::TaskScheduler &)> body,
                     const weft::TaskOptions &options = {weft::Priority::Normal, weft::kAnyWorker,
                                                         "main"});

    ReportLog log;
    weft::TaskScheduler scheduler;

private:
    weft::SchedulerOptions WithLog(weft::SchedulerOptions options) {
        log.AttachTo(options);
        return options;
    }
};

/// Called by tasks: yields until `done()` returns true. Returns false after 20 seconds.
bool YieldUntil(weft::TaskScheduler &scheduler, const std::function<bool()> &done);

/// `count` tasks that call body(scheduler, index). Must outlive the tasks.
class Batch {
public:
    using Body = std::function<void(weft::TaskScheduler &, uint32_t)>;
    Batch(uint32_t count, Body body);
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;

    uint32_t Count() const { return static_cast<uint32_t>(m_tasks.size()); }
    const weft::Task *Tasks() const { return m_tasks.data(); }
    weft::Task operator[](uint32_t index) const { return m_tasks[index]; }

private:
    struct Item {
        const Body *body;
        uint32_t index;
    };
    static void Call(weft::TaskScheduler *scheduler, void *arg);
    const Body m_body;
    std::vector<Item> m_items;
    std::vector<weft::Task> m_tasks;
};

inline constexpr weft::TaskOptions kHigh{weft::Priority::High, weft::kAnyWorker, "high"};
inline constexpr weft::TaskOptions kLow{weft::Priority::Low, weft::kAnyWorker, "low"};

inline weft::TaskOptions Named(const char *name) {
    return {weft::Priority::Normal, weft::kAnyWorker, name};
}
inline weft::TaskOptions PinnedTo(uint32_t worker, const char *name = "pinned") {
    return {weft::Priority::Normal, worker, name};
}

/// `count` tasks that wait for `counter`.
inline Batch WaitsFor(weft::Counter &counter, uint32_t value = 0, uint32_t count = 1) {
    return Batch(count, [&counter, value](weft::TaskScheduler &scheduler, uint32_t) {
        scheduler.WaitForCounter(&counter, value);
    });
}
/// A task that lowers `counter` by 1.
inline Batch Lowers(weft::Counter &counter) {
    return Batch(1, [&counter](weft::TaskScheduler &scheduler, uint32_t) {
        scheduler.DecrementCounter(&counter);
    });
}

}  // namespace test
