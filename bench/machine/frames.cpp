#include "frame/description.h"
#include "machine/runs.h"

#include <cstdio>
#include <cstdlib>

namespace machine {

namespace {

constexpr uint32_t kFrames = 7, kWarmUp = 2;

}  // namespace

FrameResult MeasureFrames(const Costs &costs, uint32_t workers, bool hooks, const char *file) {
    frame::Frame frame;
    FrameResult result;
    frame::Problem problem = frame::ReadFile(file, 1, &frame);
    const frame::RunOptions options{workers, kFrames, kWarmUp, hooks};
    if (problem.empty()) {
        Counts counts;
        Run(costs, [&] {
            result.report = frame::RunFrames(frame, options);
            counts = Total();
        });
        problem = result.report.problem;
        const double tasks = (kFrames + kWarmUp) * result.report.tasks * (hooks ? 2.0 : 1.0);
        result.operations = static_cast<double>(counts.operations) / tasks;
        result.transfers = static_cast<double>(counts.transfers) / tasks;
    }
    if (problem.empty()) return result;
    std::fprintf(stderr, "machine: %s\n", problem.c_str());
    std::exit(1);
}

void PrintFrames(const char *file, uint32_t workers, double transfer) {
    Costs costs;
    costs.transfer = transfer;
    frame::Print(MeasureFrames(costs, workers, true, file).report);
}

}  // namespace machine
