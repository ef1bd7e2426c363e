#include "machine/runs.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace machine {

namespace {

// Medians of weft with one worker.
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

}  // namespace

// With one worker the model's cost of a task is operations * a + updates * b. Least squares of the relative errors.
bool Calibrate(const char *resultsFile) {
    const std::map<std::string, double> measured = ReadResults(resultsFile);
    if (measured.empty()) {
        std::fprintf(stderr, "machine: no rows of weft with one worker in %s\n", resultsFile);
        return false;
    }
    struct Point {
        Workload workload;
        double operations, updates, nanoseconds;
    };
    std::vector<Point> points;
    for (const Workload &workload : Workloads()) {
        const auto found = measured.find(workload.name);
        if (found == measured.end()) continue;
        const Counts counts = Measure(Costs(), 1, workload).counts;
        const double tasks = static_cast<double>(workload.tasks);
        points.push_back({workload, static_cast<double>(counts.operations) / tasks,
                          static_cast<double>(counts.updates) / tasks, found->second});
    }
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (const Point &point : points) {
        if (!point.workload.calibrates) continue;
        const double a = point.operations / point.nanoseconds, b = point.updates / point.nanoseconds;
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a1 += a;
        b1 += b;
    }
    const double determinant = aa * bb - ab * ab;
    const double operation = (a1 * bb - b1 * ab) / determinant, update = (b1 * aa - a1 * ab) / determinant;
    std::printf("operation %.2f ns, read-modify-write %.2f ns more\n\n", operation, update);
    std::printf("%-22s %10s %10s %8s\n", "workload", "measured", "model", "error");
    for (const Point &point : points) {
        const double model = point.operations * operation + point.updates * update;
        std::printf("%-22s %10.2f %10.2f %7.0f%%  %s\n", point.workload.name, point.nanoseconds, model,
                    100 * (model / point.nanoseconds - 1), point.workload.calibrates ? "fitted" : "checked");
    }
    return true;
}

}  // namespace machine
