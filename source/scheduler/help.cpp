#include "scheduler/help.h"

#include "scheduler/claim.h"
#include "scheduler/find_work.h"
#include "scheduler/ready.h"
#include "scheduler/run_task.h"
#include "scheduler/wait.h"

namespace weft::internal {

namespace {

constexpr uint32_t kMaxHelp = 64;

// The newest entry of the lane, if it is a task of the counter on its own, which needs no permit.
bool PopSingle(Worker *worker, uint32_t lane, const Counter *counter, StackClass most, TaskEntry &entry) noexcept {
    if (lane == kLowLane && worker->scheduler->options.maxLowWorkers != 0 && !worker->current->holdsLow) return false;
    return worker->lanes[lane].PopIf(entry, [=](const TaskEntry &newest) {
        return newest.TheCounter() == counter && !newest.IsSlice() && newest.Stack() <= most;
    });
}

// Without a claim, which would only be filled in to be read once. Only where the worker published last: the tasks of the
// counter in other lanes, if there are any, are found with a claim.
bool RunSingle(Fiber *self, Counter &counter, StackClass most) noexcept {
    TaskEntry entry;
    if (!PopSingle(self->worker, self->worker->newestLane, &counter, most, entry)) return false;
    RunEntry(self, entry, AndThen::ReturnToTask);
    return true;
}

bool AreLanesEmpty(const Worker &worker) noexcept {
    return worker.lanes[0].LooksEmpty() && worker.lanes[1].LooksEmpty() && worker.lanes[2].LooksEmpty();
}

}  // namespace

void Help(Fiber *self, Counter &counter) noexcept {
    if (AreLanesEmpty(*self->worker)) return;
    const Scheduler &scheduler = *self->worker->scheduler;
    if (race::kFinder && scheduler.pool.AnyFree(StackClass::Small)) return;
    StackClass most = StackClass::Large;
    if (!MayHelp(self, scheduler, most)) {
        most = StackClass::Small;
        if (!MayHelp(self, scheduler, most)) return;
    }
    for (uint32_t claims = 0; claims < kMaxHelp; ++claims) {
        if (!RunSingle(self, counter, most)) {
            if (!FindOfCounter(self->worker, &counter, most)) return;
            RunClaim(self, AndThen::ReturnToTask);
        }
        if (IsSatisfied(counter, 0)) return;
    }
}

uint32_t TakeBack(Fiber *self, Counter &counter, uint32_t published, Priority priority) noexcept {
    uint32_t ran = 0;
    TaskEntry entry;
    while (ran < published &&
           PopSingle(self->worker, static_cast<uint32_t>(priority), &counter, StackClass::Large, entry)) {
        RunTask(self, entry.TheTask(), entry.Name());
        ++ran;
    }
    return ran;
}

}  // namespace weft::internal
