// The watchdog: a thread that reports if no task ends for a long time.
//
// If a task never ends, or blocks its thread for long, its worker does not become idle, and nobody
// looks for a stall (stall.cpp). So this thread looks, four times in watchdogMilliseconds. It
// reports, once a run, if for that time no task has finished, tasks are pending, and at each look
// some worker or attached thread was not idle.
#include "scheduler/diagnose/wait_text.h"
#include "scheduler/diagnose/watch.h"
#include "scheduler/state/reporting.h"

namespace weft::internal {

namespace {

// relaxed: if a finished task is seen late, the time without one seems longer by that delay. That
// is far shorter than the option's milliseconds.
uint64_t Finished(const Scheduler &scheduler) noexcept {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < scheduler.Slots(); ++i)
        sum += scheduler.workers[i].ended.load(kRelaxed) +
               scheduler.workers[i].figures.inlineRuns.load(kRelaxed);
    return sum;
}

void ReportNoProgress(Scheduler &scheduler) noexcept {
    const WaitGraph graph(scheduler, false);
    ReportText text(scheduler.memory, graph);
    text.Add("no task has ended for %u ms, and %llu are pending",
             scheduler.options.watchdogMilliseconds,
             static_cast<unsigned long long>(PendingTasks(scheduler)));
    AddRunning(text, scheduler);
    if (CountBlocked(graph) != 0) text.Add("; waiting: ");
    AddWaiters(text, scheduler, graph);
    ReportTextOnce(scheduler, ReportCode::NoProgress,
                   "Divide the task that runs, let calls that block run on BlockingCalls "
                   "(weft/blocking/blocking_calls.h), or raise "
                   "SchedulerOptions::watchdogMilliseconds.",
                   text.Get());
}

void WatchdogThread(void *arg) {
    Scheduler &scheduler = *static_cast<Scheduler *>(arg);
    Watchdog &watchdog = scheduler.watchdog;
    if (scheduler.options.threadName != nullptr) env::NameThread("weft watchdog", 0);
    const uint64_t lasts = uint64_t{scheduler.options.watchdogMilliseconds} * 1'000'000;
    uint64_t finished = Finished(scheduler);
    uint64_t since = env::Now();
    for (;;) {
        // The unpark comes after `ends`. acquire is in the Parker.
        if (watchdog.parker.ParkUntil(env::Now() + lasts / 4) && watchdog.ends.load(kRelaxed))
            return;
        const uint64_t now = env::Now();
        const uint64_t seen = Finished(scheduler);
        if (seen != finished || PendingTasks(scheduler) == 0 || AllIdle(scheduler)) {
            finished = seen;
            since = now;
        } else if (now - since >= lasts) {
            return ReportNoProgress(scheduler);
        }
    }
}

}  // namespace

bool StartWatchdog(Scheduler &scheduler) noexcept {
    if (scheduler.options.watchdogMilliseconds == 0) return true;
    Watchdog &watchdog = scheduler.watchdog;
    watchdog.isRunning =
        watchdog.thread.Start(WatchdogThread, &scheduler, scheduler.options.threadStackBytes);
    if (!watchdog.isRunning)
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Lower these options, or raise the limits of the process.",
                      "the scheduler cannot start: the system refuses the thread of the watchdog "
                      "(SchedulerOptions::watchdogMilliseconds, threadStackBytes)");
    return watchdog.isRunning;
}

void EndWatchdog(Scheduler &scheduler) noexcept {
    Watchdog &watchdog = scheduler.watchdog;
    if (!watchdog.isRunning) return;
    watchdog.ends.store(true, kRelaxed);  // published by Unpark
    watchdog.parker.Unpark();
    watchdog.thread.Join();
    watchdog.isRunning = false;
}

}  // namespace weft::internal
