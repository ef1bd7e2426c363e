#include "machine/runs.h"

#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdio>

namespace machine {

using namespace weft;

namespace {

struct Point {
    double efficiency;  ///< ideal time / time
    double operations;  ///< each task
    double transfers;
};

struct Shape {
    std::string name;
    std::function<Point(const Costs &, uint32_t workers)> measure;
};

void Compute(TaskScheduler *, void *nanoseconds) { Work(*static_cast<double *>(nanoseconds)); }

// One batch of equal tasks, when it runs for the third time.
Point MeasureBatch(const Costs &costs, uint32_t workers, uint32_t count, double nanoseconds) {
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

Shape PerWorker(const char *name, double nanoseconds) {
    return {name, [=](const Costs &costs, uint32_t workers) {
                return MeasureBatch(costs, workers, 128 * workers, nanoseconds);
            }};
}

Shape InAll(const char *name, uint32_t count, double nanoseconds) {
    return {name,
            [=](const Costs &costs, uint32_t workers) { return MeasureBatch(costs, workers, count, nanoseconds); }};
}

// The median of its frames; and the same if scheduling costs nothing.
Shape OfFrame(const char *file) {
    return {"frame", [=](const Costs &costs, uint32_t workers) {
                const FrameResult result = MeasureFrames(costs, workers, false, file);
                return Point{1 / frame::Percentile(result.report.ratios, 50), result.operations, result.transfers};
            }};
}

Shape OfGreedy(const char *file) {
    return {"frame_greedy", [=](const Costs &, uint32_t workers) {
                return Point{1 / GreedyRatio(workers, file), 0, 0};
            }};
}

}  // namespace

void PrintCurves(bool quick, uint32_t only, const char *frameFile) {
    std::vector<Shape> shapes = {
        PerWorker("0.5us", 500),         PerWorker("2us", 2000),      PerWorker("10us", 10000),
        InAll("64_of_200us", 64, 200e3), InAll("16_of_1ms", 16, 1e6),
    };
    if (frameFile != nullptr) {
        shapes.push_back(OfFrame(frameFile));
        shapes.push_back(OfGreedy(frameFile));
    }
    std::printf("workload,transfer,workers,efficiency,operations_per_task,transfers_per_task\n");
    for (const Shape &shape : shapes) {
        for (double transfer : {40.0, 80.0, 160.0}) {
            if ((quick || only != 0) && transfer != 80) continue;
            for (uint32_t workers : {2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
                if ((quick && workers > 16) || (only != 0 && workers != only)) continue;
                Costs costs;
                costs.transfer = transfer;
                const Point point = shape.measure(costs, workers);
                std::printf("%s,%.0f,%u,%.3f,%.1f,%.1f\n", shape.name.c_str(), transfer, workers, point.efficiency,
                            point.operations, point.transfers);
                std::fflush(stdout);
            }
        }
    }
}

}  // namespace machine
