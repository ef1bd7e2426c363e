// Models that combine many features at random, with up to eight workers: priorities, group limits,
// pinned tasks, waits, yields and inactive workers.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace simulator {

namespace {

// State that all tasks of a schedule share. Virtual threads take turns, so nothing here is atomic.
struct Crowd {
    Counters counters;
    uint32_t workers = 0;
    uint32_t left = 16;    // tasks that may still be submitted
    uint32_t waiters = 0;  // tasks that may still wait: there are fibers for so many
    uint32_t pinnedOneIn = 4;
    uint32_t submitted = 0, ran = 0;
    struct Job;
    std::vector<std::unique_ptr<Job>> jobs;
};

struct Crowd::Job {
    Crowd *crowd;
    uint32_t pinnedTo;
    bool mayWait;
    bool ran;
};

void RunJob(TaskScheduler *scheduler, void *arg);

TaskOptions AnyOptions(const Crowd &crowd) {
    TaskOptions options = Of(AnyPriority());
    if (Random(crowd.pinnedOneIn) == 0) options.worker = Random(crowd.workers);
    return options;
}

// Submits up to three tasks. Then it waits for them, or leaves them to the end of the run. A wait
// must not return before these tasks have finished.
void SubmitSome(TaskScheduler *scheduler, Crowd &crowd) {
    const uint32_t count = std::min(crowd.left, Random(4));
    if (count == 0) return;
    crowd.left -= count;
    crowd.submitted += count;
    const TaskOptions options = AnyOptions(crowd);
    Task tasks[3];
    Crowd::Job *jobs[3];
    for (uint32_t i = 0; i < count; ++i) {
        const bool mayWait = crowd.waiters != 0 && Random(4) != 0;
        if (mayWait) --crowd.waiters;
        crowd.jobs.push_back(
            std::make_unique<Crowd::Job>(Crowd::Job{&crowd, options.worker, mayWait, false}));
        jobs[i] = crowd.jobs.back().get();
        tasks[i] = {RunJob, jobs[i]};
    }
    switch (Random(3)) {
        case 0:
            scheduler->AddTasks(count, tasks, nullptr, options);
            return;
        case 1:
            scheduler->AddTasksAndWait(count, tasks, options);
            break;
        default: {
            Counter *counter = crowd.counters.New();
            scheduler->AddTasks(count, tasks, counter, options);
            if (Random(2) != 0) scheduler->Yield();
            scheduler->WaitForCounter(counter, 0,
                                      Random(2) != 0 ? ResumeOn::AnyWorker : ResumeOn::SameWorker);
            Counters::Kill(counter);
        }
    }
    for (uint32_t i = 0; i < count; ++i)
        Check(jobs[i]->ran, "a wait returned before its tasks had finished");
}

void RunJob(TaskScheduler *scheduler, void *arg) {
    Crowd::Job *job = static_cast<Crowd::Job *>(arg);
    Check(!job->ran, "a task ran twice");
    const auto isHome = [&] {
        return job->pinnedTo == kAnyWorker || scheduler->CurrentWorker() == job->pinnedTo;
    };
    Check(isHome(), "a pinned task began on another worker");
    if (job->mayWait) SubmitSome(scheduler, *job->crowd);
    if (Random(4) == 0) scheduler->Yield();
    Check(isHome(), "a pinned task continued on another worker");
    job->ran = true;
    ++job->crowd->ran;
}

void CrowdOf(uint32_t fibers, uint32_t waiters, uint32_t pinnedOneIn = 4,
             bool changesActive = false) {
    Crowd crowd;
    crowd.pinnedOneIn = pinnedOneIn;
    crowd.waiters = waiters;
    crowd.workers = 1 + Random(8);
    SchedulerOptions options = Options(crowd.workers, fibers + 1 + Random(2));
    if (Random(2) != 0) test::LimitLow(options, 1);
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 3; ++i) {
            if (changesActive) scheduler->SetActiveWorkers(1 + Random(crowd.workers));
            SubmitSome(scheduler, crowd);
        }
    });
    Check(crowd.ran == crowd.submitted, "a task was lost");
}

// An attached thread, an external thread and tasks submit such work, while workers may become
// inactive. Each task must run exactly once.
void CrowdFromOutside() {
    Crowd crowd;
    crowd.waiters = 8;
    crowd.workers = 1 + Random(4);
    // All fibers may wait while a thread of the host is about to submit more.
    StartedScheduler scheduler(Options<ReportCode::Stalled>(crowd.workers, 13));
    HostThread attached([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        SubmitSome(&scheduler, crowd);
        scheduler.Yield();
        SubmitSome(&scheduler, crowd);
        scheduler.DetachThread();
    });
    auto submit = [&](TaskScheduler *self) { SubmitSome(self, crowd); };
    HostThread other([&] {
        AddAndWait(&scheduler, submit);
        if (Random(2) != 0) scheduler.WaitIdle();
        scheduler.AddTask(MakeTask(submit));
    });
    attached.Start();
    other.Start();
    if (Random(2) != 0) scheduler.SetActiveWorkers(1);
    scheduler.AddTask(MakeTask(submit));
    attached.Join();
    other.Join();
    scheduler.Stop();
    Check(crowd.ran == crowd.submitted, "a task was lost");
}

}  // namespace

std::vector<Model> CrowdModels() {
    return {
        {"crowd", "up to eight workers: lanes, pins, waits, yields", [] { CrowdOf(24, 16); }, 4},
        {"crowd_starved", "the same with fewer fibers than workers", [] { CrowdOf(5, 3); }, 4},
        {"crowd_pinned", "most tasks pinned, few spare fibers, and perhaps inactive workers",
         [] { CrowdOf(3 + Random(2), 1, 1 + Random(2), Random(2) != 0); }, 4},
        {"crowd_outside", "the same, submitted by an attached and an external thread",
         CrowdFromOutside, 4},
    };
}

}  // namespace simulator
