// Runs a frame made of dependent stages again and again, and says how well it was scheduled.
//
//     std::vector<weft::Task> think = ..., draw = ...;      // what they point to must outlive the
//     call frame::Frame game{"game", {{"think", think, {}}, {"draw", draw, {0}}}, nullptr};      //
//     draw after stage 0 frame::Report report = frame::RunFrames(game, {}); if
//     (!report.problem.empty()) return 1; frame::Print(report);
//
// A whole program: bench/frame/example/main.cpp.
#pragma once

#include <weft/task_scheduler.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace frame {

/// What is wrong, for a reader; empty if nothing is.
using Problem = std::string;

/// Tasks that may begin as soon as all tasks of the stages that this one is after have finished.
struct Stage {
    std::string name;
    std::vector<weft::Task> tasks;  ///< at least one; each runs once a frame
    std::vector<uint32_t> after;    ///< places of earlier stages in Frame::stages
    weft::Priority priority = weft::Priority::Normal;
    weft::StackClass stack = weft::StackClass::Small;
    /// Of each task in this frame; left empty if only measuring can tell
    std::vector<double> nanoseconds = {};
};

/// Each stage holds a fiber while it waits for others, so there are at most so many.
inline constexpr uint32_t kMaxStages = 64;

struct Frame {
    std::string name;
    std::vector<Stage> stages;  ///< 1 to kMaxStages
    /// Called before each frame, outside of its time, with the frame's number from 0; may change
    /// the tasks' functions and arguments, and nanoseconds.
    std::function<void(Frame &frame, uint32_t number)> prepare;
};

struct RunOptions {
    uint32_t workers = weft::kAnyWorker;  ///< 1 to 1024, or one for each usable CPU
    uint32_t frames = 300;                ///< at least 1
    uint32_t warmUp = 20;                 ///< frames before those that count
    /// False: only frames and ideals, if the tasks' durations are known
    bool hooks = true;
};

/// Where a worker's time in frames went. The three are parts of 1.
struct Share {
    double busy = 0;  ///< in tasks of the frame
    /// No task could begin: all that might had begun, and those after them had to wait
    double idle = 0;
    /// The rest: a task could have begun here, or the frame's end was not noticed yet
    double overhead = 0;
};

/// Tuning in nanoseconds.
struct Report {
    Problem problem;  ///< if there is one, nothing else is valid
    std::string name;
    uint32_t workers = 0, stages = 0, tasks = 0;
    std::vector<double> frames;  ///< of each frame, without hooks
    /// The least that each could take: critical path, or work / workers
    std::vector<double> ideals;
    std::vector<double> ratios;        ///< frame / ideal
    bool isIdealMeasured = false;      ///< ideals and ratios are of the frames with hooks
    std::vector<double> tracedFrames;  ///< of each frame in the second run, with hooks
    std::vector<Share> shares;         ///< of each worker, in the second run
    /// Tasks a frame that ran on another worker than submitted them, in the second run
    double stolen = 0;
    /// What tasks took in the second run, as a multiple of Stage::nanoseconds; 0 if not known
    double stretch = 0;
};

/// Runs the frames on a scheduler of their own, with default options but for the workers; then up
/// to 100 of them once more with trace hooks, for the shares, and for the ideals if only measuring
/// can tell. Not from a task.
Report RunFrames(Frame &frame, const RunOptions &options);

/// The sample that `percent` (1 to 100) of them do not exceed. `samples` is not empty.
double Percentile(std::vector<double> samples, uint32_t percent);

/// A table on stdout.
void Print(const Report &report);

/// Ratios in the columns that bench writes: frame_NAME_p50, _p95, _p99, _max.
Problem WriteCsv(const Report &report, const std::string &path);

/// An SVG of how long frames took and could have taken at best, by gnuplot.
Problem Plot(const Report &report, const std::string &path);

}  // namespace frame
