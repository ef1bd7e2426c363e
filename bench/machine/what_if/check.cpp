// Implements `machine check-what-if`: predicts from a recording, and compares with the truth.
#include "frame/description.h"
#include "machine/what_if/commands.h"
#include "machine/what_if/subjects.h"
#include "trace/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace machine {

namespace {

constexpr double kTolerance = 0.05;

struct Checked {
    uint32_t passed = 0, failed = 0;
    double worst = 0;
};

double ErrorOf(const Sample &predicted, const Sample &truth) {
    return truth.Median() == 0 ? 0 : predicted.Median() / truth.Median() - 1;
}

// Prints the prediction and the truth of one row. A gain that is no noise must be none in truth,
// either.
void Compare(const WhatIfRow &row, const WhatIfRow &truth, const WhatIfRow &base,
             const WhatIfRow &trueBase, Checked &checked) {
    const double middle = ErrorOf(row.middle, truth.middle), slow = ErrorOf(row.slow, truth.slow);
    const Gain gain = GainOf(base.middle, row.middle);
    const double trueGain = trueBase.middle.Median() - truth.middle.Median();
    const double worst = std::max(std::abs(middle), std::abs(slow));
    const bool holds = worst <= kTolerance && (gain.isNoise || gain.ns * trueGain > 0);
    ++(holds ? checked.passed : checked.failed);
    checked.worst = std::max(checked.worst, worst);
    char told[32] = "noise";
    if (!gain.isNoise) std::snprintf(told, sizeof told, "%.3f", gain.ns * 1e-6);
    std::printf("%-28s %8.3f %8.3f %+6.1f%% %8.3f %8.3f %+6.1f%% %8s %8.3f%s\n", row.text.c_str(),
                row.middle.Median() * 1e-6, truth.middle.Median() * 1e-6, 100 * middle,
                row.slow.Median() * 1e-6, truth.slow.Median() * 1e-6, 100 * slow, told,
                trueGain * 1e-6, holds ? "" : "  FAILED");
    std::fflush(stdout);
}

// Some of the rows of a table: the truth takes time.
std::vector<WhatIfRow> SomeChanges(const WhatIf &whatIf) {
    std::vector<WhatIfRow> rows = whatIf.Changes();
    const uint32_t first = rows.empty() ? kNone : rows[0].change.name;
    const auto isLeftOut = [&](const WhatIfRow &row) {
        const Change &change = row.change;
        const bool isOtherPriority = change.priority.has_value() && change.name != first;
        const bool hasFewMore =
            change.workers != 0 && change.workers <= whatIf.ThePlace().workers + 1;
        return change.factor == 0 || hasFewMore || isOtherPriority;
    };
    rows.erase(std::remove_if(rows.begin(), rows.end(), isLeftOut), rows.end());
    return rows;
}

FrameTimes TruthOf(Subject &subject, const WhatIf &whatIf, const Change &change,
                   const std::string &name, uint32_t order) {
    std::vector<uint32_t> numbers;
    for (const FrameGraph &graph : whatIf.Frames())
        numbers.insert(numbers.end(), graph.frames.begin(), graph.frames.end());
    const std::vector<double> times = subject.Run(numbers, change, name, order);
    std::vector<double> means;
    size_t at = 0;
    for (const FrameGraph &graph : whatIf.Frames()) {
        double sum = 0;
        for (size_t i = 0; i < graph.frames.size(); ++i) sum += times[at++];
        means.push_back(sum / static_cast<double>(graph.frames.size()));
    }
    return MeansOf(means, whatIf.MiddleFrames());
}

// Returns the recording as if all workers had been off their processors for 1 ms in the middle of
// each frame.
trace::Recording Interrupted(trace::Recording recording) {
    constexpr int64_t kOffNs = 1000000;
    std::vector<int64_t> middles;
    for (const trace::Frame &frame : trace::BuildTimeline(recording).frames)
        middles.push_back(frame.begin + frame.Length() / 2);
    const auto countBefore = [&](int64_t ns) {
        return std::lower_bound(middles.begin(), middles.end(), ns) - middles.begin();
    };
    std::vector<std::ptrdiff_t> told(recording.rings.size());
    std::vector<trace::Event> events;
    for (trace::Event event : recording.events) {
        const std::ptrdiff_t count = countBefore(event.ns);
        const std::ptrdiff_t since = count - std::exchange(told[event.ring], count);
        event.ns += count * kOffNs;
        // the sleep of a worker does not count
        if (since > 0 && event.ring < recording.Slots() && event.kind != weft::TraceKind::Unpark) {
            trace::Event off{};
            off.ns = event.ns;
            off.fiber = event.fiber;
            off.ring = event.ring;
            off.other = static_cast<uint32_t>(since * kOffNs);
            off.kind = weft::TraceKind::OffCpu;
            events.push_back(off);
        }
        events.push_back(event);
    }
    recording.events.swap(events);
    recording.until += countBefore(recording.until) * kOffNs;
    for (trace::Ring &ring : recording.rings) {
        if (ring.until != trace::kUnknown) ring.until += countBefore(ring.until) * kOffNs;
    }
    return recording;
}

// A prediction is the same if the workers were off their processors, and so is what it is compared
// with.
void CheckInterrupted(const trace::Recording &content, const WhatIfOptions &options,
                      const WhatIfTable &table, Checked &checked) {
    const WhatIf whatIf(Interrupted(content), options);
    const WhatIfTable found = RunAll(whatIf, {});
    const double middle = ErrorOf(found.rows[0].middle, table.rows[0].middle);
    const double recorded = found.recorded.middle / table.recorded.middle - 1;
    const bool holds = std::abs(middle) <= 0.01 && std::abs(recorded) <= kTolerance;
    ++(holds ? checked.passed : checked.failed);
    std::printf("workers off their processors: frame %+.1f%%, recorded frame %+.1f%%%s\n",
                100 * middle, 100 * recorded, holds ? "" : "  FAILED");
}

bool CheckSubject(Subject &subject, WhatIfOptions options, Checked &checked) {
    const std::vector<unsigned char> file = subject.Record();
    trace::Recording content;
    trace::Problem problem = trace::Read(file.data(), file.size(), &content);
    options.orders = 12;  // with 4 the errors scatter by half a percent
    options.names = 2;
    const WhatIf whatIf(content, options);
    if (problem.empty()) problem = whatIf.TheProblem();
    if (!problem.empty()) {
        std::fprintf(stderr, "machine: %s: %s\n", subject.Name().c_str(), problem.c_str());
        return false;
    }
    const WhatIfTable table = RunAll(whatIf, SomeChanges(whatIf));
    std::printf("\n%s: %s\n%-28s %8s %8s %7s %8s %8s %7s %8s %8s\n", subject.Name().c_str(),
                table.note.c_str(), "change (ms)", "frame", "truth", "error", "slow", "truth",
                "error", "gain", "truth");
    std::vector<WhatIfRow> trueRows;
    for (const WhatIfRow &row : table.rows) {
        trueRows.push_back({row.text, row.change, {}, {}});
        const std::string name = row.change.name == kNone ? "" : content.names[row.change.name];
        for (uint32_t order = 1; order <= whatIf.Orders(); ++order) {
            const FrameTimes means = TruthOf(subject, whatIf, row.change, name, order);
            trueRows.back().middle.times.push_back(means.middle);
            trueRows.back().slow.times.push_back(means.slow);
        }
        Compare(row, trueRows.back(), table.rows[0], trueRows[0], checked);
    }
    CheckInterrupted(content, options, table, checked);
    return true;
}

}  // namespace

bool CheckPredictions(const std::vector<std::string> &frameFiles, uint32_t workers) {
    Checked checked;
    WhatIfOptions options;
    options.middleFrames = 12;
    options.slowFrames = 3;
    for (const std::string &file : frameFiles) {
        frame::Frame frame;
        const frame::Problem problem = frame::ReadFile(file, 1, &frame);
        if (!problem.empty()) {
            std::fprintf(stderr, "machine: %s\n", problem.c_str());
            return false;
        }
        if (!CheckSubject(*DescribedFrame(file, workers), options, checked)) return false;
    }
    if (!CheckSubject(*Pipeline(4), options, checked)) return false;
    std::printf("\nthe worst error is %.1f %%\n\n%u passed, %u failed\n", 100 * checked.worst,
                checked.passed, checked.failed);
    return checked.failed == 0 && checked.passed != 0;
}

}  // namespace machine
