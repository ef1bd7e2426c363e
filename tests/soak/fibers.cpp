// The census of fibers: checks that all fibers of the pool are free.
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
    void Fill(TaskScheduler &scheduler, uint32_t count, StackClass stack) {
        scheduler.IncrementCounter(&arrived, count);
        for (uint32_t i = 0; i < count; ++i) {
            scheduler.AddTask({Task, this}, &done,
                              {Priority::Normal, stack, kAnyWorker, kTaskNames[3]});
        }
        scheduler.WaitForCounter(&arrived);
    }
    std::vector<std::atomic<uint32_t>> seen;
    Counter arrived, gate{1}, done;
};

}  // namespace

void CheckFibers(TaskScheduler &scheduler, const SchedulerOptions &options, uint32_t mainFibers,
                 Figures &figures) {
    const uint32_t fibers = options.smallFibers + options.largeFibers;
    Census census(fibers);
    if (mainFibers != 0) census.seen[scheduler.CurrentFiber()].fetch_add(1);
    // Large fibers first: without a free small fiber no loop could begin Large tasks.
    census.Fill(scheduler, options.largeFibers - mainFibers, StackClass::Large);
    census.Fill(scheduler, options.smallFibers, StackClass::Small);
    for (uint32_t i = 0; i < fibers; ++i) {
        if (census.seen[i].load() != 1)
            figures.Fail("fiber %u has %u tasks at once", i, census.seen[i].load());
    }
    scheduler.DecrementCounter(&census.gate);
    scheduler.WaitForCounter(&census.done);
}

}  // namespace soak
