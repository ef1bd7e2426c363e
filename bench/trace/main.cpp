// Shows what is in a recording of weft::Recorder, or converts it for another viewer.
#include "trace/export.h"
#include "trace/export_html.h"
#include "trace/frame_pictures.h"
#include "trace/summary.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

namespace trace {
namespace {

constexpr int kOverBudget = 1, kFailed = 2;

struct Options {
    std::string file, to = "summary", out, title, pictures, whatIf;
    std::vector<std::string> compare;
    bool summary = false;
    double budget = 0;
    uint64_t allow = 0;
};

void AddOptions(CLI::App &app, Options &options) {
    app.add_option("FILE", options.file, "the recording");
    app.add_option("--to", options.to, "what to write")
        ->check(CLI::IsMember({"summary", "text", "html", "perfetto", "chrome", "speedscope"}))
        ->capture_default_str();
    app.add_flag("--summary", options.summary, "the same as --to summary");
    app.add_option("--out", options.out, "write to this file, not to the terminal");
    app.add_option("--budget", options.budget, "milliseconds that a frame may take")
        ->check(CLI::Range(0.0, 1e9));
    app.add_option("--allow", options.allow,
                   "so many frames over the budget are no failure (exit code 1)")
        ->capture_default_str();
    app.add_option("--title", options.title, "heading of the page; the name of the recording");
    app.add_option("--pictures", options.pictures,
                   "folder with pictures of frames for the page: frame_000012.png is that of frame "
                   "12; small ones, because the page holds them")
        ->type_name("FOLDER");
    app.add_option("--what-if", options.whatIf,
                   "for --to html: a table that `machine what-if --json` has written");
    app.add_option("--compare", options.compare,
                   "two recordings: say what makes the median frame of the second one longer")
        ->expected(2);
}

int Complain(const Problem &problem) {
    std::fprintf(stderr, "weft_trace: %s\n", problem.c_str());
    return kFailed;
}

// Closes the output. Returns false if something could not be written.
bool Finish(std::ostream &out, std::ofstream &file) {
    out.flush();
    if (file.is_open()) file.close();
    return out.good();
}

int CompareFiles(const Options &options, std::ostream &out) {
    Timeline timelines[2];
    for (size_t i = 0; i < 2; ++i) {
        Recording recording;
        const Problem problem = ReadFile(options.compare[i], &recording);
        if (!problem.empty()) return Complain(problem);
        for (const std::string &remark : recording.remarks)
            out << options.compare[i] << ": " << remark << '\n';
        timelines[i] = BuildTimeline(recording);
    }
    PrintComparison(Compare(timelines[0], timelines[1]), out);
    return 0;
}

void PrintRemarks(const Recording &recording) {
    for (const std::string &remark : recording.remarks)
        std::fprintf(stderr, "note: %s\n", remark.c_str());
}

// The page reads the recording itself. It is read here only for the notes, and for the numbers of
// its frames.
int ShowPage(const Options &options, std::ostream &out) {
    std::ifstream file(options.file, std::ios::binary);
    if (!file.is_open()) return Complain(options.file + ": cannot be read");
    const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
    weft::trace::HtmlOptions page;
    page.title = options.title.empty() ? options.file : options.title;
    page.frameBudget = static_cast<uint64_t>(options.budget * 1e6);
    Recording recording;
    Problem problem = Read(bytes.data(), bytes.size(), &recording);
    if (!problem.empty()) return Complain(options.file + ": " + problem);
    if (!options.pictures.empty())
        problem = ReadPictures(options.pictures, recording, &page.pictures);
    if (!problem.empty()) return Complain(problem);
    PrintRemarks(recording);
    if (!options.whatIf.empty()) {
        std::ifstream table(options.whatIf, std::ios::binary);
        page.whatIf.assign(std::istreambuf_iterator<char>(table), {});
        // anything else would break the script of the page
        if (page.whatIf.empty() || page.whatIf.front() != '{')
            return Complain(options.whatIf + ": is no table of `machine what-if`");
    }
    return weft::trace::WriteHtml(bytes, page, out) ? 0 : Complain("the page cannot be written");
}

int Show(const Options &options, std::ostream &out) {
    if (options.to == "html") return ShowPage(options, out);
    Recording recording;
    const Problem problem = ReadFile(options.file, &recording);
    if (!problem.empty()) return Complain(problem);
    if (options.to == "text") {
        WriteText(recording, out);
        return 0;
    }
    const Timeline timeline = BuildTimeline(recording);
    if (options.to == "perfetto") WritePerfetto(recording, timeline, out);
    if (options.to == "chrome") WriteChrome(recording, timeline, out);
    if (options.to == "speedscope") WriteSpeedscope(recording, timeline, out);
    if (options.to != "summary") {
        PrintRemarks(recording);
        return 0;
    }
    const auto budget = static_cast<int64_t>(options.budget * 1e6);
    const Summary summary = Summarize(timeline, budget);
    PrintSummary(recording, timeline, budget, summary, out);
    return summary.over > options.allow ? kOverBudget : 0;
}

int Main(int count, char **arguments) {
    Options options;
    CLI::App app(
        "Shows why frames took as long as they did, from a recording of weft::Recorder, or "
        "converts the recording for another viewer.");
    AddOptions(app, options);
    CLI11_PARSE(app, count, arguments);
    if (options.summary) options.to = "summary";
    if (options.file.empty() == options.compare.empty())
        return Complain("give either a FILE or --compare with two files");
    if (!options.whatIf.empty() && options.to != "html")
        return Complain("--what-if is for --to html");

    std::ofstream file;
    if (!options.out.empty()) {
        file.open(options.out, std::ios::binary | std::ios::trunc);
        if (!file.is_open()) return Complain(options.out + ": cannot be written");
    }
    std::ostream &out = options.out.empty() ? std::cout : file;
    const int code = options.compare.empty() ? Show(options, out) : CompareFiles(options, out);
    if (!Finish(out, file)) return Complain("the output cannot be written");
    return code;
}

}  // namespace
}  // namespace trace

int main(int count, char **arguments) { return trace::Main(count, arguments); }
