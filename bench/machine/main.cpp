// Prints figures of weft on a machine in virtual time (machine.h). `machine --help` prints the
// commands.
#include "machine/runs.h"
#include "machine/what_if/commands.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace machine {
namespace {

const char *OrNull(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

int Main(int count, char **arguments) {
    std::string table, frame, results;
    uint32_t workers = 0;
    bool quick = false;
    double transfer = Costs().transfer, budget = 0;
    std::vector<std::string> frameFiles;
    std::string recording, json;
    WhatIfOptions whatIfOptions;

    CLI::App app("Runs weft on a machine in virtual time, with up to 128 cores.");
    app.require_subcommand(1);
    const auto addCommand = [&](const char *name, const char *what) {
        return app.add_subcommand(name, what);
    };

    CLI::App *const counts = addCommand(
        "counts", "what a task costs on one core and on two, in operations that every machine has");
    counts->add_option("--check", table,
                       "compare with this table, printed before; the counts do not depend on the "
                       "machine, so fail if one differs");

    CLI::App *const curves =
        addCommand("curves", "efficiency on 2 to 128 cores, for three costs of a transfer");
    CLI::Option *const isQuick = curves->add_flag("--quick", quick, "up to 16 cores, one cost");
    curves->add_option("--workers", workers, "for so many cores, one cost")->excludes(isQuick);
    curves->add_option("--frame", frame, "a described frame, too");

    CLI::App *const layouts = addCommand(
        "layouts", "the same on 16 cores in two cache domains, and on fast and slow cores");
    layouts->add_option("FRAME", frame, "a described frame, too");

    CLI::App *const wakeUps = addCommand(
        "wake-ups", "the time until many workers are awake; the unit is the time of one wake-up");
    CLI::App *const bounds =
        addCommand("bounds", "checks limits on many cores; fails if one is not met");

    CLI::App *const frames = addCommand("frame", "what frame_bench prints of a described frame");
    frames->add_option("FRAME", frame, "file that describes the frame")->required();
    frames->add_option("WORKERS", workers, "number of cores")
        ->required()
        ->check(CLI::Range(1, 1024));
    frames->add_option("TRANSFER", transfer, "nanoseconds for a transfer of a cache line")
        ->capture_default_str();
    frames->add_option("--record", recording, "write a recording of the frames to this file");

    CLI::App *const calibrate = addCommand(
        "calibrate", "fits the model's costs to measured results, and checks them on other rows");
    calibrate->add_option("RESULTS", results, "results of bench/run.sh (CSV)")->required();

    CLI::App *const whatIf = addCommand(
        "what-if", "runs frames of a recording again, with faster tasks, more workers and so on");
    whatIf->add_option("RECORDING", recording, "file that weft::Recorder has written")->required();
    whatIf->add_option("--budget", budget, "milliseconds: only longer frames count as slow")
        ->check(CLI::Range(0.0, 1e9));
    whatIf->add_option("--orders", whatIfOptions.orders, "so many runs, each in another order")
        ->check(CLI::Range(2, 1000))
        ->capture_default_str();
    whatIf->add_option("--names", whatIfOptions.names, "so many names of tasks are changed")
        ->capture_default_str();
    whatIf->add_option("--json", json, "write the table to this file, for weft_trace --what-if");

    CLI::App *const checkWhatIf = addCommand(
        "check-what-if", "compares what what-if says with the truth; fails if it is 5 % off");
    checkWhatIf->add_option("FRAMES", frameFiles, "files that describe frames");
    checkWhatIf->add_option("--workers", workers, "number of cores (8)")->check(CLI::Range(1, 60));

    CLI11_PARSE(app, count, arguments);

    if (*counts) return PrintCounts(OrNull(table)) ? 0 : 1;
    if (*bounds) return PrintBounds() ? 0 : 1;
    if (*calibrate) return Calibrate(results.c_str()) ? 0 : 1;
    whatIfOptions.budgetNs = budget * 1e6;
    if (*whatIf) return PrintWhatIf(recording, json, whatIfOptions) ? 0 : 1;
    if (*checkWhatIf) return CheckPredictions(frameFiles, workers == 0 ? 8 : workers) ? 0 : 1;
    if (*curves) PrintCurves(quick, workers, OrNull(frame));
    if (*layouts) PrintLayouts(OrNull(frame));
    if (*wakeUps) PrintWakeUps();
    if (*frames) PrintFrames(frame.c_str(), workers, transfer);
    if (*frames && !recording.empty()) return RecordFile(frame, workers, recording) ? 0 : 1;
    return 0;
}

}  // namespace
}  // namespace machine

int main(int argc, char **argv) { return machine::Main(argc, argv); }
