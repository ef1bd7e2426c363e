// Takes the samples of all rows in interleaved rounds: every system runs every workload once in
// each round. So a change in the speed of the machine affects all systems. The result is the median
// over the rounds, and of the ratios within a round.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

/// One row of the table: a cost, lower is better.
struct Row {
    std::string workload;
    std::string system;
    uint32_t workers;
    std::string unit;
    /// Runs the workload once and returns its cost; ends the program if the result is wrong
    std::function<double()> measure;
    std::vector<double> samples;
};

double Median(std::vector<double> samples);

struct Quantiles {
    double p50;
    double p99;
};
Quantiles QuantilesOf(std::vector<double> samples);

/// Adds two rows, `workload`_p50 and `workload`_p99.
void AddQuantiles(std::vector<Row> &rows, const std::string &workload, const std::string &system,
                  uint32_t workers, std::function<Quantiles()> measure,
                  const std::string &unit = "ns");

/// Takes `rounds` samples of every row, after one sample that does not count. Each row has a
/// process of its own.
void RunRounds(std::vector<Row> &rows, uint32_t rounds);

/// Prints all rows. Each row has its ratio to the row of weft with the same workload and number of
/// workers: the median of the ratios within a round.
void PrintTable(const std::vector<Row> &rows);

/// Writes the columns workload,system,workers,unit,median,min,max,rounds. Returns false if the file
/// cannot be written.
bool WriteCsv(const std::vector<Row> &rows, const std::string &path);

/// Returns the processor's name, in a form that is valid in a file name.
std::string ProcessorName();

/// How long all workers are idle before a parked worker is woken. This is longer than any system
/// here searches for work (libgomp searches for 8 ms).
inline constexpr int64_t kParkedNanoseconds = 12000000;

/// Nanoseconds since `begin`.
inline double Since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Ends the program. A system that loses work is not measured.
[[noreturn]] void Wrong(const char *what);

void AddBareRows(std::vector<Row> &rows);
void AddSerialRows(std::vector<Row> &rows);
void AddWeftRows(std::vector<Row> &rows, uint32_t workers);
void AddWeftLoopRows(std::vector<Row> &rows, uint32_t workers);
void AddCRows(std::vector<Row> &rows, uint32_t workers);
void AddResultRows(std::vector<Row> &rows, uint32_t workers);
void AddWeftFlowRows(std::vector<Row> &rows, uint32_t workers);
void AddWeftGraphRows(std::vector<Row> &rows, uint32_t workers);
void AddWeftAlgorithmRows(std::vector<Row> &rows, uint32_t workers);
void AddLoadedRows(std::vector<Row> &rows, uint32_t workers);
void AddMutexPoolRows(std::vector<Row> &rows, uint32_t workers);
void AddMutexRows(std::vector<Row> &rows);
void AddFrameLayerRows(std::vector<Row> &rows, uint32_t workers);
void AddPostRows(std::vector<Row> &rows);
void AddIoRows(std::vector<Row> &rows);
// These add no rows if the headers of the library were missing at compile time.
void AddOneTbbRows(std::vector<Row> &rows, uint32_t workers);
void AddOneTbbLoopRows(std::vector<Row> &rows, uint32_t workers);
void AddOneTbbFlowRows(std::vector<Row> &rows, uint32_t workers);
void AddOneTbbGraphRows(std::vector<Row> &rows, uint32_t workers);
void AddOneTbbAlgorithmRows(std::vector<Row> &rows, uint32_t workers);
void AddLibstdcxxAlgorithmRows(std::vector<Row> &rows, uint32_t workers);
void AddBoostFiberRows(std::vector<Row> &rows, uint32_t workers);
void AddOpenMpRows(std::vector<Row> &rows, uint32_t workers);

}  // namespace bench
