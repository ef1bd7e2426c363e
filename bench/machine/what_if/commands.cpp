// Implements `machine what-if` and `machine check-what-if`.
#include "machine/what_if/commands.h"

#include "frame/description.h"

#include "weft/trace/recorder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

namespace machine {

namespace {

constexpr uint32_t kFrames = 21, kWarmUp = 2;
constexpr size_t kRecorderBytes = 64 << 20;

bool Complain(const std::string &problem) {
    std::fprintf(stderr, "machine: %s\n", problem.c_str());
    return false;
}

}  // namespace

FrameRecording RecordFrames(frame::Frame &frame, uint32_t workers) {
    FrameRecording result;
    std::vector<unsigned char> memory(kRecorderBytes);
    weft::Recorder recorder(memory.data(), memory.size());
    frame::RunOptions options{workers, kFrames, kWarmUp, false};
    options.recorder = &recorder;
    machine::Run(Costs(), [&] { result.report = frame::RunFrames(frame, options); });
    const auto append = [](const void *data, size_t bytes, void *file) {
        const auto *const from = static_cast<const unsigned char *>(data);
        auto &to = *static_cast<std::vector<unsigned char> *>(file);
        to.insert(to.end(), from, from + bytes);
        return true;
    };
    recorder.Write(append, &result.file);
    return result;
}

bool RecordFile(const std::string &frameFile, uint32_t workers, const std::string &recording) {
    frame::Frame described;
    const frame::Problem problem = frame::ReadFile(frameFile, 1, &described);
    if (!problem.empty()) return Complain(problem);
    const FrameRecording recorded = RecordFrames(described, workers);
    if (!recorded.report.problem.empty()) return Complain(recorded.report.problem);
    std::ofstream out(recording, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char *>(recorded.file.data()),
              static_cast<std::streamsize>(recorded.file.size()));
    out.close();
    return out.good() || Complain(recording + ": cannot be written");
}

bool PrintWhatIf(const std::string &recording, const std::string &json,
                 const WhatIfOptions &options) {
    trace::Recording content;
    const trace::Problem problem = trace::ReadFile(recording, &content);
    if (!problem.empty()) return Complain(problem);
    const WhatIf whatIf(content, options);
    if (!whatIf.TheProblem().empty()) return Complain(recording + ": " + whatIf.TheProblem());
    const WhatIfTable table = RunAll(whatIf, whatIf.Changes());
    PrintTable(table, std::cout);
    if (json.empty()) return true;
    std::ofstream out(json, std::ios::binary | std::ios::trunc);
    WriteJson(table, out);
    out.close();
    return out.good() || Complain(json + ": cannot be written");
}

namespace {

constexpr double kTolerance = 0.05;

// The truth about a change: the frame with another description.
class Truth {
public:
    Truth(const std::string &file, uint32_t workers, const WhatIf &whatIf,
          const std::vector<std::string> &names)
        : m_file(file), m_workers(workers), m_whatIf(whatIf), m_names(names) {}

    /// Fills the samples of a row: the frames that the prediction is about run with the change.
    void Run(WhatIfRow &row) const {
        for (uint32_t order = 1; order <= m_whatIf.Orders(); ++order) {
            const FrameTimes means = MeansOf(RunOnce(row.change, order), m_whatIf.MiddleFrames());
            row.middle.times.push_back(means.middle);
            row.slow.times.push_back(means.slow);
        }
    }

private:
    std::vector<double> RunOnce(const Change &change, uint32_t order) const {
        const std::vector<FrameGraph> &frames = m_whatIf.Frames();
        frame::Frame described;
        frame::ReadFile(m_file, 1, &described);
        const auto draw = described.prepare;
        described.prepare = [&](frame::Frame &frame, uint32_t number) {
            draw(frame, frames[number == 0 ? 0 : number - 1].number);  // the first one warms up
            for (uint32_t i = 0; i < frame.stages.size(); ++i)
                Alter(frame.stages[i], i, change, order);
        };
        const uint32_t workers = change.workers != 0 ? change.workers : m_workers;
        const frame::RunOptions options{workers, static_cast<uint32_t>(frames.size()), 1, false};
        frame::Report report;
        machine::Run(Costs(), [&] { report = frame::RunFrames(described, options); });
        return report.frames;
    }

    void Alter(frame::Stage &stage, uint32_t index, const Change &change, uint32_t order) const {
        const bool isIt = change.name != kNone && stage.name == m_names[change.name];
        for (uint32_t i = 0; i < stage.nanoseconds.size(); ++i)
            stage.nanoseconds[i] *= Perturb(order + 1000, i, index) * (isIt ? change.factor : 1);
        if (isIt) stage.priority = change.priority.value_or(stage.priority);
    }

    const std::string m_file;
    const uint32_t m_workers;
    const WhatIf &m_whatIf;
    const std::vector<std::string> &m_names;
};

struct Checked {
    uint32_t passed = 0, failed = 0;
    double worst = 0;
};

// Prints the prediction and the truth of one row.
void Compare(const WhatIfRow &predicted, const WhatIfRow &truth, const WhatIfRow &predictedBase,
             const WhatIfRow &trueBase, Checked &checked) {
    const auto error = [](const Sample &a, const Sample &b) { return a.Median() / b.Median() - 1; };
    const double middle = error(predicted.middle, truth.middle);
    const double slow = error(predicted.slow, truth.slow);
    const double worst = std::max(std::abs(middle), std::abs(slow));
    const bool holds = worst <= kTolerance;
    ++(holds ? checked.passed : checked.failed);
    checked.worst = std::max(checked.worst, worst);
    const Gain gain = GainOf(predictedBase.middle, predicted.middle);
    const Gain trueGain = GainOf(trueBase.middle, truth.middle);
    std::printf("%-32s %9.3f %9.3f %+6.1f%% %9.3f %9.3f %+6.1f%% %9.3f%s %9.3f%s\n",
                predicted.text.c_str(), predicted.middle.Median() * 1e-6,
                truth.middle.Median() * 1e-6, 100 * middle, predicted.slow.Median() * 1e-6,
                truth.slow.Median() * 1e-6, 100 * slow, gain.ns * 1e-6, gain.isNoise ? "~" : " ",
                trueGain.ns * 1e-6, holds ? "" : "  FAILED");
}

bool CheckFrame(const std::string &file, uint32_t workers, Checked &checked) {
    frame::Frame described;
    const frame::Problem problem = frame::ReadFile(file, 1, &described);
    if (!problem.empty()) return Complain(problem);
    const FrameRecording recorded = RecordFrames(described, workers);
    if (!recorded.report.problem.empty()) return Complain(recorded.report.problem);
    trace::Recording content;
    const trace::Problem unread = trace::Read(recorded.file.data(), recorded.file.size(), &content);
    if (!unread.empty()) return Complain(unread);
    WhatIfOptions options;
    options.orders = 3;
    options.middleFrames = 5;
    options.slowFrames = 2;
    options.names = 2;
    const WhatIf whatIf(content, options);
    if (!whatIf.TheProblem().empty()) return Complain(file + ": " + whatIf.TheProblem());
    std::vector<WhatIfRow> rows = whatIf.Changes();
    const auto isLeftOut = [&](const WhatIfRow &row) {
        const uint32_t other = row.change.workers;
        return row.change.factor == 0 || (other != 0 && other <= workers + 1);
    };
    rows.erase(std::remove_if(rows.begin(), rows.end(), isLeftOut), rows.end());
    const WhatIfTable table = RunAll(whatIf, rows);
    std::printf("\n%s, %u workers. %s\n%-32s %9s %9s %7s %9s %9s %7s %10s %9s\n", file.c_str(),
                workers, table.note.c_str(), "change (ms)", "frame", "truth", "error", "slow",
                "truth", "error", "gain", "truth");
    const Truth truth(file, workers, whatIf, content.names);
    std::vector<WhatIfRow> trueRows;
    for (const WhatIfRow &row : table.rows) {
        trueRows.push_back({row.text, row.change, {}, {}});
        truth.Run(trueRows.back());
        Compare(row, trueRows.back(), table.rows[0], trueRows[0], checked);
    }
    return true;
}

}  // namespace

bool CheckPredictions(const std::vector<std::string> &frameFiles, uint32_t workers) {
    Checked checked;
    for (const std::string &file : frameFiles) {
        if (!CheckFrame(file, workers, checked)) return false;
    }
    std::printf("\n(~: within noise) the worst error is %.1f %%\n\n%u passed, %u failed\n",
                100 * checked.worst, checked.passed, checked.failed);
    return checked.failed == 0 && checked.passed != 0;
}

}  // namespace machine
