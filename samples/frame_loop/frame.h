// The loop over the frames. RunTasks makes the world of frame n + 1 at the same time as the picture
// of frame n, in tasks of weft. RunSerial is a plain loop that does the same work in sequence.
#pragma once

#include "render.h"

#include <weft/task_scheduler.h>

namespace weft {
class Recorder;
}

namespace frame_loop {

enum Stage : int { kThink, kMove, kVisibility, kStrips, kCompose, kPresent, kPicture, kStages };
inline constexpr std::array<const char *, kStages> kStageNames{
    "think", "move", "visibility", "strips", "compose", "present", "picture"};

inline constexpr uint32_t kMaxAttached = 1;  // the least that a scheduler accepts

struct RunOptions {
    int width = 640, height = 400, frames = 600;
    uint32_t workers = weft::kAnyWorker;
    std::string pictures;  // an existing directory for a PNG of every 60th frame; empty: none
    bool makesThumbnails = false;
    bool watches = false;                    // shows what the scheduler does; not in RunSerial
    weft::Recorder *recorder = nullptr;      // RunSerial does not use it
    weft::StackMeter *stackMeter = nullptr;  // RunSerial does not use it

    // Called at the beginning of the tasks that make the world and the picture of a frame.
    // RunSerial does not call them.
    using Hook = void (*)(weft::TaskScheduler *scheduler, int frame, void *user);
    Hook onThink = nullptr, onRender = nullptr;
    void *user = nullptr;
};

struct alignas(64) WorkerShare {  // a cache line for each worker
    uint64_t tasks = 0;
    std::array<int64_t, kStages> stageNs{};
};

struct Thumbnail {
    int width, height;
    std::vector<uint8_t> pixels;  // palette indices, row after row
};

struct RunResult {
    Problem problem;
    uint64_t hash = kHashStart;
    std::vector<uint64_t> frameHashes;
    std::vector<int64_t> presentedNs;  // of each frame, since the loop began
    std::vector<WorkerShare> workers;
    std::vector<Thumbnail> thumbnails;  // of each frame
};

RunResult RunTasks(const Game &game, const RunOptions &options);
RunResult RunSerial(const Game &game, const RunOptions &options);

}  // namespace frame_loop
