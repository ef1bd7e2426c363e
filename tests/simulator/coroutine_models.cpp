// Models of coroutines. The coroutines need C++20. Without it this file provides no models.
#include "simulator/model_support.h"
#include "simulator/models.h"

#if defined(__cpp_impl_coroutine)

#include "weft/coroutine.h"

#include <chrono>

namespace simulator {

namespace {

struct Shared {
    Shared(TaskScheduler &scheduler, Counter *lowered, Counter *lastLowered)
        : counter(lowered), last(lastLowered), event(scheduler) {}
    Counter *counter, *last;
    Event event;
    uint32_t passed = 0, ended = 0, returned = 0;
};

Coroutine<uint32_t> AfterEvent(Shared &shared) {
    co_await shared.event;
    Check(shared.event.IsSet(), "a coroutine continued before its event");
    co_return ++shared.passed;
}

Coroutine<> Visit(Shared &shared, uint32_t value) {
    shared.returned += co_await AfterEvent(shared) != 0;
    co_await Until{*shared.counter, value};
    Check(shared.counter->Value() <= value, "a coroutine continued before its counter was reached");
    const Clock::time_point limit = Now() + std::chrono::microseconds(Random(300));
    const bool isReached = co_await UntilDeadline{*shared.last, limit};
    Check(isReached || Now() >= limit, "a wait with a deadline ended before both");
    Check(!isReached || shared.last->IsZero(), "a wait with a deadline was told too early");
    const Clock::time_point end = Now() + std::chrono::microseconds(Random(300));
    co_await end;
    Check(Now() >= end, "a coroutine continued before its deadline");
    ++shared.ended;
}

// Coroutines wait for an event, a counter and a time. A task sets the event, the task and an
// external thread lower the counter. Each coroutine must resume after what it waits for, and must
// end exactly once.
void Coroutines() {
    constexpr uint32_t kCount = 3;
    Counters counters;
    Counter *counter = counters.New(2), *last = counters.New(1);
    // all coroutines may wait for the external thread
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(2), 3 + Random(2)));
    Shared shared(scheduler, counter, last);
    HostThread thread([&] {
        scheduler.DecrementCounter(counter);
        scheduler.DecrementCounter(last);
    });
    auto set = [&](TaskScheduler *running) {
        shared.event.Set();
        running->DecrementCounter(counter);
    };
    Counter done;
    for (uint32_t i = 0; i < kCount; ++i) StartCoroutine(scheduler, Visit(shared, i % 2), &done);
    thread.Start();
    scheduler.AddTask(MakeTask(set));
    thread.Join();
    if (Random(2) != 0) scheduler.WaitForCounter(&done);
    scheduler.Stop();
    Check(done.IsZero() && shared.ended == kCount && shared.passed == kCount &&
              shared.returned == kCount,
          "a coroutine did not end, or ended twice");
    for (Counter *each : {counter, last}) Counters::Kill(each);
}

Coroutine<> Home(TaskScheduler &scheduler, uint32_t worker, Counter &counter, uint32_t &ended) {
    co_await std::chrono::microseconds(Random(300));
    co_await counter;
    Check(scheduler.CurrentWorker() == worker, "a pinned coroutine continued on another thread");
    ++ended;
}

// A thread detaches while coroutines that are pinned to it have not begun or are waiting. All of
// them must end on this thread before DetachThread returns.
void CoroutineDetach() {
    Counters counters;
    Counter *counter = counters.New(1);
    // the coroutines may wait for a task that is not submitted yet
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1, 4));
    uint32_t ended = 0;
    Counter done;
    HostThread host([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        const TaskOptions here = PinnedTo(scheduler.CurrentWorker());
        for (int i = 0; i < 2; ++i)
            StartCoroutine(scheduler, Home(scheduler, here.worker, *counter, ended), &done, here);
        if (Random(2) != 0) scheduler.Yield();
        scheduler.DetachThread();
        Check(ended == 2 && done.IsZero(),
              "the thread detached before a coroutine had ended there");
    });
    auto lower = [&](TaskScheduler *running) { running->DecrementCounter(counter); };
    host.Start();
    scheduler.AddTask(MakeTask(lower));
    host.Join();
    scheduler.Stop();
    Counters::Kill(counter);
}

}  // namespace

std::vector<Model> CoroutineModels() {
    return {{"coroutines", "coroutines that wait for an event, a counter and a time", Coroutines},
            {"coroutine_detach", "coroutines on a thread that detaches", CoroutineDetach}};
}

}  // namespace simulator

#else

namespace simulator {
std::vector<Model> CoroutineModels() { return {}; }
}  // namespace simulator

#endif
