// Draws a histogram of the frames and their ideals with gnuplot.
#include "frame/frame.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace frame {

namespace {

constexpr uint32_t kBins = 50;

// Returns the text as a gnuplot string in single quotes.
std::string Quoted(const std::string &text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
    return quoted + "'";
}

double Ms(double ns) { return ns * 1e-6; }

struct Bins {
    double begin, width;

    // Returns the number of frames in each bin. Frames beyond the last bin count in it.
    std::vector<uint32_t> Count(const std::vector<double> &samples) const {
        std::vector<uint32_t> counts(kBins);
        for (const double sample : samples) {
            const double place = std::max((Ms(sample) - begin) / width, 0.0);
            ++counts[std::min(static_cast<uint32_t>(place), kBins - 1)];
        }
        return counts;
    }
};

// Sends the middle of each bin and the number of its frames.
void SendCounts(std::FILE *gnuplot, const char *name, const Bins &bins,
                const std::vector<uint32_t> &counts) {
    std::fprintf(gnuplot, "$%s << END\n", name);
    for (uint32_t i = 0; i < kBins; ++i) {
        std::fprintf(gnuplot, "%.9g %u\n", bins.begin + (i + 0.5) * bins.width, counts[i]);
    }
    std::fprintf(gnuplot, "END\n");
}

// Sends a line across the plot, with its name beside the upper end.
void SendMark(std::FILE *gnuplot, const char *name, double ms, double height) {
    std::fprintf(gnuplot,
                 "set arrow from %.9g, graph 0 to %.9g, graph %.3g nohead front dashtype 2\n", ms,
                 ms, height);
    std::fprintf(gnuplot, "set label '%s %.2f ms' at %.9g, graph %.3g offset 0.4, 0 front\n", name,
                 ms, ms, height);
}

void Send(std::FILE *gnuplot, const Report &report, const std::vector<double> &frames,
          const std::string &path) {
    const double least = Ms(std::min(*std::min_element(report.ideals.begin(), report.ideals.end()),
                                     *std::min_element(frames.begin(), frames.end())));
    const double most = Ms(Percentile(frames, 100)),
                 room = std::max(most - least, most / 1000) * 0.02;
    const Bins bins{least - room, (most - least + 2 * room) / kBins};
    SendCounts(gnuplot, "frames", bins, bins.Count(frames));
    SendCounts(gnuplot, "ideals", bins, bins.Count(report.ideals));
    std::fprintf(
        gnuplot,
        "set terminal svg size 900, 420 background '#ffffff' font 'sans,13'\nset output %s\n",
        Quoted(path).c_str());
    const std::string title = report.name + ": " + std::to_string(report.tasks) +
                              " tasks, workers: " + std::to_string(report.workers) +
                              ", frames: " + std::to_string(frames.size());
    std::fprintf(gnuplot, "set title %s noenhanced\n", Quoted(title).c_str());
    std::fprintf(
        gnuplot,
        "set xlabel 'milliseconds'\nset ylabel 'frames'\nset tics out nomirror\nset border 3\n");
    std::fprintf(gnuplot, "set xrange [%.9g:%.9g]\n", bins.begin,
                 bins.begin + bins.width * kBins * 1.12);
    std::fprintf(
        gnuplot,
        "set yrange [0:*]\nset offsets 0, 0, graph 0.3, 0\nset style fill solid 0.6 noborder\n");
    SendMark(gnuplot, "p50", Ms(Percentile(frames, 50)), 0.96);
    SendMark(gnuplot, "p95", Ms(Percentile(frames, 95)), 0.89);
    SendMark(gnuplot, "p99", Ms(Percentile(frames, 99)), 0.82);
    std::fprintf(gnuplot, "set key at graph 1, graph 0.7 right top\n");
    std::fprintf(gnuplot,
                 "plot $frames with boxes linecolor '#1f6fb4' title 'frame', "
                 "$ideals with histeps linewidth 1.5 linecolor '#303030' title 'ideal'\n");
}

}  // namespace

Problem Plot(const Report &report, const std::string &path) {
    if (std::system("command -v gnuplot > /dev/null 2>&1") != 0)
        return "for a plot, install gnuplot";
    std::FILE *gnuplot = popen("gnuplot", "w");
    if (gnuplot == nullptr) return "gnuplot does not start";
    Send(gnuplot, report, report.isIdealMeasured ? report.tracedFrames : report.frames, path);
    return pclose(gnuplot) == 0 ? "" : path + ": gnuplot could not write it";
}

}  // namespace frame
