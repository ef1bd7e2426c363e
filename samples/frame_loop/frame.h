// The loop over the frames. RunTasks makes the world of frame n + 1 at the same time as the picture
// of frame n, in tasks of weft. RunSerial is a plain loop that does the same work in sequence.
#pragma once

#include "render.h"

#include <weft/task_scheduler.h>

namespace frame_loop {

enum Stage : int { kThink, kMove, kVisibility, kStrips, kCompose, kPresent, kPicture, kStages };
inline constexpr std::array<const char *, kStages> kStageNames{
    "think", "move", "visibility", "strips", "compose", "present", "picture"};

struct RunOptions {
    int width = 640, height = 400, frames = 600;
    uint32_t workers = weft::kAnyWorker;
    std::string pictures;  // an existing directory for a PNG of every 60th frame; empty: none

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

struct RunResult {
    Problem problem;
    uint64_t hash = kHashStart;
    std::vector<uint64_t> frameHashes;
    std::vector<int64_t> presentedNs;  // of each frame, since the loop began
    std::vector<WorkerShare> workers;
};

RunResult RunTasks(const Game &game, const RunOptions &options);
RunResult RunSerial(const Game &game, const RunOptions &options);

}  // namespace frame_loop
