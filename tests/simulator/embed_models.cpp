// Models of a scheduler inside a host: Start and Stop, attached threads, external threads that
// submit and wait, pinned tasks, inactive workers.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"
#include "weft/external_work.h"

#include <optional>

namespace simulator {

namespace {

// Two external threads submit and wait between Start and Stop, or while Stop waits for the end. All
// tasks of a submission must run, or none. Calls that end before Stop must be accepted.
void StartStop() {
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    StartedScheduler scheduler(
        Options<ReportCode::NotRunning, ReportCode::Stalled>(1 + Random(2), 3 + Random(2)));
    const auto work = [&] { AddAndWait(&scheduler, leaf, leaf); };
    RunningThread first(work), second(work);
    const bool early = Random(2) != 0;
    if (!early) first.Join();
    scheduler.Stop();
    if (early) first.Join();
    second.Join();
    Check(ran == 0 || ran == 2 || ran == 4, "a task was lost");
    Check(early || ran >= 2, "a call between Start and Stop was refused");
}

// A thread attaches, submits tasks for any worker and for itself, waits and detaches. An external
// thread submits a task that is pinned to it. Pinned tasks must run only on the attached thread,
// and no accepted task may be lost.
void Attached() {
    uint32_t ran = 0, elsewhere = 0;
    uint32_t self = kAnyWorker;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto pinned = [&](TaskScheduler *scheduler) {
        if (scheduler->CurrentWorker() != self) ++elsewhere;
        scheduler->Yield();
        if (scheduler->CurrentWorker() != self) ++elsewhere;
        ++ran;
    };
    // The external thread may submit after the other one has detached, or after the end. With one
    // fiber, a pinned task may occupy it while others wait.
    SchedulerOptions options =
        Options<ReportCode::BadOption, ReportCode::NotRunning, ReportCode::Stalled,
                ReportCode::OutOfFibers>(1 + Random(2), 2 + Random(3));
    options.maxAttached = 1;
    StartedScheduler scheduler(options);
    self = options.workers;
    const TaskOptions here = PinnedTo(self);
    Counter posted;
    HostThread attached([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        Counter counter;
        scheduler.AddTask(MakeTask(leaf), &counter);
        scheduler.AddTask(MakeTask(pinned), &counter, here);
        if (Random(2) != 0)
            scheduler.WaitForCounter(&counter);
        else
            while (scheduler.RunPinnedTasks() == 0) scheduler.Yield();
        scheduler.WaitForCounter(&counter);
        scheduler.AddTask(MakeTask(leaf));
        scheduler.DetachThread();
    });
    HostThread poster([&] {
        scheduler.AddTask(MakeTask(pinned), &posted, here);
        scheduler.WaitForCounter(&posted);
    });
    attached.Start();
    poster.Start();
    attached.Join();
    const bool early = Random(2) != 0;
    if (!early) poster.Join();
    scheduler.Stop();
    if (early) poster.Join();
    Check(elsewhere == 0, "a pinned task ran on another worker");
    Check(ran == 3 || ran == 4, "a task was lost");
    Check(posted.IsZero(), "a pinned task was lost");
}

// Threads of the host run the workers. They come before or after tasks are submitted and pinned to
// them. The last one may come only when Stop has begun: then Stop may run its worker. No task may
// be lost, and no thread may leave its worker before all tasks have ended.
void HostWorkers() {
    uint32_t ran = 0, elsewhere = 0;
    const uint32_t workers = 1 + Random(3), last = workers - 1;
    const bool late = workers != 1 && Random(2) != 0;
    const TaskOptions there = PinnedTo(late ? 0 : last);
    SchedulerOptions options = Options(workers, 3 + Random(2));
    options.hostThreads = true;
    StartedScheduler scheduler(options);
    const auto workOn = [&](uint32_t index) {
        return [&, index] {
            const Status status = scheduler.RunWorker(index);
            // the others may come too late
            Check(status == Status::Ok || index != there.worker, "RunWorker failed");
            Check(ran == 3, "a thread left its worker before all tasks had ended");
        };
    };
    HostThread<decltype(workOn(0))> threads[3] = {HostThread(workOn(0)), HostThread(workOn(1)),
                                                  HostThread(workOn(2))};
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto pinned = [&](TaskScheduler *running) {
        if (running->CurrentWorker() != there.worker) ++elsewhere;
        ++ran;
    };
    RunningThread poster([&] {
        Counter counter;
        scheduler.AddTask(MakeTask(pinned), &counter, there);
        AddAndWait(&scheduler, leaf, leaf);
        scheduler.WaitForCounter(&counter);
    });
    for (uint32_t i = 0; i < workers; ++i) {
        if (i != last || !late) threads[i].Start();
    }
    poster.Join();
    if (late) threads[last].Start();
    scheduler.Stop();
    for (uint32_t i = 0; i < workers; ++i) threads[i].Join();
    Check(ran == 3, "a task was lost");
    Check(elsewhere == 0, "a pinned task ran on another worker");
}

// Tasks that are pinned to different workers wait for each other in a chain, with hardly more
// fibers than tasks. Each must begin and resume on its own worker, and all must end.
void Pinned() {
    const uint32_t workers = 2 + Random(2);
    uint32_t elsewhere = 0, ran = 0;
    Counter gates[3] = {Counter(1), Counter(1), Counter(1)};
    IndexedTasks items(workers, [&](TaskScheduler *scheduler, uint32_t worker) {
        if (scheduler->CurrentWorker() != worker) ++elsewhere;
        if (worker != 0) scheduler->WaitForCounter(&gates[worker]);
        if (scheduler->CurrentWorker() != worker) ++elsewhere;
        if (worker + 1 != workers) scheduler->DecrementCounter(&gates[worker + 1]);
        ++ran;
    });
    RunCounted(Options<ReportCode::Stalled>(workers, workers + 1 + Random(3)),
               [&](TaskScheduler *scheduler, Counter *counter) {
                   for (uint32_t i = workers; i-- > 0;)
                       scheduler->AddTask(items[i], counter, PinnedTo(i, AnyPriority()));
               });
    Check(elsewhere == 0, "a pinned task ran on another worker");
    Check(ran == workers, "a pinned task was lost");
}

// There are no workers. The attached thread must run all tasks, including those of an external
// thread. Stop must run the rest.
void SingleThread() {
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto parent = [&](TaskScheduler *scheduler) { AddAndWait(scheduler, leaf, leaf); };
    SchedulerOptions options =
        Options<ReportCode::Stalled, ReportCode::NoWorkers>(0, 2 + Random(3));
    options.maxAttached = 2;
    StartedScheduler scheduler(options);
    uint32_t expected = 2;
    bool done = false;
    RunningThread host([&] {
        Counter theirs;
        scheduler.AddTask(MakeTask(parent), &theirs);
        scheduler.WaitForCounter(&theirs);
        Check(ran >= 2, "a thread's wait ended too early");
        done = true;
    });
    Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    if (Random(2) != 0) {
        Counter mine;
        scheduler.AddTask(MakeTask(parent), &mine);
        scheduler.WaitForCounter(&mine);
        expected += 2;
    }
    while (!done) scheduler.Yield();
    scheduler.DetachThread();
    if (Random(2) != 0) {
        scheduler.AddTask(MakeTask(leaf));
        ++expected;
    }
    scheduler.Stop();
    host.Join();
    Check(ran == expected, "a task was lost");
}

// A task, the attached thread and an external thread submit the same kinds of work at once. There
// are no workers and few fibers. In half of the schedules there is an ExternalWork object. Then
// weft sets no stall timer, whose wake-up could hide a lost one. In the other half no stall may be
// reported.
class SameWork {
public:
    explicit SameWork(TaskScheduler &scheduler) : m_scheduler(scheduler) {}

    void Do() {
        ForkJoin();
        AnyOf();
        Lanes();
        m_scheduler.WaitIdle();
    }
    uint32_t Ran() const { return m_ran; }
    static constexpr uint32_t kLeaves = 4;
    static constexpr uint32_t kTasks = 3 * kLeaves + kLeaves + 1 + 6;

private:
    void ForkJoin() {
        auto leaf = [&](TaskScheduler *) { ++m_ran; };
        auto tree = [&](TaskScheduler *scheduler) { AddBatchAndWait(scheduler, kLeaves, leaf); };
        Counter counter;
        AddBatch(&m_scheduler, 3, tree, &counter);
        tree(&m_scheduler);
        m_scheduler.WaitForCounter(&counter);
    }

    void AnyOf() {
        auto one = [&](TaskScheduler *) { ++m_ran; };
        Counter never(1), some;
        Counter *both[2] = {&never, &some};
        m_scheduler.AddTask(MakeTask(one), &some);
        Check(m_scheduler.WaitForAny(2, both) == 1, "WaitForAny returned the wrong counter");
        m_scheduler.DecrementCounter(&never);
    }

    void Lanes() {
        auto yields = [&](TaskScheduler *scheduler) {
            scheduler->Yield();
            ++m_ran;
        };
        Counter counter;
        for (const Priority priority : {Priority::Low, Priority::Normal, Priority::High})
            AddBatch(&m_scheduler, 2, yields, &counter, Of(priority));
        m_scheduler.WaitForCounter(&counter);
    }

    TaskScheduler &m_scheduler;
    uint32_t m_ran = 0;
};

void EveryCaller() {
    SchedulerOptions options = Options<ReportCode::NoWorkers>(0, 5);
    options.maxAttached = 2;
    TaskScheduler scheduler(options);
    std::optional<ExternalWork> outside;
    if (Random(2) != 0) outside.emplace(scheduler);
    Check(scheduler.Start() == Status::Ok && scheduler.AttachThread() == Status::Ok,
          "Start failed");
    SameWork inTask(scheduler), attached(scheduler), external(scheduler);
    auto task = [&](TaskScheduler *) { inTask.Do(); };
    Counter counter;
    scheduler.AddTask(MakeTask(task), &counter);
    Cell over;
    RunningThread other([&] {
        external.Do();
        over.Set(1);
    });
    attached.Do();
    scheduler.WaitForCounter(&counter);
    while (over.Get() == 0) scheduler.Yield();
    other.Join();
    scheduler.DetachThread();
    scheduler.Stop();
    Check(inTask.Ran() + attached.Ran() + external.Ran() == 3 * SameWork::kTasks,
          "a task was lost");
}

// Low tasks wait, and only one worker may run Low tasks. A task of another priority ends their
// wait. Two Low tasks must not run at once, neither at the beginning nor after the wait.
void LowLimit() {
    uint32_t inside = 0, done = 0;
    Counter gate(1);
    const auto runAlone = [&] {
        Check(++inside == 1, "two Low tasks run at once");
        weft::env::Pause();
        --inside;
    };
    auto low = [&](TaskScheduler *scheduler) {
        runAlone();
        scheduler->WaitForCounter(&gate);
        runAlone();
        ++done;
    };
    auto opener = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(&gate);
        ++done;
    };
    SchedulerOptions options = Options(2 + Random(2), 7);
    test::LimitLow(options, 1);
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        // The task that was submitted last may run inline in the wait.
        const bool lowLast = Random(2) != 0;
        if (lowLast) scheduler->AddTask(MakeTask(opener), counter);
        for (int i = 0; i < 3; ++i) scheduler->AddTask(MakeTask(low), counter, Of(Priority::Low));
        if (!lowLast) scheduler->AddTask(MakeTask(opener), counter);
    });
    Check(done == 4, "a task was lost");
}

// Workers become inactive and active again while there is work, some of it pinned to an inactive
// worker. No task may be lost, and the pinned task must run on its worker.
void ActiveWorkers() {
    uint32_t done = 0, elsewhere = 0;
    const uint32_t workers = 2 + Random(2);
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto pinned = [&](TaskScheduler *scheduler) {
        scheduler->Yield();
        if (scheduler->CurrentWorker() != workers - 1) ++elsewhere;
        ++done;
    };
    RunMain(Options(workers, 3 + Random(3)), [&](TaskScheduler *scheduler) {
        scheduler->SetActiveWorkers(1);
        Counter counter;
        AddBatch(scheduler, 4, leaf, &counter);
        scheduler->AddTask(MakeTask(pinned), &counter, PinnedTo(workers - 1));
        if (Random(2) != 0) scheduler->SetActiveWorkers(workers);
        scheduler->WaitForCounter(&counter);
        scheduler->SetActiveWorkers(1 + Random(workers));
        AddBatchAndWait(scheduler, 4, leaf);
    });
    Check(done == 9, "a task was lost");
    Check(elsewhere == 0, "a pinned task ran on another worker");
}

// The system refuses a thread in Run. Run must end the threads that it has started and return
// ThreadFailed, and no task may run.
void StartFails() {
    SchedulerOptions options = Options<ReportCode::BadOption>(4, 5);
    TaskScheduler scheduler(options);
    LimitThreads(Random(3));
    auto never = [](TaskScheduler *) { Fail("a task ran although the run did not start"); };
    const Task task = MakeTask(never);
    Check(scheduler.Run(task.function, task.arg) == Status::ThreadFailed,
          "Run did not return ThreadFailed");
}

}  // namespace

std::vector<Model> EmbedModels() {
    return {
        {"start_fails", "the system refuses a thread", StartFails},
        {"start_stop", "two threads submit and wait between Start and Stop", StartStop},
        {"attached", "an attached thread, and a thread that posts to it", Attached},
        {"host_workers", "threads of the host run the workers, and one comes late", HostWorkers},
        {"pinned", "pinned tasks that wait for each other", Pinned},
        {"low_limit", "Low tasks that one worker may run", LowLimit},
        {"active_workers", "workers become inactive and active again", ActiveWorkers},
        {"single_thread", "no workers, one attached thread", SingleThread},
        {"every_caller", "tasks, an attached and an external thread make the same calls",
         EveryCaller},
    };
}

}  // namespace simulator
