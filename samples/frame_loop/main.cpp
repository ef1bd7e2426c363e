// A small but real game frame on weft. Monsters think and move while a viewer walks through a
// level. Tasks make each frame: they find what is visible, draw it, compose the picture and present
// it.
//
//     samples/run.sh frame_loop --workers 4 --frames 600 --level E1M1
//     samples/run.sh frame_loop --report out/frame.html      a page that shows what each frame did
//     samples/run.sh frame_loop --watch --frames 6000        shows what the scheduler does
//     meanwhile
//     samples/run.sh frame_loop --window                     a window, in which you walk by keys
#include "film.h"
#include "record.h"
#include "window.h"

#include <CLI/CLI.hpp>

#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace frame_loop {
namespace {

constexpr int kFailed = 1, kBadInput = 2, kComparedFrames = 300;
struct Options {
    std::string wad = kFreedoom, level = "E1M1", out = "out", record;
    bool serial = false, window = false, windowLog = false, film = false;
    std::pair<int, int> size{640, 400};
    RunOptions run;
};

std::string UpperCase(std::string text) {
    for (char &c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

void AddOptions(CLI::App &app, Options &options) {
    app.add_option("--workers", options.run.workers, "threads that run tasks; one for each CPU")
        ->check(CLI::Range(1, 1024));
    app.add_option("--frames", options.run.frames, "frames to render")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("--level", options.level, "level of the WAD")
        ->transform(UpperCase)
        ->capture_default_str();
    app.add_option("--wad", options.wad, "file that has the level")->capture_default_str();
    app.add_option("--size", options.size, "size of a picture")
        ->delimiter('x')
        ->type_name("WIDTHxHEIGHT")
        ->check(CLI::Range(16, 4096))
        ->default_str("640x400");
    CLI::Option *serial =
        app.add_flag("--serial", options.serial, "run a plain loop instead of tasks");
    CLI::Option *record =
        app.add_option(
               "--record", options.record,
               "record the run in this file for weft_trace, and write small pictures of the "
               "frames to a folder with its name and .pictures at the end")
            ->type_name("FILE")
            ->excludes(serial);
    CLI::Option *window = app.add_flag("--window", options.window,
                                       "open a window and walk by keys, without a limit of frames "
                                       "if --frames is not given")
                              ->excludes(serial)
                              ->excludes(record);
    app.add_flag("--film", options.film,
                 "run 60 frames a second, and write every eighth picture with the graph of the "
                 "frames to --out")
        ->excludes(serial)
        ->excludes(record)
        ->excludes(window);
    app.add_flag("--window-log", options.windowLog, "write a line for each event of the window")
        ->needs(window);
    app.add_flag("--watch", options.run.watches, "show twice a second what the scheduler does")
        ->excludes(serial);
    app.add_option("--out", options.out, "folder for a picture of every 60th frame; \"\" for none")
        ->capture_default_str();
}

int Complain(const Problem &problem, int code) {
    std::fprintf(stderr, "frame_loop: %s\n", problem.c_str());
    return code;
}

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

void PrintTimes(const RunResult &result) {
    const size_t frames = result.presentedNs.size();
    std::vector<int64_t> times(frames);
    std::adjacent_difference(result.presentedNs.begin(), result.presentedNs.end(), times.begin());
    std::sort(times.begin(), times.end());
    const auto percentile = [&](size_t percent) {
        return Ms(times[(frames * percent + 99) / 100 - 1]);
    };
    std::printf(
        "frame time   p50 %.2f  p95 %.2f  p99 %.2f  max %.2f ms (from one presented frame to the "
        "next)\n",
        percentile(50), percentile(95), percentile(99), percentile(100));
    int64_t all = 1;
    for (int stage = 0; stage < kStages; ++stage) {
        int64_t ns = 0;
        for (const WorkerShare &share : result.workers) ns += share.stageNs[stage];
        all += ns;
        std::printf("stage        %-10s %7.3f ms a frame, all workers together\n",
                    kStageNames[stage], Ms(ns) / static_cast<double>(frames));
    }
    for (size_t i = 0; i < result.workers.size(); ++i) {
        const WorkerShare &share = result.workers[i];
        const int64_t ns = std::accumulate(share.stageNs.begin(), share.stageNs.end(), int64_t{0});
        std::printf("worker %-4zu  %5.1f %% of the work, %" PRIu64 " tasks\n", i,
                    100 * Ms(ns) / Ms(all), share.tasks);
    }
}

// Compares with a second run of the first frames with one worker. The pictures must be the same,
// too.
Problem PrintSpeedUp(const Game &game, RunOptions options, const RunResult &result) {
    options.workers = 1;
    options.watches = false;
    options.frames = std::min(options.frames, kComparedFrames);
    const RunResult one = RunTasks(game, options);
    if (!one.problem.empty()) return one.problem;
    if (!std::equal(one.frameHashes.begin(), one.frameHashes.end(), result.frameHashes.begin()))
        return "one worker makes other pictures";
    const int64_t ns = result.presentedNs[one.presentedNs.size() - 1];
    std::printf(
        "speed-up     %.2f over one worker (the first %zu frames in %.1f ms, with one worker in "
        "%.1f ms)\n",
        Ms(one.presentedNs.back()) / Ms(ns), one.presentedNs.size(), Ms(ns),
        Ms(one.presentedNs.back()));
    return {};
}

Problem MakeFolder(const std::filesystem::path &folder) {
    std::error_code failure;
    if (!folder.empty()) std::filesystem::create_directories(folder, failure);
    return failure ? folder.string() + ": " + failure.message() : Problem();
}

RunResult RunFrames(const Game &game, const Wad &wad, const Options &options) {
    if (options.window) return RunInWindow(game, wad, options.run, options.windowLog);
    if (options.film) return RunFilm(game, wad, options.run, options.out);
    if (options.serial) return RunSerial(game, options.run);
    if (options.record.empty()) return RunTasks(game, options.run);
    return RunRecorded(game, options.run, options.record);
}

int Main(int count, char **arguments) {
    Options options;
    CLI::App app("Walks through a level of a WAD, and renders each frame as tasks.");
    AddOptions(app, options);
    CLI11_PARSE(app, count, arguments);
    std::tie(options.run.width, options.run.height) = options.size;
    if (options.window && app.count("--frames") == 0) options.run.frames = 0;

    Wad wad;
    Game game;
    Problem problem = ReadWad(options.wad, &wad);
    if (problem.empty()) problem = LoadGame(wad, options.level, &game);
    if (!problem.empty()) return Complain(options.wad + ": " + problem, kBadInput);

    const std::filesystem::path recordFolder = std::filesystem::path(options.record).parent_path();
    if (!options.window) problem = MakeFolder(options.out);
    if (problem.empty()) problem = MakeFolder(recordFolder);
    if (!problem.empty()) return Complain(problem, kFailed);
    if (!options.window) options.run.pictures = options.out;

    const RunResult result = RunFrames(game, wad, options);
    if (!result.problem.empty()) return Complain(result.problem, kFailed);
    std::printf("level        %s: %zu lines, %zu subsectors, %zu monsters\n",
                game.level.name.c_str(), game.level.lines.size(), game.level.subsectors.size(),
                game.start.monsters.size());
    std::printf("workers      %zu%s\n", result.workers.size(),
                options.serial ? " (plain loop)" : "");
    std::printf("frames       %zu of %dx%d\n", result.presentedNs.size(), options.run.width,
                options.run.height);
    PrintTimes(result);
    if (options.window || options.film) return 0;
    if (result.workers.size() > 1) problem = PrintSpeedUp(game, options.run, result);
    if (!problem.empty()) return Complain(problem, kFailed);
    std::printf("hash %016" PRIx64 "\n", result.hash);
    return 0;
}

}  // namespace
}  // namespace frame_loop

int main(int count, char **arguments) { return frame_loop::Main(count, arguments); }
