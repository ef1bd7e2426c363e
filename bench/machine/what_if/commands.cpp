// Implements `machine what-if` and `machine frame --record`.
#include "machine/what_if/commands.h"

#include "frame/description.h"

#include "weft/trace/recorder.h"

#include <cstdio>
#include <fstream>
#include <iostream>

namespace machine {

namespace {

constexpr uint32_t kFrames = 21, kWarmUp = 2;
constexpr size_t kRecorderBytes = 16 << 20;

bool Complain(const std::string &problem) {
    std::fprintf(stderr, "machine: %s\n", problem.c_str());
    return false;
}

}  // namespace

std::vector<unsigned char> Record(const std::function<void(weft::Recorder *)> &run) {
    std::vector<unsigned char> memory(kRecorderBytes), file;
    weft::Recorder recorder(memory.data(), memory.size());
    machine::Run(Costs(), [&] { run(&recorder); });
    const auto append = [](const void *data, size_t bytes, void *to) {
        const auto *const from = static_cast<const unsigned char *>(data);
        auto &content = *static_cast<std::vector<unsigned char> *>(to);
        content.insert(content.end(), from, from + bytes);
        return true;
    };
    recorder.Write(append, &file);
    return file;
}

std::vector<unsigned char> RecordFrames(frame::Frame &frame, uint32_t workers) {
    return Record([&](weft::Recorder *recorder) {
        frame::RunOptions options{workers, kFrames, kWarmUp, false};
        options.recorder = recorder;
        frame::RunFrames(frame, options);
    });
}

bool RecordFile(const std::string &frameFile, uint32_t workers, const std::string &recording) {
    frame::Frame described;
    const frame::Problem problem = frame::ReadFile(frameFile, 1, &described);
    if (!problem.empty()) return Complain(problem);
    const std::vector<unsigned char> file = RecordFrames(described, workers);
    std::ofstream out(recording, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char *>(file.data()),
              static_cast<std::streamsize>(file.size()));
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

}  // namespace machine
