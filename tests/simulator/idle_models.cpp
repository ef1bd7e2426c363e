// Models of WaitIdle and of the end of a run, while tasks are still submitted.
#include "simulator/model_support.h"
#include "simulator/models.h"

namespace simulator {

namespace {

// An external thread waits, and its wait ends at about the time when the main task returns. The run
// must end when this last guest has left.
void GuestAtTheEnd() {
    TaskScheduler scheduler(Options<ReportCode::Stalled, ReportCode::NotRunning>(1, 3));
    Counter came(1), counter(1);
    HostThread guest([&] {
        scheduler.DecrementCounter(&came);
        scheduler.WaitForCounter(&counter);
    });
    RunMain(scheduler, [&](TaskScheduler *running) {
        guest.Start();
        running->WaitForCounter(&came);
        if (Random(2) != 0) running->Yield();
        running->DecrementCounter(&counter);
    });
    guest.Join();
}

// The main task returns while an external thread submits and waits. Each task that was accepted
// must run before Run returns.
void SubmitAtTheEnd() {
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    TaskScheduler scheduler(
        Options<ReportCode::NotRunning, ReportCode::Stalled>(1 + Random(2), 3 + Random(3)));
    Counter counter;
    uint32_t accepted = ~0u;
    HostThread host([&] {
        AddBatch(&scheduler, 2, leaf, &counter);
        accepted = counter.Value();  // 0 if the tasks were refused
        scheduler.WaitForCounter(&counter);
        Check(counter.IsZero(), "a thread's wait ended too early");
        scheduler.AddTask(MakeTask(leaf));
    });
    RunMain(scheduler, [&](TaskScheduler *running) {
        host.Start();
        if (Random(2) != 0) RunTask(running, leaf);
    });
    const uint32_t ranInRun = ran;
    host.Join();
    Check(counter.IsZero(), "an accepted task did not run before Run returned");
    Check(ranInRun == ran, "a task ran after Run");
}

// A hook submits a task at each fiber switch, also while the run ends. Each task must either run or
// be refused with a report.
void HookSubmits() {
    struct Shared {
        TaskScheduler *scheduler;
        uint32_t submitted, refused, ran;
    };
    static Shared s_shared;
    SchedulerOptions options = Options(2, 5);
    options.onReport = [](const Report &report, void *) {
        if (report.code != ReportCode::InHook) Fail(report.what);
        ++s_shared.refused;
    };
    options.trace.kinds = TraceHooks::Bit(TraceKind::FiberSwitch);
    options.trace.event = [](const TraceEvent &, void *) {
        if (s_shared.submitted == 8) return;
        ++s_shared.submitted;
        s_shared.scheduler->AddTask({[](TaskScheduler *, void *) { ++s_shared.ran; }, nullptr});
    };
    TaskScheduler scheduler(options);
    s_shared = {&scheduler, 0, 0, 0};
    RunMain(scheduler, [](TaskScheduler *) {});
    Check(s_shared.ran + s_shared.refused == s_shared.submitted,
          "a task that a hook submitted was lost");
}

// Tasks and threads call WaitIdle. It must return only when all tasks that were submitted before
// have finished.
void Idle() {
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto parent = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(leaf));
        scheduler->Yield();
        ++ran;
    };
    auto waiter = [&](TaskScheduler *scheduler) { scheduler->WaitIdle(); };
    StartedScheduler scheduler(Options(1 + Random(2), 5));
    const bool inTask = Random(2) != 0;
    if (inTask) scheduler.AddTask(MakeTask(waiter));
    RunningThread host([&] { scheduler.WaitIdle(); });
    scheduler.AddTask(MakeTask(parent));
    scheduler.WaitIdle();
    Check(ran == 2, "WaitIdle returned while tasks were pending");
    host.Join();
    scheduler.Stop();
}

// Submits a task and waits for idleness, again and again. The task pauses so many times.
void IdleInRounds(TaskScheduler &scheduler, uint32_t rounds, uint32_t pauses) {
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) {
        for (uint32_t i = 0; i < pauses; ++i) weft::env::Pause();
        ++ran;
    };
    for (uint32_t round = 1; round <= rounds; ++round) {
        scheduler.AddTask(MakeTask(leaf));
        scheduler.WaitIdle();
        Check(ran == round, "WaitIdle returned while tasks were pending");
    }
}

// One or two threads repeatedly submit a task and call WaitIdle, beside a task in WaitIdle. So new
// requests arrive while earlier ones are answered, and the task is notified while a thread has a
// task that still runs. No wait may return early or hang.
void IdleRounds() {
    StartedScheduler scheduler(Options(1 + Random(3), 9));
    const uint32_t hosts = 1 + Random(2), rounds = 2 + Random(2), pauses = 20 * Random(2);
    auto waits = [](TaskScheduler *running) { running->WaitIdle(); };
    const auto work = [&] { IdleInRounds(scheduler, rounds, pauses); };
    HostThread host(work);
    if (hosts == 1 || Random(2) != 0) scheduler.AddTask(MakeTask(waits));
    if (hosts == 2) host.Start();
    work();
    if (hosts == 2) host.Join();
    scheduler.Stop();
}

// Three tasks call WaitIdle and then wait for each other. The scheduler is idle for all of them at
// the same moment, so all must be notified. Otherwise the model ends in a deadlock.
void IdleTogether() {
    StartedScheduler scheduler(Options<ReportCode::Stalled>(2 + Random(2), 9));
    Counter all(3);
    auto task = [&](TaskScheduler *running) {
        running->WaitIdle();
        running->DecrementCounter(&all);
        running->WaitForCounter(&all);
    };
    RunBatch(&scheduler, 3, task);
    scheduler.Stop();
}

// There are no workers. An external thread calls WaitIdle while the attached thread runs its task,
// or while the attached thread runs code of the host. The wait must end without another call of the
// attached thread.
void IdleWithoutWorkers() {
    uint32_t ran = 0;
    weft::env::Atomic<bool> done{false};
    auto leaf = [&](TaskScheduler *) { ++ran; };
    StartedScheduler scheduler(Options(0, 3));
    Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    RunningThread host([&] {
        scheduler.AddTask(MakeTask(leaf));
        scheduler.WaitIdle();
        Check(ran == 1, "WaitIdle returned while tasks were pending");
        done.store(true, std::memory_order_release);
    });
    while (ran == 0) scheduler.Yield();
    while (!done.load(std::memory_order_acquire)) weft::env::Pause();
    scheduler.DetachThread();
    scheduler.Stop();
    host.Join();
}

// A task waits while a thread attaches for the first time and submits a task that another worker
// runs. WaitIdle must not return before the waiting task has finished, although finished tasks are
// counted for a new worker.
void IdleAndAttached() {
    Counter gate(1);
    uint32_t passed = 0;
    auto waiter = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(&gate);
        ++passed;
    };
    auto leaf = [](TaskScheduler *) {};
    StartedScheduler scheduler(Options<ReportCode::Stalled>(2, 5));
    scheduler.AddTask(MakeTask(waiter));
    RunningThread attaches([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        Counter counter;
        scheduler.AddTask(MakeTask(leaf), &counter);
        while (!counter.IsZero()) weft::env::Pause();
        scheduler.DecrementCounter(&gate);
        scheduler.DetachThread();
    });
    scheduler.WaitIdle();
    Check(passed == 1, "WaitIdle returned while tasks were pending");
    attaches.Join();
    scheduler.Stop();
}

// The state of onReport in ReportAtTheEnd.
struct Reporting {
    TaskScheduler *scheduler;
    weft::env::Atomic<bool> released{false};
    uint32_t reports = 0;
};

void CallFromReport(const Report &report, void *user) {
    if (report.code == ReportCode::Stalled) return;
    Check(report.code == ReportCode::NullTask || report.code == ReportCode::NotRunning,
          report.what);
    Reporting &reporting = *static_cast<Reporting *>(user);
    ++reporting.reports;
    Check(reporting.scheduler->WorkerCount() == 1, "a call in onReport was lost");
    while (!reporting.released.load(std::memory_order_acquire)) weft::env::Pause();
}

// A mistake of an external thread is reported while the run ends. onReport calls weft, and then
// waits for another thread that calls weft, too (as if that thread held a lock). Both calls must
// return, and the report must come once.
void ReportAtTheEnd() {
    SchedulerOptions options = Options(1, 3);
    Reporting reporting;
    options.onReport = CallFromReport;
    options.user = &reporting;
    TaskScheduler scheduler(options);
    reporting.scheduler = &scheduler;
    HostThread wrong([&] { scheduler.AddTask({nullptr, nullptr}); });
    HostThread other([&] {
        Check(scheduler.WorkerCount() == 1, "a call was lost");
        reporting.released.store(true, std::memory_order_release);
    });
    RunMain(scheduler, [&](TaskScheduler *) {
        wrong.Start();
        other.Start();
    });
    wrong.Join();
    other.Join();
    Check(reporting.reports == 1, "a mistake was not reported exactly once");
}

}  // namespace

std::vector<Model> IdleModels() {
    return {
        {"submit_at_end", "a thread submits and waits while the main task returns", SubmitAtTheEnd},
        {"guest_at_end", "the last waiting thread continues while the main task returns",
         GuestAtTheEnd},
        {"report_at_end",
         "a thread's mistake is reported, and onReport calls weft, while the run ends",
         ReportAtTheEnd},
        {"hook_submits", "a hook that submits, also while the run ends", HookSubmits},
        {"idle", "WaitIdle of tasks and threads", Idle},
        {"idle_single", "WaitIdle of a thread, while only another thread runs tasks",
         IdleWithoutWorkers},
        {"idle_attached", "WaitIdle while a thread attaches", IdleAndAttached},
        {"idle_together", "tasks leave WaitIdle together, and wait for each other", IdleTogether},
        {"idle_rounds", "threads submit and wait for idleness beside a task in WaitIdle",
         IdleRounds},
    };
}

}  // namespace simulator
