// A small but real game frame on weft: monsters think and move while a viewer walks through a level, and
// every frame is found, drawn, composed and presented as tasks.
//
//     frame_loop --workers 4 --frames 600 --level E1M1
#include "options.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <numeric>

namespace frame_loop {
namespace {

constexpr int kBadInput = 2, kFailed = 1, kComparedFrames = 300;

int Complain(const std::string &message, int code) {
    std::fprintf(stderr, "frame_loop: %s\n", message.c_str());
    return code;
}

double Milliseconds(int64_t ns) { return static_cast<double>(ns) / 1e6; }

void PrintFrameTimes(const RunResult &result) {
    std::vector<int64_t> times(result.presentedNs.size());
    std::adjacent_difference(result.presentedNs.begin(), result.presentedNs.end(), times.begin());
    std::sort(times.begin(), times.end());
    const auto percentile = [&](size_t percent) {
        return Milliseconds(times[(times.size() * percent + 99) / 100 - 1]);
    };
    std::printf(
        "frame time    p50 %.2f  p95 %.2f  p99 %.2f  max %.2f ms (from one presented frame to the next)\n",
        percentile(50), percentile(95), percentile(99), percentile(100));
}

void PrintWork(const RunResult &result) {
    std::array<int64_t, kStages> stages{};
    int64_t all = 0;
    for (const WorkerShare &share : result.workers)
        for (int stage = 0; stage < kStages; ++stage) {
            stages[stage] += share.stageNs[stage];
            all += share.stageNs[stage];
        }
    const double frames = static_cast<double>(result.presentedNs.size());
    for (int stage = 0; stage < kStages; ++stage)
        std::printf("stage         %-10s %7.3f ms a frame, all workers together\n", kStageNames[stage],
                    Milliseconds(stages[stage]) / frames);
    for (size_t worker = 0; worker < result.workers.size(); ++worker) {
        const auto &ns = result.workers[worker].stageNs;
        const double work = static_cast<double>(std::accumulate(ns.begin(), ns.end(), int64_t{0}));
        std::printf("worker %-4zu   %5.1f %% of the work, %" PRIu64 " tasks\n", worker,
                    100 * work / static_cast<double>(std::max<int64_t>(all, 1)),
                    result.workers[worker].tasks);
    }
}

// Against a real run of the first frames with one worker; the pictures must be the same, too.
std::string PrintSpeedUp(const Game &game, const Options &options, const RunResult &result) {
    Options one = options;
    one.run.workers = 1;
    one.run.frames = std::min(options.run.frames, kComparedFrames);
    const RunResult compared = RunTasks(game, one.run);
    if (!compared.error.empty()) return compared.error;
    const size_t last = compared.presentedNs.size() - 1;
    for (size_t i = 0; i <= last; ++i)
        if (compared.frameHashes[i] != result.frameHashes[i])
            return "frame " + std::to_string(i) + " differs from that of one worker";
    std::printf(
        "speed-up      %.2f over one worker (frames 0 to %zu: %.1f ms against %.1f ms)\n",
        static_cast<double>(compared.presentedNs[last]) / static_cast<double>(result.presentedNs[last]), last,
        Milliseconds(result.presentedNs[last]), Milliseconds(compared.presentedNs[last]));
    return {};
}

int Main(int count, char **arguments) {
    Options options;
    std::string error = ParseOptions(count, arguments, &options);
    if (!error.empty()) return Complain(error + "\n" + kUsage, kBadInput);
    if (options.help) return std::fputs(kUsage, stdout) < 0 ? kFailed : 0;

    Wad wad;
    Game game;
    error = ReadWad(options.wad, &wad);
    if (error.empty() && !(error = LoadGame(wad, options.level, &game)).empty())
        error = options.wad + ": " + error;
    if (!error.empty()) return Complain(error, kBadInput);

    std::error_code failure;
    std::filesystem::create_directories(options.out, failure);
    if (failure) return Complain(options.out + ": " + failure.message(), kFailed);
    options.run.pictures = options.out;

    const RunResult result = options.serial ? RunSerial(game, options.run) : RunTasks(game, options.run);
    if (!result.error.empty()) return Complain(result.error, kFailed);
    std::printf("level         %s: %zu lines, %zu subsectors, %zu monsters\n", game.level.name.c_str(),
                game.level.lines.size(), game.level.subsectors.size(), game.things.start.monsters.size());
    std::printf("workers       %zu%s\nframes        %d of %dx%d\n", result.workers.size(),
                options.serial ? " (plain loop)" : "", options.run.frames, options.run.width,
                options.run.height);
    PrintFrameTimes(result);
    PrintWork(result);
    if (!options.serial) error = PrintSpeedUp(game, options, result);
    if (!error.empty()) return Complain(error, kFailed);
    std::printf("hash %016" PRIx64 "\n", result.hash);
    return 0;
}

}  // namespace
}  // namespace frame_loop

int main(int count, char **arguments) { return frame_loop::Main(count, arguments); }
