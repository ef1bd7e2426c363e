// Runs a described frame on weft many times, and reports how well weft scheduled it.
#include "frame/description.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace frame {
namespace {

constexpr int kFailed = 1, kBadInput = 2;
constexpr size_t kRecorderBytes = 64 << 20;

struct Options {
    std::string file, csv, plot, record;
    uint64_t seed = 1;
    RunOptions run;
};

void AddOptions(CLI::App &app, Options &options) {
    app.add_option("FRAME", options.file, "file that describes the frame")->required();
    app.add_option("--workers", options.run.workers, "threads that run tasks; one for each CPU")
        ->check(CLI::Range(1, 1024));
    app.add_option("--frames", options.run.frames, "frames that count")
        ->check(CLI::Range(1, 9999999))
        ->capture_default_str();
    app.add_option("--warm-up", options.run.warmUp, "frames before these")
        ->check(CLI::Range(0, 9999999))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "for the durations of the tasks")->capture_default_str();
    app.add_option("--csv", options.csv, "write percentiles of frame / ideal to this file");
    app.add_option("--record", options.record,
                   "write a recording of the last frames to this file, for weft_trace");
    app.add_option("--plot", options.plot, "write a plot of all frames to this file (SVG)");
}

int Complain(const Problem &problem, int code) {
    std::fprintf(stderr, "frame_bench: %s\n", problem.c_str());
    return code;
}

int Main(int count, char **arguments) {
    Options options;
    CLI::App app(
        "Runs a described frame on weft again and again, and says how well it was scheduled.");
    AddOptions(app, options);
    CLI11_PARSE(app, count, arguments);

    Frame frame;
    Problem problem = ReadFile(options.file, options.seed, &frame);
    if (!problem.empty()) return Complain(problem, kBadInput);

    std::vector<unsigned char> memory(options.record.empty() ? 0 : kRecorderBytes);
    weft::Recorder recorder(memory.data(), memory.size());
    if (!options.record.empty()) options.run.recorder = &recorder;
    const Report report = RunFrames(frame, options.run);
    if (!report.problem.empty()) return Complain(report.problem, kFailed);
    Print(report);
    if (!options.record.empty() && !recorder.WriteFile(options.record.c_str()))
        return Complain(options.record + ": cannot be written", kFailed);
    if (!options.csv.empty()) problem = WriteCsv(report, options.csv);
    if (problem.empty() && !options.plot.empty()) problem = Plot(report, options.plot);
    return problem.empty() ? 0 : Complain(problem, kFailed);
}

}  // namespace
}  // namespace frame

int main(int count, char **arguments) { return frame::Main(count, arguments); }
