// Models in which hardly any fiber is free, so that tasks run on fibers that wait for them
// (run/rescue.cpp).
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"

namespace simulator {

namespace {

// There are two fibers more than workers.
SchedulerOptions RescueOptions(uint32_t workers) {
    SchedulerOptions options = Options<ReportCode::OutOfFibers, ReportCode::Stalled>(workers, 1);
    options.maxAttached = 1;
    return options;
}

// Tasks that hold a fiber each.
class Holders {
public:
    // Returns when all of them have begun.
    void Begin(TaskScheduler *scheduler, uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) scheduler->AddTask(MakeTask(m_hold), &m_held);
        while (m_begun != count) scheduler->Yield();
    }
    void Release(TaskScheduler *scheduler) { scheduler->DecrementCounter(&m_gate); }
    void Wait(TaskScheduler *scheduler) { scheduler->WaitForCounter(&m_held); }

private:
    struct Hold {
        Holders *holders;
        void operator()(TaskScheduler *scheduler) const {
            ++holders->m_begun;
            scheduler->WaitForCounter(&holders->m_gate);
        }
    } m_hold{this};
    Counter m_gate{1}, m_held;
    uint32_t m_begun = 0;
};

// Tasks that wait for others hold all fibers. They must run the awaited tasks on their own fibers,
// whichever worker has taken these tasks.
void RescueWaits() {
    Counters counters;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto parent = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        if (Random(2) != 0) AddAndWait(scheduler, leaf, leaf);
        AddBatch(scheduler, Random(2) + 1, leaf, counter);
        scheduler->AddTask(MakeTask(leaf), counter);
        WaitAndKill(scheduler, counter);
        ++done;
    };
    const uint32_t workers = 1 + Random(3), parents = workers + Random(3);
    RunCounted(RescueOptions(workers), [&](TaskScheduler *scheduler, Counter *counter) {
        AddBatch(scheduler, parents, parent, counter);
    });
    Check(done >= 3 * parents, "a task was lost");
}

// Tasks that wait for a Low task hold all fibers. The Low task must run on one of these, and only
// on a worker that may run Low tasks, also after a yield.
void RescueLimited() {
    uint32_t done = 0;
    SchedulerOptions options = RescueOptions(2);
    test::LimitLow(options, 1);
    auto leaf = [&](TaskScheduler *scheduler) {
        Check(scheduler->CurrentWorker() == 0, "a Low task began in a group that runs none");
        scheduler->Yield();
        Check(scheduler->CurrentWorker() == 0, "a Low task continued in a group that runs none");
        ++done;
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter counter, waiters;
        auto waits = [&](TaskScheduler *waiter) { waiter->WaitForCounter(&counter); };
        scheduler->AddTask(MakeTask(leaf), &counter, Of(Priority::Low));
        AddEach(scheduler, &waiters, waits, waits, waits, waits);
        scheduler->WaitForCounter(&waiters);
        scheduler->WaitForCounter(&counter);
    });
    Check(done == 1, "a task was lost");
}

// No fiber is free for a task, and a rescuer looks for a waiter of its counter. Meanwhile another
// thread sorts the counter's list, for a waiter for a value above zero, or because a WaitForAny
// ends. The task must not be lost.
void RescueSorted() {
    const bool any = Random(2) != 0;
    Counters counters;
    Holders holders;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    const uint32_t workers = 2 + Random(2);
    RunMain(RescueOptions(workers), [&](TaskScheduler *scheduler) {
        holders.Begin(scheduler, workers);
        Counter *counter = counters.New(), *other = counters.New(), *eager = counters.New();
        Counter *const both[2] = {counter, other};
        auto waiter = [&](TaskScheduler *running) {
            if (any) return static_cast<void>(running->WaitForAny(2, both));
            running->WaitForCounter(counter, 2);
        };
        scheduler->AddTask(MakeTask(leaf), counter);
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(MakeTask(leaf), any ? other : counter);
        scheduler->AddTask(MakeTask(waiter), eager);
        scheduler->WaitForCounter(counter);
        scheduler->WaitForCounter(eager);
        scheduler->WaitForCounter(other);
        Counters::Kill(counter);
        holders.Release(scheduler);
        holders.Wait(scheduler);
    });
    Check(done == 3, "a task was lost");
}

// Options of tasks that exclude each other: Low tasks that only one worker may run, or tasks that
// are pinned to worker 0.
TaskOptions Late(bool low) { return low ? Of(Priority::Low) : PinnedTo(0); }

// A task waits for another one, for which no fiber is free. The waiter cannot resume before that
// task has run, because its worker (or the only worker for Low tasks) runs a task that polls for
// it. Then a fiber becomes free. The awaited task must run on it.
void RescuerStays() {
    const bool low = Random(2) != 0;
    SchedulerOptions options = RescueOptions(2);
    test::LimitLow(options, low);
    TaskScheduler scheduler(options);
    Holders holders;
    Counter counter, others;
    weft::env::Atomic<bool> ran{false};
    auto leaf = [&](TaskScheduler *) { ran.store(true, std::memory_order_release); };
    auto polls = [&](TaskScheduler *) {
        while (!ran.load(std::memory_order_acquire)) weft::env::Pause();
    };
    HostThread host([&] {
        Dawdle(600);
        holders.Release(&scheduler);
    });
    auto waiter = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(polls), &others, Late(low));
        running->AddTask(MakeTask(leaf), &counter);
        Dawdle(200);
        running->WaitForCounter(&counter);
    };
    RunMain(scheduler, [&](TaskScheduler *running) {
        holders.Begin(running, 2);
        host.Start();
        running->AddTask(MakeTask(waiter), &others, Late(low));
        running->WaitForCounter(&others);
        holders.Wait(running);
    });
    host.Join();
}

// Two tasks wait for the same task, for which no fiber is free. The first waiter cannot resume
// before that task has run, as in RescuerStays. The second waiter must run it.
void RescueByTheOther() {
    const bool low = Random(2) != 0;
    SchedulerOptions options = RescueOptions(2);
    test::LimitLow(options, low);
    Counter began(2), counter(1), others;
    weft::env::Atomic<bool> ran{false};
    auto leaf = [&](TaskScheduler *) { ran.store(true, std::memory_order_release); };
    auto waiter = [&](TaskScheduler *running) {
        running->DecrementCounter(&began);
        running->WaitForCounter(&counter);
    };
    auto polls = [&](TaskScheduler *) {
        while (!ran.load(std::memory_order_acquire)) weft::env::Pause();
    };
    RunMain(options, [&](TaskScheduler *running) {
        running->AddTask(MakeTask(waiter), &others, Late(low));
        running->AddTask(MakeTask(waiter), &others);
        running->WaitForCounter(&began);
        Dawdle(300);
        running->AddTask(MakeTask(polls), &others, Late(low));
        running->AddTask(MakeTask(leaf), &counter);
        running->DecrementCounter(&counter);
        running->WaitForCounter(&others);
    });
}

}  // namespace

std::vector<Model> RescueModels() {
    return {
        {"rescue_waits", "tasks that wait for others hold all fibers", RescueWaits},
        {"rescue_limited", "a waiter runs a Low task, but only on the worker for Low tasks",
         RescueLimited},
        {"rescue_sorted", "a task is set aside while its waiters are sorted", RescueSorted},
        {"rescue_pinned",
         "a waiter is pinned to a worker that polls for the awaited task, or Low like the poll",
         RescuerStays},
        {"rescue_two", "the same with two waiters for the task", RescueByTheOther},
    };
}

}  // namespace simulator
