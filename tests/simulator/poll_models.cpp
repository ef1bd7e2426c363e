// Models of PollUntil: how late it returns, how often it asks, and its deadline. Time is virtual.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/poll.h"

#include <chrono>

namespace simulator {

namespace {

using std::chrono::microseconds;

// A condition that is true from a point in time on, and what the asks for it cost.
struct Fence {
    uint64_t begun = weft::env::Now();
    uint64_t signalled = 0;  // ns of env::Now()
    uint32_t asks = 0;

    bool IsSignalled() {
        ++asks;
        return weft::env::Now() >= signalled;
    }
    // No ask comes before the interval has passed, except the first one and the one at the
    // deadline.
    void CheckAsks(uint64_t interval) const {
        Check(asks <= (weft::env::Now() - begun) / interval + 2, "it asked too often");
    }
};

// Tasks of 100 us keep all workers busy while a High task polls. The promise of the header: the
// interval, plus the lateness of timed waits (100 us and the longest task), plus the ask.
void PollInTime() {
    const SchedulerOptions options = FairOptions(1 + Random(2));
    const uint32_t count = Random(3) == 0 ? 0 : 20 + Random(60);
    const uint64_t interval = 20 + Random(400);
    uint64_t late = ~uint64_t{0};
    auto busy = [&](TaskScheduler *) { Compute(100); };
    auto poll = [&](TaskScheduler *running) {
        Fence fence;
        fence.signalled = fence.begun + Random(3000) * kUs;
        const bool isTrue = PollUntil(
            *running, [&] { return fence.IsSignalled(); }, microseconds(interval));
        late = weft::env::Now() - fence.signalled;
        Check(isTrue && weft::env::Now() >= fence.signalled, "it returned too early");
        fence.CheckAsks(interval * kUs);
    };
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTask(MakeTask(poll), counter, Of(Priority::High));
        if (count != 0) AddBatch(scheduler, count, busy, counter);
    });
    Check(late <= (interval + 100 + 100) * kUs,
          "it returned later than the interval, the longest task and 100 microseconds");
}

// Several tasks and an external thread poll until a deadline. Each must return once, for a reason
// that holds, and not ask more often than the interval allows. All tasks may poll one condition.
void PollDeadline() {
    const SchedulerOptions options = FairOptions(1 + Random(2));
    uint32_t ended = 0;
    bool isSet = false;
    auto poll = [&](TaskScheduler *running) {
        static constexpr int64_t kIntervals[] = {-5, 0, 1, 30, 300};
        const int64_t interval = kIntervals[Random(5)];
        Fence fence;
        fence.signalled = Random(2) != 0 ? ~uint64_t{0} : fence.begun + Random(500) * kUs;
        const Clock::time_point deadline = Now() + microseconds(Random(500)) - microseconds(50);
        const bool isTrue = PollUntil(
            *running, [&] { return fence.IsSignalled() || isSet; }, microseconds(interval),
            deadline);
        ++ended;
        Check(isTrue ? isSet || weft::env::Now() >= fence.signalled : Now() >= deadline,
              "it returned for no reason");
        fence.CheckAsks((interval > 20 ? static_cast<uint64_t>(interval) : 20) * kUs);
    };
    StartedScheduler scheduler(options);
    RunningThread thread([&] { poll(&scheduler); });
    auto set = [&](TaskScheduler *running) {
        SleepFor(*running, microseconds(Random(500)));
        isSet = true;
    };
    const Task tasks[4] = {MakeTask(poll), MakeTask(poll), MakeTask(poll), MakeTask(set)};
    scheduler.AddTasks(4, tasks);
    thread.Join();
    scheduler.Stop();
    Check(ended == 4, "a wait ended twice or never");
}

}  // namespace

std::vector<Model> PollModels() {
    return {
        {"poll_in_time", "a task polls while all workers are busy", PollInTime},
        {"poll_deadline", "tasks and a thread poll until a deadline", PollDeadline, 2},
    };
}

}  // namespace simulator
