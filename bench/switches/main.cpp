// The time of a switch and of a task on one thread, in nanoseconds: natively, and in a browser's
// engine (tests/emscripten.sh --bench). Prints one line for each row: name, median of the rounds.
#include "weft/task_scheduler.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kRounds = 9;
constexpr uint32_t kTasks = 64;
constexpr uint32_t kYields = 200;

uint32_t s_depth;
volatile uint32_t s_sink;

// Yields below `depth` frames. Asyncify stores each of them.
void YieldBelow(weft::TaskScheduler &scheduler, uint32_t depth) {
    if (depth != 0) {
        YieldBelow(scheduler, depth - 1);
        s_sink = depth;
        return;
    }
    for (uint32_t i = 0; i < kYields; ++i) scheduler.Yield();
}

void Yields(weft::TaskScheduler *scheduler, void *) { YieldBelow(*scheduler, s_depth); }
void Empty(weft::TaskScheduler *, void *) { s_sink = 1; }

// Returns the nanoseconds of each of `count` parts of a batch of tasks.
double Measure(weft::TaskScheduler &scheduler, weft::TaskFunction function, uint32_t tasks,
               uint32_t count) {
    const std::vector<weft::Task> batch(tasks, weft::Task{function, nullptr});
    const Clock::time_point begin = Clock::now();
    scheduler.AddTasksAndWait(tasks, batch.data());
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / count;
}

double Median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

}  // namespace

int main() {
    weft::SchedulerOptions options;
    options.workers = 0;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) std::exit(1);
    if (scheduler.AttachThread() != weft::Status::Ok) std::exit(1);
    std::vector<double> shallow, deep, empty;
    for (uint32_t round = 0; round < kRounds + 1; ++round) {
        s_depth = 0;
        shallow.push_back(Measure(scheduler, Yields, kTasks, kTasks * kYields));
        s_depth = 10;
        deep.push_back(Measure(scheduler, Yields, kTasks, kTasks * kYields));
        empty.push_back(Measure(scheduler, Empty, 10000, 10000));
        // the first round warms up
        if (round == 0) shallow.clear(), deep.clear(), empty.clear();
    }
    scheduler.DetachThread();
    scheduler.Stop();
    std::printf("yield %.1f\n", Median(shallow));
    std::printf("yield_below_10_frames %.1f\n", Median(deep));
    std::printf("empty_task %.1f\n", Median(empty));
    std::exit(0);
}
