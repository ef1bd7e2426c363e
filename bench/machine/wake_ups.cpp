// Measures how long it takes until many sleeping workers are awake.
#include "machine/runs.h"

#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace machine {

using namespace weft;

namespace {

constexpr double kTaskNs = 400e3;  // so long that no worker runs two tasks

void Begin(TaskScheduler *, void *began) {
    *static_cast<double *>(began) = Now();
    Work(kTaskNs);
}

}  // namespace

// The submitting worker runs none of the tasks.
double WakeUpTimes(uint32_t sleepers, bool inOneCall) {
    const Costs costs;
    double last = 0;
    RunMain(costs, sleepers + 1, [&](TaskScheduler *scheduler) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            Work(2e6);  // meanwhile the others fall asleep
            std::vector<double> began(sleepers);
            std::vector<Task> tasks;
            for (double &each : began) tasks.push_back({Begin, &each});
            const double begin = Now();
            Counter counter;
            if (inOneCall) {
                scheduler->AddTasks(sleepers, tasks.data(), &counter);
            } else {
                for (const Task &task : tasks) scheduler->AddTask(task, &counter);
            }
            Work(kTaskNs);
            scheduler->WaitForCounter(&counter);
            last = *std::max_element(began.begin(), began.end()) - begin;
        }
    });
    return last / (costs.wake + costs.wakeUp);
}

void PrintWakeUps() {
    std::printf("submitted,sleepers,wake_up_times\n");
    for (const bool inOneCall : {true, false}) {
        for (const uint32_t sleepers : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 127u}) {
            std::printf("%s,%u,%.2f\n", inOneCall ? "in one call" : "one by one", sleepers,
                        WakeUpTimes(sleepers, inOneCall));
        }
    }
}

}  // namespace machine
