// What is run on the machine in virtual time.
#pragma once

#include "frame/frame.h"
#include "machine/machine.h"

#include <string>
#include <vector>

namespace weft {
class TaskScheduler;
}

namespace machine {

/// One workload of the benchmark, as often as the figures need it.
struct Workload {
    const char *name;
    uint64_t tasks;  ///< that one repeat runs
    std::function<void()> repeat;
    bool calibrates;  ///< its measured cost is used to fit the model; the others check it
};

/// Runs `body` as the main task of a scheduler with so many workers, on a machine with these costs.
/// `groups`: the workers are divided into so many equal ones.
void RunMain(const Costs &costs, uint32_t workers,
             const std::function<void(weft::TaskScheduler *)> &body, uint32_t groups = 1);

/// In the main task of a scheduler with so many workers, on a machine with these costs: what the
/// tasks of one repeat took all cores together, and how long it was; after two repeats that do not
/// count.
struct Result {
    Counts counts;
    double nanoseconds;
};
Result Measure(const Costs &costs, uint32_t workers, const Workload &workload);

std::vector<Workload> Workloads();

/// Runs a described frame, as frame_bench does; `hooks`: for all that it says. Ends the program if
/// the file is no good.
struct FrameResult {
    frame::Report report;
    double operations;  ///< each task
    double transfers;
};
FrameResult MeasureFrames(const Costs &costs, uint32_t workers, bool hooks, const char *file);

double Mean(const std::vector<double> &values);

/// The mean of (frame time / ideal time) of the same frames, if GreedyNs gives the frame time.
double GreedyRatio(uint32_t workers, const char *file);

/// False if `file` is given and its content is another.
bool PrintCounts(const char *file);
/// `quick`: up to 16 workers; `only`: for so many; both for a transfer of 80 ns alone.
/// `frameFile`: a described frame, or null.
void PrintCurves(bool quick, uint32_t only, const char *frameFile);
/// The same on 16 cores that are not all alike: two cache domains, fast and slow ones.
void PrintLayouts(const char *frameFile);
/// The time from the submission of a task for each sleeping worker until all have begun one. The
/// unit is the time of one wake-up: Costs::wake + Costs::wakeUp.
double WakeUpTimes(uint32_t sleepers, bool inOneCall);
void PrintWakeUps();
/// Ideal time / time of a batch with 128 equal tasks for each worker.
double BatchEfficiency(uint32_t workers, double nanoseconds);
/// Checks limits on many cores. Returns false if one is not met.
bool PrintBounds();
/// What frame_bench prints, on so many workers.
void PrintFrames(const char *file, uint32_t workers, double transfer);
/// False if the file cannot be read.
bool Calibrate(const char *resultsFile);

}  // namespace machine
