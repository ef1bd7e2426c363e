// Prints the efficiency of batches and frames for numbers of cores and core layouts.
#include "machine/runs.h"

#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdio>

namespace machine {

using namespace weft;

namespace {

struct Point {
    double efficiency;  ///< ideal time / time
    double operations;  ///< for each task
    double transfers;
};

// The machine and the workers of the scheduler on it.
struct Place {
    Costs costs;
    uint32_t workers;
    uint32_t groups = 1;  // equal worker groups; each gets its share of the tasks
};

struct Shape {
    std::string name;
    std::function<Point(const Place &)> measure;
    bool isFrame = false;
};

void Compute(TaskScheduler *, void *nanoseconds) { Work(*static_cast<double *>(nanoseconds)); }

// Measures a batch of equal tasks in its third run.
Point MeasureBatch(const Place &place, uint32_t count, double nanoseconds) {
    std::vector<Task> tasks(count, Task{Compute, &nanoseconds});
    double elapsed = 0;
    Counts counts;
    const auto run = [&](TaskScheduler *scheduler) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            const Counts before = Total();
            const double begin = Now();
            Counter counter;
            for (uint32_t group = 0; group < place.groups; ++group) {
                TaskOptions options;
                if (place.groups != 1) options.group = static_cast<uint8_t>(group);
                scheduler->AddTasks(count / place.groups, tasks.data(), &counter, options);
            }
            scheduler->WaitForCounter(&counter);
            elapsed = Now() - begin;
            counts = Total() - before;
        }
    };
    RunMain(place.costs, place.workers, run, place.groups);
    const double longest =
        std::max(nanoseconds, count * nanoseconds / place.costs.Speed(place.workers));
    return {longest / elapsed, static_cast<double>(counts.operations) / count,
            static_cast<double>(counts.transfers) / count};
}

Shape PerWorker(const char *name, double nanoseconds) {
    return {name, [=](const Place &place) {
                return MeasureBatch(place, 128 * place.workers, nanoseconds);
            }};
}

Shape InAll(const char *name, uint32_t count, double nanoseconds) {
    return {name, [=](const Place &place) { return MeasureBatch(place, count, nanoseconds); }};
}

// Returns the shape of a described frame. Its efficiency is 1 / the mean of (frame time / ideal
// time). OfGreedy does the same for a scheduler that costs nothing.
Shape OfFrame(const char *file) {
    const auto measure = [=](const Place &place) {
        const FrameResult result = MeasureFrames(place.costs, place.workers, false, file);
        return Point{1 / Mean(result.report.ratios), result.operations, result.transfers};
    };
    return {"frame", measure, true};
}

Shape OfGreedy(const char *file) {
    return {"frame_greedy",
            [=](const Place &place) {
                return Point{1 / GreedyRatio(place.workers, file), 0, 0};
            },
            true};
}

std::vector<Shape> Shapes(const char *frameFile) {
    std::vector<Shape> shapes = {
        PerWorker("0.5us", 500),         PerWorker("2us", 2000),      PerWorker("10us", 10000),
        InAll("64_of_200us", 64, 200e3), InAll("16_of_1ms", 16, 1e6),
    };
    if (frameFile != nullptr) {
        shapes.push_back(OfFrame(frameFile));
        shapes.push_back(OfGreedy(frameFile));
    }
    return shapes;
}

// Prints the columns of a row after its name.
void PrintPoint(const Point &point) {
    std::printf("%.3f,%.1f,%.1f\n", point.efficiency, point.operations, point.transfers);
    std::fflush(stdout);
}

}  // namespace

// The median of several lengths and transfer costs, because a single result scatters by a tenth.
double BatchEfficiency(uint32_t workers, double nanoseconds) {
    std::vector<double> results;
    for (double length : {0.88, 0.94, 1.0, 1.06, 1.12}) {
        for (int change = -2; change <= 2; ++change) {
            Costs costs;
            costs.transfer += change;
            const Place place{costs, workers};
            results.push_back(PerWorker("", length * nanoseconds).measure(place).efficiency);
        }
    }
    std::sort(results.begin(), results.end());
    return results[results.size() / 2];
}

void PrintCurves(bool quick, uint32_t only, const char *frameFile) {
    std::printf("workload,transfer,workers,efficiency,operations_per_task,transfers_per_task\n");
    for (const Shape &shape : Shapes(frameFile)) {
        for (double transfer : {40.0, 80.0, 160.0}) {
            if ((quick || only != 0) && transfer != 80) continue;
            for (uint32_t workers : {2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
                if ((quick && workers > 16) || (only != 0 && workers != only)) continue;
                Costs costs;
                costs.transfer = transfer;
                std::printf("%s,%.0f,%u,", shape.name.c_str(), transfer, workers);
                PrintPoint(shape.measure({costs, workers}));
            }
        }
    }
}

void PrintLayouts(const char *frameFile) {
    Costs near, far, domains, slow;
    near.transfer = domains.transfer = slow.transfer = 40;
    far.transfer = domains.farTransfer;
    domains.domainCores = slow.firstSlow = 8;
    const std::pair<const char *, Place> layouts[] = {
        {"16 near", {near, 16}}, {"8+8", {domains, 16}},        {"8+8 groups", {domains, 16, 2}},
        {"16 far", {far, 16}},   {"8 fast+8 slow", {slow, 16}},
    };
    std::printf("workload,cores,efficiency,operations_per_task,transfers_per_task\n");
    for (const Shape &shape : Shapes(frameFile)) {
        for (const auto &[name, place] : layouts) {
            // The ideal time of a frame is known for equal cores only.
            if (shape.isFrame && (place.groups != 1 || place.costs.firstSlow < place.workers))
                continue;
            std::printf("%s,%s,", shape.name.c_str(), name);
            PrintPoint(shape.measure(place));
        }
    }
}

}  // namespace machine
