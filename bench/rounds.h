// Interleaved rounds: every system runs every workload once a round, so that a machine that changes its speed changes it
// for all. What counts is the median over the rounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One row of the table: a cost, lower is better.
struct Row {
    std::string workload;
    std::string system;
    uint32_t workers;
    std::string unit;
    std::function<double()> measure;  ///< runs the workload once and returns its cost; aborts if the result is wrong
    std::vector<double> samples;
};

double Median(std::vector<double> samples);

/// Takes `rounds` samples of every row, after one that does not count.
void RunRounds(std::vector<Row> &rows, uint32_t rounds);

void PrintTable(const std::vector<Row> &rows);

/// workload,system,workers,unit,median,min,max,rounds. False if the file cannot be written.
bool WriteCsv(const std::vector<Row> &rows, const std::string &path);

/// The processor's own name, fit for a file name.
std::string ProcessorName();

/// Nanoseconds since `begin`.
inline double Since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// Ends the program: a system that loses work is not measured.
[[noreturn]] void Wrong(const char *what);

void AddBareRows(std::vector<Row> &rows);
void AddWeftRows(std::vector<Row> &rows, uint32_t workers);
void AddMutexPoolRows(std::vector<Row> &rows, uint32_t workers);

inline constexpr uint32_t kBulk = 65536;
inline constexpr uint32_t kFibonacci = 20;
inline constexpr uint32_t kFibonacciTasks = 21890;  // calls that fib(20) makes below the first one
inline constexpr uint32_t kHandOvers = 20000;

}  // namespace bench
