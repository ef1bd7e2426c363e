// Prints the report and writes its CSV file.
#include "frame/frame.h"
#include "rounds.h"

#include <algorithm>
#include <cstdio>

namespace frame {

namespace {

constexpr std::pair<const char *, uint32_t> kPercentiles[] = {
    {"p50", 50}, {"p95", 95}, {"p99", 99}, {"max", 100}};

void PrintRow(const char *what, const std::vector<double> &samples, double scale,
              const char *unit) {
    std::printf("%-14s", what);
    for (const auto &[name, percent] : kPercentiles)
        std::printf(" %9.3f", Percentile(samples, percent) * scale);
    std::printf("%s\n", unit);
}

void PrintShare(const std::string &worker, const Share &share) {
    std::printf("%-14s %8.1f%% %8.1f%% %8.1f%%\n", worker.c_str(), 100 * share.busy,
                100 * share.idle, 100 * share.overhead);
}

}  // namespace

double Percentile(std::vector<double> samples, uint32_t percent) {
    std::sort(samples.begin(), samples.end());
    return samples[(samples.size() * percent + 99) / 100 - 1];
}

void Print(const Report &report) {
    std::printf("%s: %u tasks in %u stages, %u worker%s, %zu frames\n\n", report.name.c_str(),
                report.tasks, report.stages, report.workers, report.workers == 1 ? "" : "s",
                report.frames.size());
    std::printf("%-14s", "");
    for (const auto &[name, percent] : kPercentiles) std::printf(" %9s", name);
    std::printf("\n");
    PrintRow("frame", report.frames, 1e-6, "  ms");
    PrintRow("ideal", report.ideals, 1e-6, "  ms");
    PrintRow("frame / ideal", report.ratios, 1, "");
    if (report.isIdealMeasured)
        std::printf("(ideal: of the frames with hooks, as long as their tasks took in them)\n");

    std::printf("\n%-14s %9s %9s %9s\n", "worker", "busy", "idle", "overhead");
    Share mean;
    for (size_t i = 0; i < report.shares.size(); ++i) {
        const Share &share = report.shares[i];
        PrintShare(std::to_string(i), share);
        const double part = 1 / static_cast<double>(report.shares.size());
        mean = {mean.busy + share.busy * part, mean.idle + share.idle * part,
                mean.overhead + share.overhead * part};
    }
    PrintShare("all", mean);
    std::printf("stolen: %.1f of %u tasks a frame\n", report.stolen, report.tasks);
    if (report.stretch != 0)
        std::printf("tasks took %.2f times as long as described\n", report.stretch);
    std::printf(
        "(shares and the lines below them: of %zu more frames, with trace hooks, which cost time; "
        "p50 %.3f ms)\n",
        report.tracedFrames.size(), Percentile(report.tracedFrames, 50) * 1e-6);
}

Problem WriteCsv(const Report &report, const std::string &path) {
    std::vector<bench::Row> rows;
    for (const auto &[name, percent] : kPercentiles) {
        const double ratio = Percentile(report.ratios, percent);
        rows.push_back({"frame_" + report.name + '_' + name,
                        "weft",
                        report.workers,
                        "ideal",
                        nullptr,
                        {ratio}});
    }
    return bench::WriteCsv(rows, path) ? "" : path + ": cannot be written";
}

}  // namespace frame
