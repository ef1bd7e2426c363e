#include "machine/runs.h"

#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdio>

namespace machine {

using namespace weft;

namespace {

struct Shape {
    const char *name;
    uint32_t tasksPerWorker;  ///< 0: `tasks` in all
    uint32_t tasks;
    double nanoseconds;
};

void Compute(TaskScheduler *, void *nanoseconds) { Work(*static_cast<double *>(nanoseconds)); }

struct Point {
    double efficiency;  ///< work over workers times elapsed time, of the third repeat
    double operations;  ///< each task
    double transfers;
};

Point MeasurePoint(const Costs &costs, uint32_t workers, uint32_t count, double nanoseconds) {
    std::vector<Task> tasks(count, Task{Compute, &nanoseconds});
    double elapsed = 0;
    Counts counts;
    RunMain(costs, workers, [&](TaskScheduler *scheduler) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            const Counts before = Total();
            const double begin = Now();
            Counter counter;
            scheduler->AddTasks(count, tasks.data(), &counter);
            scheduler->WaitForCounter(&counter);
            elapsed = Now() - begin;
            counts = Total() - before;
        }
    });
    const double longest = std::max(nanoseconds, count * nanoseconds / workers);
    return {longest / elapsed, static_cast<double>(counts.operations) / count,
            static_cast<double>(counts.transfers) / count};
}

}  // namespace

void PrintCurves(bool quick, uint32_t only) {
    const Shape shapes[] = {
        {"0.5us", 128, 0, 500},        {"2us", 128, 0, 2000},     {"10us", 128, 0, 10000},
        {"64_of_200us", 0, 64, 200e3}, {"16_of_1ms", 0, 16, 1e6},
    };
    std::printf("workload,transfer,workers,efficiency,operations_per_task,transfers_per_task\n");
    for (const Shape &shape : shapes) {
        for (double transfer : {40.0, 80.0, 160.0}) {
            if ((quick || only != 0) && transfer != 80) continue;
            for (uint32_t workers : {2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
                if ((quick && workers > 16) || (only != 0 && workers != only)) continue;
                Costs costs;
                costs.transfer = transfer;
                const uint32_t count = shape.tasksPerWorker != 0 ? shape.tasksPerWorker * workers : shape.tasks;
                const Point point = MeasurePoint(costs, workers, count, shape.nanoseconds);
                std::printf("%s,%.0f,%u,%.3f,%.1f,%.1f\n", shape.name, transfer, workers, point.efficiency,
                            point.operations, point.transfers);
                std::fflush(stdout);
            }
        }
    }
}

}  // namespace machine
