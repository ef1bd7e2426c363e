// Fits the costs of the model to measured results, and checks the fit on other rows.
#include "machine/runs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace machine {

namespace {

// Reads the medians of weft with one worker.
std::map<std::string, double> ReadResults(const char *file) {
    std::map<std::string, double> results;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        std::stringstream fields(line);
        std::string workload, system, workers, unit, median;
        std::getline(fields, workload, ',');
        std::getline(fields, system, ',');
        std::getline(fields, workers, ',');
        std::getline(fields, unit, ',');
        std::getline(fields, median, ',');
        if (system == "weft" && workers == "1" && unit == "ns")
            results[workload] = std::strtod(median.c_str(), nullptr);
    }
    return results;
}

// The cost of one task: measured, and in the model with its own costs.
struct Point {
    const char *workload;
    bool isFitted;
    double measured;
    double atomics;
};

std::vector<Point> MeasurePoints(const std::map<std::string, double> &measured) {
    std::vector<Point> points;
    const Costs costs;
    for (const Workload &workload : Workloads()) {
        const auto found = measured.find(workload.name);
        if (found == measured.end()) continue;
        const Counts counts = Measure(costs, 1, workload).counts;
        const double atomics = static_cast<double>(counts.operations) * costs.operation +
                               static_cast<double>(counts.updates) * costs.update;
        points.push_back({workload.name, workload.calibrates, found->second,
                          atomics / static_cast<double>(workload.tasks)});
    }
    return points;
}

struct Fit {
    double task;   // cost of a task without atomic operations, nanoseconds
    double scale;  // factor for the costs of the model

    double Of(const Point &point) const { return task + scale * point.atomics; }
    double ErrorOf(const Point &point) const { return Of(point) / point.measured - 1; }
};

// Minimises the squares of the relative errors.
Fit FitTo(const std::vector<Point> &points) {
    double tt = 0, ta = 0, aa = 0, t1 = 0, a1 = 0;
    for (const Point &point : points) {
        if (!point.isFitted) continue;
        const double t = 1 / point.measured, a = point.atomics / point.measured;
        tt += t * t;
        ta += t * a;
        aa += a * a;
        t1 += t;
        a1 += a;
    }
    const double determinant = tt * aa - ta * ta;
    return {(t1 * aa - a1 * ta) / determinant, (a1 * tt - t1 * ta) / determinant};
}

void PrintErrors(const char *which, const Fit &fit, const std::vector<Point> &points,
                 bool isFitted) {
    double sum = 0, worst = 0;
    uint32_t rows = 0;
    for (const Point &point : points) {
        if (point.isFitted != isFitted) continue;
        const double error = std::abs(fit.ErrorOf(point));
        sum += error;
        worst = std::max(worst, error);
        ++rows;
    }
    std::printf("%u rows %s: mean error %.0f%%, worst %.0f%%\n", rows, which,
                100 * sum / std::max(rows, 1u), 100 * worst);
}

}  // namespace

// With one worker no cache line moves, so only the costs of operations can be fitted. Each row has
// about ten operations for one read-modify-write. So the rows do not show the ratio of the two
// costs, and the fit keeps the ratio of the model.
bool Calibrate(const char *resultsFile) {
    const std::vector<Point> points = MeasurePoints(ReadResults(resultsFile));
    if (points.empty()) {
        std::fprintf(stderr, "machine: no rows of weft with one worker in %s\n", resultsFile);
        return false;
    }
    const Fit fit = FitTo(points);
    const Costs costs;
    std::printf("a task %.2f ns, an atomic operation %.2f ns, a read-modify-write %.2f ns more\n",
                fit.task, fit.scale * costs.operation, fit.scale * costs.update);
    std::printf("(the curves' model: 0, %.2f and %.2f)\n\n", costs.operation, costs.update);
    std::printf("%-22s %10s %10s %8s\n", "workload", "measured", "model", "error");
    for (const Point &point : points) {
        std::printf("%-22s %10.2f %10.2f %7.0f%%  %s\n", point.workload, point.measured,
                    fit.Of(point), 100 * fit.ErrorOf(point), point.isFitted ? "fitted" : "checked");
    }
    std::printf("\n");
    PrintErrors("fitted", fit, points, true);
    PrintErrors("checked", fit, points, false);
    return true;
}

}  // namespace machine
