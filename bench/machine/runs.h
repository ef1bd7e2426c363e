// The runs on the machine in virtual time: workloads, described frames, and the tables of each
// command.
#pragma once

#include "frame/frame.h"
#include "machine/machine.h"

#include <string>
#include <vector>

namespace weft {
class TaskScheduler;
}

namespace machine {

/// A workload of the benchmark. It is repeated as often as a figure needs.
struct Workload {
    const char *name;
    uint64_t tasks;  ///< number of tasks in one repeat
    std::function<void()> repeat;
    bool calibrates;  ///< its measured cost is used to fit the model; the others check it
};

/// Runs `body` as the main task of a scheduler with `workers` workers, on a machine with these
/// costs. The workers are divided into `groups` equal groups.
void RunMain(const Costs &costs, uint32_t workers,
             const std::function<void(weft::TaskScheduler *)> &body, uint32_t groups = 1);

/// Measures one repeat of a workload, after two repeats that do not count. The workload runs in the
/// main task of a scheduler. The result has the operations of all cores and the elapsed time.
struct Result {
    Counts counts;
    double nanoseconds;
};
Result Measure(const Costs &costs, uint32_t workers, const Workload &workload);

std::vector<Workload> Workloads();

/// Runs a described frame, as frame_bench does. With `hooks` the report is complete. Ends the
/// program if the file is not valid.
struct FrameResult {
    frame::Report report;
    double operations;  ///< for each task
    double transfers;
};
FrameResult MeasureFrames(const Costs &costs, uint32_t workers, bool hooks, const char *file);

double Mean(const std::vector<double> &values);

/// Returns the mean of (frame time / ideal time) of the same frames, with the frame times of
/// GreedyNs.
double GreedyRatio(uint32_t workers, const char *file);

/// Returns false if `file` is not null and has other content.
bool PrintCounts(const char *file);
/// `quick`: up to 16 workers. `only`: this number of workers, or 0 for all. With either, the cost
/// of a transfer is always 80 ns. `frameFile`: a described frame, or null.
void PrintCurves(bool quick, uint32_t only, const char *frameFile);
/// As PrintCurves, on 16 cores in two cache domains, or with fast and slow cores.
void PrintLayouts(const char *frameFile);
/// Submits a task for each sleeping worker. Returns the time until all have begun one. The unit is
/// the time of one wake-up: Costs::wake + Costs::wakeUp.
double WakeUpTimes(uint32_t sleepers, bool inOneCall);
void PrintWakeUps();
/// Returns ideal time / time of a batch with 128 equal tasks for each worker.
/// The median of nine costs of a transfer, 76 to 84 ns: small changes of it change a run by chance.
double BatchEfficiency(uint32_t workers, double nanoseconds);
/// Runs a loop over cheap indices, of which the last `slow` take `slowNs` each. ForOne: ParallelFor
/// with the grain 1. Returns its time. The unit is the ideal time plus one slow index.
enum class UnevenLoop : uint8_t { For, ForOne, ForEach, Reduce, Scan, Pipeline };
double UnevenTime(UnevenLoop loop, uint32_t workers, uint32_t slow, double slowNs);
/// Checks limits on many cores. Returns false if one is not met.
bool PrintBounds();
/// Prints the report of frame_bench for this number of workers.
void PrintFrames(const char *file, uint32_t workers, double transfer);
/// Returns false if the file has no usable rows.
bool Calibrate(const char *resultsFile);

}  // namespace machine
