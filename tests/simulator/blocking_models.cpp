// Models of BlockingCalls: the threads that make blocking calls, how they are started, woken and
// ended, and how a task gets its answer.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/blocking/blocking_calls.h"

#include <optional>

namespace simulator {

namespace {

// There are enough fibers for all tasks to wait for calls at once, so any report is a failure.
SchedulerOptions WaitingOptions(uint32_t workers) { return Options(workers, 9); }

// The idle time is so short that in some schedules a thread ends at any possible place.
BlockingOptions CallOptions(uint32_t threads) {
    BlockingOptions options;
    options.maxThreads = threads;
    options.idleMicroseconds = Random(3) == 0 ? 0 : 1 + Random(200);
    return options;
}

bool OnWorker() { return TaskScheduler::Current() != nullptr; }

// Up to three tasks make a blocking call each, in two rounds. Each task must get the answer to its
// own question. In the second round threads may be asleep or may have ended. Shows lost calls and
// mixed-up answers.
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
                Linger(4);
                ++made;
                return question.Get() + 1;
            });
            Check(OnWorker() && answer == asked + 1, "a call returned another call's result");
            ++answered;
        };
        for (int round = 0; round < 2; ++round) {
            AddBatchAndWait(scheduler, 1 + Random(3), ask);
            Linger(100);
        }
        Check(made == answered, "a call was lost");
    });
    Check(made == answered, "a call was lost");
}

// As many calls as there may be threads wait for each other, in six rounds. All calls of a round
// are submitted in a row, while the threads of the previous round go to sleep or end because they
// are idle. No call may stay queued while a thread sleeps or another thread may be started. Shows a
// call that counts on a thread that is about to end.
void CallsMeetAgain() {
    constexpr uint32_t kTogether = 3;
    BlockingOptions options;
    options.maxThreads = kTogether;
    options.idleMicroseconds = 1;
    RunMain(WaitingOptions(1), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, options);
        for (int round = 0; round < 6; ++round) {
            Meeting gathering{kTogether};
            auto come = [&] {
                gathering.Come();
                Linger(12);
            };
            BlockingCall all[kTogether] = {MakeBlockingCall(come), MakeBlockingCall(come),
                                           MakeBlockingCall(come)};
            Counter counter;
            for (BlockingCall &call : all) calls.Submit(call, &counter);
            scheduler->WaitForCounter(&counter);
            Check(gathering.come == kTogether, "a call was lost");
            Linger(60);
        }
    });
}

// A blocking call waits for a task. The only worker must run this task while another task waits for
// the call. Otherwise the model ends in a deadlock.
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
        AddAndWait(scheduler, call, compute);
    });
}

// The system refuses to start some or all threads. Each call must still be made, some of them by
// workers. Later the system accepts threads again. Then as many calls as there may be threads must
// be able to run at once.
void Refused() {
    uint32_t made = 0;
    const uint32_t workers = 1 + Random(2), threads = 1 + Random(3);
    LimitThreads(workers - 1 + Random(3));
    RunMain(WaitingOptions(workers), [&](TaskScheduler *scheduler) {
        BlockingCalls calls(*scheduler, CallOptions(threads));
        auto ask = [&](TaskScheduler *) {
            calls.Run([&] {
                Linger(8);
                ++made;
            });
        };
        AddAndWait(scheduler, ask, ask, ask, ask);
        Check(made == 4, "a call was lost");

        LimitThreads(6);
        Meeting gathering{threads};
        auto come = [&](TaskScheduler *) { calls.Run([&] { gathering.Come(); }); };
        AddBatchAndWait(scheduler, threads, come);
    });
}

// A task and external threads submit calls without waiting for them. The calls outlive the task,
// and BlockingCalls is destroyed while some are still running. Each call object is marked dead as
// soon as its function has begun. Shows lost calls and accesses to a call that may be gone.
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
            Linger(8);
            ++*one.made;
        }
    };
    uint32_t made = 0;
    StartedScheduler scheduler(WaitingOptions(1));
    OneCall own[4] = {{&made, {}}, {&made, {}}, {&made, {}}, {&made, {}}};
    {
        BlockingCalls calls(scheduler, CallOptions(1 + Random(2)));
        Counter counter;
        auto submit = [&](TaskScheduler *) {
            own[0].Submit(calls, &counter);
            own[1].Submit(calls, nullptr);
        };
        RunningThread host([&] { own[2].Submit(calls, nullptr); });
        AddAndWait(&scheduler, submit);
        host.Join();
        own[3].Submit(calls, nullptr);
        if (Random(2) != 0) Linger(200);
        scheduler.WaitForCounter(&counter);
        Check(made >= 1, "the counter was lowered before the call was made");
    }
    Check(made == 4, "a call was lost");
    scheduler.Stop();
}

// A task destroys BlockingCalls on the only worker. Its fiber must wait for the calls that are
// running, while the worker runs the task for which these calls wait.
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
        Check(computed, "the destructor did not wait for the calls");
        scheduler->WaitForCounter(&counter);
    });
}

// There are no workers. The attached thread waits for a call and must run tasks meanwhile, because
// the call waits for one of them.
void WithoutWorkers() {
    bool computed = false;
    TaskScheduler scheduler(WaitingOptions(0));
    Check(scheduler.Start() == Status::Ok && scheduler.AttachThread() == Status::Ok,
          "Start failed");
    {
        BlockingCalls calls(scheduler, CallOptions(1));
        auto compute = [&](TaskScheduler *) { computed = true; };
        auto call = [&](TaskScheduler *) { calls.Run([] { Linger(8); }); };
        Counter counter;
        AddEach(&scheduler, &counter, call, compute);
        calls.Run([&] {
            while (!computed) weft::env::Pause();
        });
        scheduler.WaitForCounter(&counter);
    }
    scheduler.DetachThread();
    scheduler.Stop();
}

// Hooks make calls: before the run begins, when a worker goes to sleep or wakes another one, and
// after the run. Each call must be made once, and not by a worker.
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
            Check(answer == question.Get(), "a call returned another call's result");
        }
    };
    static Shared s_shared;
    SchedulerOptions options = Options<ReportCode::InHook>(2, 9);
    options.threads.onStart = options.threads.onStop = [](uint32_t, void *) { s_shared.Ask(); };
    options.trace.kinds = TraceHooks::Bit(TraceKind::Park) | TraceHooks::Bit(TraceKind::Unpark);
    options.trace.event = [](const TraceEvent &, void *) { s_shared.Ask(); };
    TaskScheduler scheduler(options);
    BlockingCalls calls(scheduler, CallOptions(1 + Random(2)));
    s_shared = {&calls, 0, 0};
    RunMain(scheduler, [&](TaskScheduler *) { calls.Run([] { Linger(8); }); });
    Check(s_shared.asked >= 2 && s_shared.made == s_shared.asked, "a call was lost");
}

}  // namespace

std::vector<Model> BlockingModels() {
    return {
        {"call_answers", "tasks make blocking calls and get their answers", Answers},
        {"call_again",
         "maxThreads calls wait for each other while threads of the previous round end",
         CallsMeetAgain},
        {"call_worker", "the only worker runs a task that a call waits for", WorkerGoesOn},
        {"call_refused", "the system refuses threads for calls", Refused},
        {"call_submitted", "calls without a waiter; the destructor runs meanwhile", Submitted},
        {"call_end", "the destructor runs in a task, on the only worker", EndInTask},
        {"call_single", "without workers, an attached thread makes calls", WithoutWorkers},
        {"call_hooks", "hooks make calls, also before the run and after it", FromHooks},
    };
}

}  // namespace simulator
