// Implements medians, quantiles, the printed table and the CSV file.
#include "rounds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace bench {

double Median(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const size_t middle = samples.size() / 2;
    return samples.size() % 2 != 0 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

Quantiles QuantilesOf(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double part) {
        return samples[static_cast<size_t>(part * static_cast<double>(samples.size() - 1))];
    };
    return {at(0.5), at(0.99)};
}

void AddQuantiles(std::vector<Row> &rows, const std::string &workload, const std::string &system,
                  uint32_t workers, std::function<Quantiles()> measure, const std::string &unit) {
    rows.push_back({workload + "_p50", system, workers, unit, [=] { return measure().p50; }, {}});
    rows.push_back({workload + "_p99", system, workers, unit, [=] { return measure().p99; }, {}});
}

namespace {

// Returns the median of the row's ratios to weft, one for each round, or 0 if weft has no such row.
double RatioToWeft(const std::vector<Row> &rows, const Row &row) {
    const auto weft = std::find_if(rows.begin(), rows.end(), [&](const Row &other) {
        return other.system == "weft" && other.workload == row.workload &&
               other.workers == row.workers;
    });
    std::vector<double> ratios;
    for (size_t i = 0; weft != rows.end() && i < row.samples.size(); ++i) {
        if (weft->samples[i] > 0) ratios.push_back(row.samples[i] / weft->samples[i]);
    }
    return ratios.empty() ? 0.0 : Median(ratios);
}

}  // namespace

void PrintTable(const std::vector<Row> &rows) {
    std::printf("%-25s %-15s %7s %10s %10s %10s  %-6s %8s\n", "workload", "system", "workers",
                "median", "min", "max", "unit", "x weft");
    for (const Row &row : rows) {
        const auto [least, most] = std::minmax_element(row.samples.begin(), row.samples.end());
        std::printf("%-25s %-15s %7u %10.2f %10.2f %10.2f  %-6s", row.workload.c_str(),
                    row.system.c_str(), row.workers, Median(row.samples), *least, *most,
                    row.unit.c_str());
        if (const double ratio = RatioToWeft(rows, row); ratio != 0) std::printf(" %8.2f", ratio);
        std::printf("\n");
    }
}

bool WriteCsv(const std::vector<Row> &rows, const std::string &path) {
    std::ofstream file(path);
    file << "workload,system,workers,unit,median,min,max,rounds,x_weft\n";
    for (const Row &row : rows) {
        const auto [least, most] = std::minmax_element(row.samples.begin(), row.samples.end());
        file << row.workload << ',' << row.system << ',' << row.workers << ',' << row.unit << ','
             << Median(row.samples) << ',' << *least << ',' << *most << ',' << row.samples.size()
             << ',';
        if (const double ratio = RatioToWeft(rows, row); ratio != 0) file << ratio;
        file << '\n';
    }
    return static_cast<bool>(file.flush());
}

std::string ProcessorName() {
    std::ifstream file("/proc/cpuinfo");
    std::string line, name = "unknown";
    while (std::getline(file, line)) {
        const size_t colon = line.find(": ");
        if (line.rfind("model name", 0) != 0 || colon == std::string::npos) continue;
        name = line.substr(colon + 2);
        break;
    }
    std::string result;
    for (char c : name) {
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            result += c;
        else if (!result.empty() && result.back() != '-')
            result += '-';
    }
    return result;
}

void Wrong(const char *what) {
    std::fprintf(stderr, "bench: wrong result: %s\n", what);
    std::exit(1);
}

}  // namespace bench
