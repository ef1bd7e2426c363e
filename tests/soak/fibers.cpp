// The census of fibers: checks that as many tasks as the options promise can wait at once.
#include "soak/instance.h"

namespace soak {

using namespace weft;

namespace {

struct Census {
    explicit Census(uint32_t fibers) : seen(fibers) {}
    static void Task(TaskScheduler *scheduler, void *arg) {
        Census &census = *static_cast<Census *>(arg);
        census.seen[scheduler->CurrentFiber()].fetch_add(1);
        scheduler->DecrementCounter(&census.arrived);
        scheduler->WaitForCounter(&census.gate);
    }
    // Starts `count` tasks that all wait at the gate.
    void Fill(TaskScheduler &scheduler, uint32_t count) {
        scheduler.IncrementCounter(&arrived, count);
        TaskOptions options;
        options.name = kTaskNames[3];
        for (uint32_t i = 0; i < count; ++i) scheduler.AddTask({Task, this}, &done, options);
        scheduler.WaitForCounter(&arrived);
    }
    std::vector<std::atomic<uint32_t>> seen;
    Counter arrived, gate{1}, done;
};

}  // namespace

uint32_t CheckFibers(TaskScheduler &scheduler, const SchedulerOptions &options, bool isTask,
                     Figures &figures) {
    const uint32_t tasks = options.fibers - isTask;
    Census census(GetStatistics(scheduler).fibers);
    if (isTask) census.seen[scheduler.CurrentFiber()].fetch_add(1);
    census.Fill(scheduler, tasks);
    for (size_t i = 0; i < census.seen.size(); ++i) {
        if (census.seen[i].load() > 1)
            figures.Fail("fiber %zu has %u tasks at once", i, census.seen[i].load());
    }
    scheduler.DecrementCounter(&census.gate);
    scheduler.WaitForCounter(&census.done);
    return tasks;
}

}  // namespace soak
