// Runs a described frame on weft again and again, and says how well it was scheduled.
//
//     frame_bench bench/frame/aaa.frame --workers 4 --plot aaa.svg
#include "frame/description.h"

#include <cstdio>
#include <cstdlib>

namespace frame {
namespace {

constexpr int kFailed = 1, kBadInput = 2;
constexpr const char *kUsage =
    "frame_bench FILE [--workers N] [--frames N] [--warm-up N] [--seed N] [--csv FILE] [--plot "
    "FILE.svg]\n";

struct Options {
    std::string file, csv, plot;
    uint64_t seed = 1;
    RunOptions run;
};

Problem ParseOptions(int count, char **arguments, Options *options) {
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        if (name.rfind("--", 0) != 0 && options->file.empty()) {
            options->file = name;
            continue;
        }
        const std::string value = i + 1 < count ? arguments[++i] : "";
        const bool isNumber = !value.empty() && value.size() < 8 &&
                              value.find_first_not_of("0123456789") == std::string::npos;
        const uint32_t number =
            isNumber ? static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10)) : 0;
        bool good = !value.empty();
        if (name == "--csv") {
            options->csv = value;
        } else if (name == "--plot") {
            options->plot = value;
        } else if (name == "--workers") {
            options->run.workers = number;
            good = number >= 1 && number <= 1024;
        } else if (name == "--frames") {
            options->run.frames = number;
            good = number >= 1;
        } else if (name == "--warm-up") {
            options->run.warmUp = number;
            good = isNumber;
        } else if (name == "--seed") {
            options->seed = number;
            good = isNumber;
        } else {
            good = false;
        }
        if (!good) return name + " " + value + ": unknown option or bad value\n" + kUsage;
    }
    return options->file.empty() ? std::string("which frame?\n") + kUsage : "";
}

int Complain(const Problem &problem, int code) {
    std::fprintf(stderr, "frame_bench: %s\n", problem.c_str());
    return code;
}

int Main(int count, char **arguments) {
    Options options;
    Frame frame;
    Problem problem = ParseOptions(count, arguments, &options);
    if (problem.empty()) problem = ReadFile(options.file, options.seed, &frame);
    if (!problem.empty()) return Complain(problem, kBadInput);

    const Report report = RunFrames(frame, options.run);
    if (!report.problem.empty()) return Complain(report.problem, kFailed);
    Print(report);
    if (!options.csv.empty()) problem = WriteCsv(report, options.csv);
    if (problem.empty() && !options.plot.empty()) problem = Plot(report, options.plot);
    return problem.empty() ? 0 : Complain(problem, kFailed);
}

}  // namespace
}  // namespace frame

int main(int count, char **arguments) { return frame::Main(count, arguments); }
