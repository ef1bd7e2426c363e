// Blocking calls: threads beside the workers that make them, and are started, woken and ended.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/blocking/blocking_calls.h"

#include <optional>

namespace simulator {

namespace {

void Linger(uint32_t steps) {
    for (; steps != 0; --steps) weft::env::SchedulePoint(nullptr);
}

// A call that cannot return until `awaited` of its kind have begun: it needs as many threads.
struct Gathering {
    uint32_t awaited;
    uint32_t come = 0;
    void Come() {
        ++come;
        while (come < awaited) weft::env::Pause();
    }
};

// All fibers may wait for calls at once: no reason for a report.
SchedulerOptions WaitingOptions(uint32_t workers) { return Options(workers, 8, 1); }

// Threads end after so short a time that they do in some schedules, at any place.
BlockingOptions CallOptions(uint32_t threads) {
    BlockingOptions options;
    options.maxThreads = threads;
    options.idleMicroseconds = Random(3) == 0 ? 0 : 1 + Random(200);
    return options;
}

bool OnWorker() { return TaskScheduler::Current() != nullptr; }

// A call for each of some tasks, the answer to each task; a second round finds threads that sleep,
// or have ended.
void Answers() {
    uint32_t made = 0, answered = 0;
    RunMain(WaitingOptions(1 + Random(2)), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, CallOptions(1 + Random(2)));
        auto ask = [&](TaskScheduler *) {
            const uint32_t asked = Random(1000);
            Cell question;
            question.Set(asked);
            const uint32_t answer = calls.Run([&] {
                Check(!OnWorker(), "a worker makes the call");
                Linger(Random(4));
                ++made;
                return question.Get() + 1;
            });
            Check(OnWorker() && answer == asked + 1, "the answer to another question");
            ++answered;
        };
        const Task tasks[3] = {MakeTask(ask), MakeTask(ask), MakeTask(ask)};
        for (int round = 0; round < 2; ++round) {
            scheduler->AddTasksAndWait(1 + Random(3), tasks);
            Linger(Random(100));
        }
        Check(made == answered, "a call was lost");
    });
    Check(made == answered, "a call was lost");
}

// As many calls as there may be threads, which wait for each other, again and again: no call waits
// while a thread sleeps, or a place is vacant.
void CallsMeet() {
    const uint32_t together = 2 + Random(2);
    RunMain(WaitingOptions(1 + Random(2)), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, CallOptions(together));
        auto alone = [&](TaskScheduler *) { calls.Run([] { Linger(Random(8)); }); };
        for (int round = 0; round < 3; ++round) {
            Gathering gathering{together};
            auto come = [&](TaskScheduler *) {
                Linger(Random(8));
                calls.Run([&] { gathering.Come(); });
            };
            const Task tasks[3] = {MakeTask(come), MakeTask(come), MakeTask(come)};
            Counter counter;
            for (uint32_t i = 0; i < together; ++i) scheduler->AddTask(tasks[i], &counter);
            scheduler->WaitForCounter(&counter);
            Check(gathering.come == together, "a call was lost");
            if (Random(2) != 0) alone(scheduler);
            Linger(Random(100));
        }
    });
}

// The same, submitted in one go while the threads of the round before come to rest and end each
// other.
void CallsMeetAgain() {
    constexpr uint32_t kTogether = 3;
    BlockingOptions options;
    options.maxThreads = kTogether;
    options.idleMicroseconds = 1;
    RunMain(WaitingOptions(1), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, options);
        for (int round = 0; round < 6; ++round) {
            Gathering gathering{kTogether};
            auto come = [&] {
                gathering.Come();
                Linger(Random(12));
            };
            BlockingCall all[kTogether] = {MakeBlockingCall(come), MakeBlockingCall(come),
                                           MakeBlockingCall(come)};
            Counter counter;
            for (BlockingCall &call : all) calls.Submit(call, &counter);
            scheduler->WaitForCounter(&counter);
            Check(gathering.come == kTogether, "a call was lost");
            Linger(Random(60));
        }
    });
}

// The one worker goes on with a task that the call waits for.
void WorkerGoesOn() {
    bool computed = false;
    RunMain(WaitingOptions(1), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, CallOptions(1));
        auto compute = [&](TaskScheduler *) { computed = true; };
        auto call = [&](TaskScheduler *) {
            const bool seen = calls.Run([&] {
                while (!computed) weft::env::Pause();
                return computed;
            });
            Check(seen, "the call did not wait for the task");
        };
        const Task tasks[2] = {MakeTask(call), MakeTask(compute)};
        scheduler->AddTasksAndWait(2, tasks);
    });
}

// The system refuses threads: some of them, or all. Every call is made, some of them by workers.
// When it does no longer, there are as many threads as there may be.
void Refused() {
    uint32_t made = 0;
    const uint32_t workers = 1 + Random(2), threads = 1 + Random(3);
    LimitThreads(workers - 1 + Random(3));
    RunMain(WaitingOptions(workers), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, CallOptions(threads));
        auto ask = [&](TaskScheduler *) {
            calls.Run([&] {
                Linger(Random(8));
                ++made;
            });
        };
        const Task tasks[4] = {MakeTask(ask), MakeTask(ask), MakeTask(ask), MakeTask(ask)};
        scheduler->AddTasksAndWait(4, tasks);
        Check(made == 4, "a call was lost");

        LimitThreads(6);
        Gathering gathering{threads};
        auto come = [&](TaskScheduler *) { calls.Run([&] { gathering.Come(); }); };
        const Task meeting[3] = {MakeTask(come), MakeTask(come), MakeTask(come)};
        scheduler->AddTasksAndWait(threads, meeting);
    });
}

// A task and a host's thread submit without waiting; the calls outlive their tasks, and the end
// comes while some are under way. Each call is dead when its function has begun: nobody may touch
// it then.
void Submitted() {
    struct OneCall {
        uint32_t *made;
        std::optional<BlockingCall> call;
        void Submit(BlockingCalls &calls, Counter *counter) {
            call.emplace(Make, this);
            Check(calls.Submit(*call, counter) == Status::Ok, "refused");
        }
        static void Make(void *self) {
            OneCall &one = *static_cast<OneCall *>(self);
            MarkDead(&one.call, sizeof one.call);
            Linger(Random(8));
            ++*one.made;
        }
    };
    uint32_t made = 0;
    TaskScheduler scheduler(WaitingOptions(1));
    Check(scheduler.Start() == Status::Ok, "Start failed");
    OneCall own[4] = {{&made, {}}, {&made, {}}, {&made, {}}, {&made, {}}};
    {
        BlockingCalls calls(scheduler, CallOptions(1 + Random(2)));
        Counter counter;
        auto submit = [&](TaskScheduler *) {
            own[0].Submit(calls, &counter);
            own[1].Submit(calls, nullptr);
        };
        HostThread host([&] { own[2].Submit(calls, nullptr); });
        host.Start();
        const Task task = MakeTask(submit);
        scheduler.AddTasksAndWait(1, &task);
        host.Join();
        own[3].Submit(calls, nullptr);
        if (Random(2) != 0) Linger(Random(200));
        scheduler.WaitForCounter(&counter);
        Check(made >= 1, "the counter was lowered before the call was made");
    }
    Check(made == 4, "a call was lost");
    scheduler.Stop();
}

// The end in a task: its fiber waits for what is under way, while the only worker runs what that
// waits for.
void EndInTask() {
    bool computed = false;
    RunMain(WaitingOptions(1), [&](TaskScheduler *scheduler) {
        std::optional<BlockingCalls> calls;
        calls.emplace(*scheduler, CallOptions(2));
        auto await = [&] {
            while (!computed) weft::env::Pause();
        };
        BlockingCall one = MakeBlockingCall(await), other = MakeBlockingCall(await);
        calls->Submit(one);
        if (Random(2) != 0) calls->Submit(other);
        auto compute = [&](TaskScheduler *) { computed = true; };
        Counter counter;
        scheduler->AddTask(MakeTask(compute), &counter);
        calls.reset();
        Check(computed, "the end did not wait for the calls");
        scheduler->WaitForCounter(&counter);
    });
}

// No workers: the attached thread waits for a call and runs tasks meanwhile.
void WithoutWorkers() {
    bool computed = false;
    TaskScheduler scheduler(WaitingOptions(0));
    Check(scheduler.Start() == Status::Ok && scheduler.AttachThread() == Status::Ok,
          "Start failed");
    {
        BlockingCalls calls(scheduler, CallOptions(1));
        auto compute = [&](TaskScheduler *) { computed = true; };
        auto call = [&](TaskScheduler *) { calls.Run([] { Linger(Random(8)); }); };
        Counter counter;
        scheduler.AddTask(MakeTask(call), &counter);
        scheduler.AddTask(MakeTask(compute), &counter);
        calls.Run([&] {
            while (!computed) weft::env::Pause();
        });
        scheduler.WaitForCounter(&counter);
    }
    scheduler.DetachThread();
    scheduler.Stop();
}

// Hooks make calls: before the run begins, while workers are about to sleep, and when the run is
// over.
void FromHooks() {
    struct Shared {
        BlockingCalls *calls;
        uint32_t made, asked;
        void Ask() {
            if (asked == 6) return;
            ++asked;
            Cell question;
            question.Set(asked);
            const uint32_t answer = calls->Run([&] {
                Check(!OnWorker(), "a worker makes the call");
                ++made;
                return question.Get();
            });
            Check(answer == question.Get(), "the answer to another question");
        }
    };
    static Shared s_shared;
    SchedulerOptions options = WaitingOptions(2);
    options.onReport = [](const Report &report, void *) {
        if (report.code != ReportCode::InHook) Fail(report.what);
    };
    options.threads.onStart = options.threads.onStop = [](uint32_t, void *) { s_shared.Ask(); };
    options.trace.park = options.trace.unpark = [](const TraceEvent &, void *) { s_shared.Ask(); };
    TaskScheduler scheduler(options);
    BlockingCalls calls(scheduler, CallOptions(1 + Random(2)));
    s_shared = {&calls, 0, 0};
    auto call = [&](TaskScheduler *) { calls.Run([] { Linger(Random(8)); }); };
    const Task task = MakeTask(call);
    Check(scheduler.Run(task.function, task.arg) == Status::Ok, "Run failed");
    Check(s_shared.asked >= 2 && s_shared.made == s_shared.asked, "a call was lost");
}

}  // namespace

std::vector<Model> BlockingModels() {
    return {
        {"call_answers", "tasks make blocking calls and get their answers", Answers},
        {"call_meet", "as many calls as there may be threads wait for each other", CallsMeet},
        {"call_again", "the same while threads of the round before end each other", CallsMeetAgain},
        {"call_worker", "the only worker runs a task that a call waits for", WorkerGoesOn},
        {"call_refused", "threads for calls that the system refuses", Refused},
        {"call_submitted", "calls that nobody waits for, and the end meanwhile", Submitted},
        {"call_end", "the end in a task, on the only worker", EndInTask},
        {"call_single", "calls without a worker, by an attached thread", WithoutWorkers},
        {"call_hooks", "hooks make calls, also before the run and after it", FromHooks},
    };
}

}  // namespace simulator
