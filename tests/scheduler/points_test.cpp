// Scheduling points of tasks that poll, while something restricts what their worker may run.
#include "support/quiet_run.h"

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Polls until the counter is zero, but not for ever. Returns false in that case.
bool PollUntilZero(TaskScheduler &scheduler, Counter &counter) {
    for (uint32_t calls = 0; calls < 20'000'000; ++calls) {
        if (scheduler.PollCounter(&counter)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("points: in a wait with OwnTasks, a task that polls lets the other tasks run",
          "[points][own_tasks]") {
    bool isZero = false;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter gate(1), counter;
        test::Batch tasks(2, [&](TaskScheduler &running, uint32_t i) {
            if (i == 0)
                isZero = PollUntilZero(running, gate);
            else
                running.DecrementCounter(&gate);
        });
        scheduler.AddTasks(2, tasks.Tasks(), &counter);
        scheduler.WaitForCounter(&counter, Meanwhile::OwnTasks);
    });
    CHECK(isZero);
}

TEST_CASE("points: a pinned task that polls lets the caller of RunPinnedTasks go on",
          "[points][pump]") {
    bool isZero = false;
    test::RunQuietly(test::Options(1), [&](TaskScheduler &scheduler) {
        Counter gate(1), counter;
        test::Batch polls(
            1, [&](TaskScheduler &running, uint32_t) { isZero = PollUntilZero(running, gate); });
        scheduler.AddTask(polls[0], &counter, {Priority::Normal, 0});
        scheduler.RunPinnedTasks(1);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
    });
    CHECK(isZero);
}
