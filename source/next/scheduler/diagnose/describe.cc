// Implements DescribeWaiters: tells what the tasks wait for.
#include "scheduler/api/by_caller.h"
#include "weft/inspect.h"

namespace weft {

using namespace internal;

uint32_t DescribeWaiters(TaskScheduler &scheduler,
                         void (*tell)(const WaiterInfo &waiter, void *user), void *user) noexcept {
    if (tell == nullptr) {
        ReportMistake(EntryGate::OptionsOf(scheduler), ReportCode::NullTask, "Give a function.",
                      "DescribeWaiters: null function");
        return 0;
    }
    return Query(scheduler, [&](const Scheduler *running) {
        uint32_t waiters = 0;
        for (uint32_t i = 0; running != nullptr && i < running->AllFibers(); ++i) {
            const Fiber &fiber = running->fibers[i];
            WaiterInfo info;
            info.counter = fiber.wait.shown.load(kRelaxed);  // relaxed, both: for people
            if (info.counter == nullptr) continue;
            info.fiber = i;
            info.task = fiber.wait.name.load(kRelaxed);
            tell(info, user);
            ++waiters;
        }
        return waiters;
    });
}

}  // namespace weft
