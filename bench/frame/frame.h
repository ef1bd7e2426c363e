// Runs a frame of dependent stages many times, and reports how well weft scheduled it.
//
//     // What the tasks point to must outlive the call. "draw" runs after stage 0.
//     std::vector<weft::Task> think = ..., draw = ...;
//     frame::Frame game{"game", {{"think", think, {}}, {"draw", draw, {0}}}, nullptr};
//     frame::Report report = frame::RunFrames(game, {});
//     if (!report.problem.empty()) return 1;
//     frame::Print(report);
//
// A complete program: bench/frame/example/main.cpp.
#pragma once

#include <weft/task_scheduler.h>
#include <weft/trace/recorder.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace frame {

/// A description of what is wrong; empty if nothing is.
using Problem = std::string;

/// A group of tasks. They may begin when all tasks of the stages in `after` have finished.
struct Stage {
    std::string name;
    std::vector<weft::Task> tasks;  ///< at least one; each runs once a frame
    std::vector<uint32_t> after;    ///< indices of earlier stages in Frame::stages
    weft::Priority priority = weft::Priority::Normal;
    /// The duration of each task in this frame; empty if it is not known in advance
    std::vector<double> nanoseconds = {};
};

/// The largest number of stages. Each stage holds a fiber while it waits for others.
inline constexpr uint32_t kMaxStages = 64;

struct Frame {
    std::string name;
    std::vector<Stage> stages;  ///< 1 to kMaxStages
    /// Called before each frame with its number, from 0. Its time is not part of the frame. It may
    /// change the functions and arguments of the tasks, and `nanoseconds`
    std::function<void(Frame &frame, uint32_t number)> prepare;
};

struct RunOptions {
    uint32_t workers = weft::kAnyWorker;  ///< 1 to 1024, or one for each usable CPU
    uint32_t frames = 300;                ///< at least 1
    uint32_t warmUp = 20;                 ///< frames before the measured ones
    /// False: measures only frames and ideals, if the durations of the tasks are known
    bool hooks = true;
    /// Records the frames of the run without hooks, with a mark at the end of each. Null = none
    weft::Recorder *recorder = nullptr;
};

/// How a worker spent its time in frames. The three values are fractions, and their sum is 1.
struct Share {
    double busy = 0;  ///< it ran tasks of the frame
    /// it had no task, because no task could begin: all tasks whose earlier stages had ended had
    /// begun
    double idle = 0;
    /// The rest: a task could have begun, or the worker had not noticed the end of the frame
    double overhead = 0;
};

/// Durations are in nanoseconds.
struct Report {
    Problem problem;  ///< if there is one, nothing else is valid
    std::string name;
    uint32_t workers = 0, stages = 0, tasks = 0;
    std::vector<double> frames;  ///< the time of each frame, without hooks
    /// The least time that each frame could take: the longer of critical path and work / workers
    std::vector<double> ideals;
    std::vector<double> ratios;        ///< frame / ideal
    bool isIdealMeasured = false;      ///< ideals and ratios belong to the frames with hooks
    std::vector<double> tracedFrames;  ///< the time of each frame of the second run, with hooks
    std::vector<Share> shares;         ///< one for each worker, from the second run
    /// Tasks of a frame that ran on another worker than the one that submitted them, in the second
    /// run
    double stolen = 0;
    /// How long tasks took in the second run, as a multiple of Stage::nanoseconds; 0 if not known
    double stretch = 0;
};

/// Runs the frames on a scheduler of their own. Its options are the defaults, except for the number
/// of workers. Then it runs up to 100 frames once more with trace hooks, for the shares, and for
/// the ideals if the durations are not known. Do not call it from a task.
Report RunFrames(Frame &frame, const RunOptions &options);

/// Returns the sample that `percent` (1 to 100) percent of the samples do not exceed. `samples`
/// must not be empty.
double Percentile(std::vector<double> samples, uint32_t percent);

/// Prints a table to stdout.
void Print(const Report &report);

/// Writes the percentiles of frame / ideal in the columns that bench writes. The rows are
/// frame_NAME_p50, _p95, _p99 and _max.
Problem WriteCsv(const Report &report, const std::string &path);

/// Writes an SVG of the frames and their ideals with gnuplot.
Problem Plot(const Report &report, const std::string &path);

}  // namespace frame
