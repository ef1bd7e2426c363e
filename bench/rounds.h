// Interleaved rounds: every system runs every workload once a round, so that a machine that changes
// its speed changes it for all. What counts is the median over the rounds, and ratios within a
// round.
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
    /// Runs the workload once and returns its cost; aborts if the result is wrong
    std::function<double()> measure;
    std::vector<double> samples;
};

double Median(std::vector<double> samples);

struct Quantiles {
    double p50;
    double p99;
};
Quantiles QuantilesOf(std::vector<double> samples);

/// Two rows, `workload`_p50 and `workload`_p99.
void AddQuantiles(std::vector<Row> &rows, const std::string &workload, const std::string &system,
                  uint32_t workers, std::function<Quantiles()> measure,
                  const std::string &unit = "ns");

/// Takes `rounds` samples of every row, after one that does not count. Each row's are taken in a
/// process of its own.
void RunRounds(std::vector<Row> &rows, uint32_t rounds);

/// With the ratio of each row to weft's row of the same workload and workers: the median of the
/// ratios within a round.
void PrintTable(const std::vector<Row> &rows);

/// workload,system,workers,unit,median,min,max,rounds. False if the file cannot be written.
bool WriteCsv(const std::vector<Row> &rows, const std::string &path);

/// The processor's own name, fit for a file name.
std::string ProcessorName();

/// How long nobody has anything to do before a parked worker is woken: longer than any system here
/// searches for work (libgomp does for 8 ms).
inline constexpr int64_t kParkedNanoseconds = 12000000;

/// Nanoseconds since `begin`.
inline double Since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// Ends the program: a system that loses work is not measured.
[[noreturn]] void Wrong(const char *what);

void AddBareRows(std::vector<Row> &rows);
void AddSerialRows(std::vector<Row> &rows);
void AddWeftRows(std::vector<Row> &rows, uint32_t workers);
void AddWeftLoopRows(std::vector<Row> &rows, uint32_t workers);
void AddLoadedRows(std::vector<Row> &rows, uint32_t workers);
void AddMutexPoolRows(std::vector<Row> &rows, uint32_t workers);
void AddMutexRows(std::vector<Row> &rows);
void AddFrameLayerRows(std::vector<Row> &rows, uint32_t workers);
void AddPostRows(std::vector<Row> &rows);
// Empty where the library's headers were not there when this was compiled.
void AddOneTbbRows(std::vector<Row> &rows, uint32_t workers);
void AddOneTbbLoopRows(std::vector<Row> &rows, uint32_t workers);
void AddBoostFiberRows(std::vector<Row> &rows, uint32_t workers);
void AddOpenMpRows(std::vector<Row> &rows, uint32_t workers);

}  // namespace bench
