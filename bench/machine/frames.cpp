// Runs described frames on the machine in virtual time.
#include "frame/description.h"
#include "frame/ideal.h"
#include "machine/greedy.h"
#include "machine/runs.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace machine {

namespace {

constexpr uint32_t kFrames = 21, kWarmUp = 2;

void ExitIf(const frame::Problem &problem) {
    if (problem.empty()) return;
    std::fprintf(stderr, "machine: %s\n", problem.c_str());
    std::exit(1);
}

frame::Frame Read(const char *file) {
    frame::Frame frame;
    ExitIf(frame::ReadFile(file, 1, &frame));
    return frame;
}

}  // namespace

double Mean(const std::vector<double> &values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

FrameResult MeasureFrames(const Costs &costs, uint32_t workers, bool hooks, const char *file) {
    frame::Frame frame = Read(file);
    const frame::RunOptions options{workers, kFrames, kWarmUp, hooks};
    FrameResult result;
    Counts counts;
    Run(costs, [&] {
        result.report = frame::RunFrames(frame, options);
        counts = Total();
    });
    ExitIf(result.report.problem);
    const double tasks = (kFrames + kWarmUp) * result.report.tasks * (hooks ? 2.0 : 1.0);
    result.operations = static_cast<double>(counts.operations) / tasks;
    result.transfers = static_cast<double>(counts.transfers) / tasks;
    return result;
}

double GreedyRatio(uint32_t workers, const char *file) {
    frame::Frame frame = Read(file);
    std::vector<double> ratios;
    for (uint32_t i = kWarmUp; i < kWarmUp + kFrames; ++i) {
        frame.prepare(frame, i);
        const double ideal = frame::IdealNs(frame.stages, frame::KnownWork(frame.stages), workers);
        ratios.push_back(GreedyNs(frame.stages, workers) / ideal);
    }
    return Mean(ratios);
}

void PrintFrames(const char *file, uint32_t workers, double transfer) {
    Costs costs;
    costs.transfer = transfer;
    frame::Print(MeasureFrames(costs, workers, true, file).report);
    std::printf("a greedy scheduler that costs nothing: frame / ideal %.3f\n",
                GreedyRatio(workers, file));
}

}  // namespace machine
