// The loop over the frames. RunTasks makes the world of frame n + 1 at the same time as the picture
// of frame n, in tasks of weft. RunSerial is a plain loop that does the same work in sequence.
#pragma once

#include "render.h"

#include <weft/frame/frame_params.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>

#include <optional>

namespace weft {
class Recorder;
}

namespace frame_loop {

enum Stage : int { kThink, kMove, kVisibility, kStrips, kCompose, kPresent, kPicture, kStages };
inline constexpr std::array<const char *, kStages> kStageNames{
    "think", "move", "visibility", "strips", "compose", "present", "picture"};

inline constexpr uint32_t kMaxAttached = 1;  // the least that a scheduler accepts

struct Span {  // a task of a frame: where and when it ran, nanoseconds of the steady clock
    Stage stage;
    uint32_t worker;
    int64_t begin, end;
};

// The stages of the frames, with a screen
enum Turn : uint32_t { kPace, kWorld, kRender, kShow, kTurns };

struct ShownFrame {  // what a Screen gets
    const weft::FrameParams &params;
    const weft::FrameRing &frames;  // all frames before this one have their stamps
    weft::TaskScheduler &scheduler;
    const Viewpoint &eye;
    const World &world;
    const std::vector<Span> &spans;  // of the tasks of this frame
    Scene &scene;                    // the screen may draw on its `rgb`
};

// Shows the frames of RunTasks while they are made, and may move the viewer. The members are called
// by one stage each, so for one frame after the other.
class Screen {
public:
    static constexpr int kFramesPerSecond = 60;
    virtual ~Screen() = default;
    // Waits until the next frame is to begin: 1/60 s after the one before it. Called on any worker.
    virtual void Pace(weft::TaskScheduler &scheduler);
    // Returns the viewpoint of the next frame, or nothing: then the viewer follows the path of the
    // game. `now` is the world before. Called on any worker.
    virtual std::optional<Viewpoint> Move(const Game & /*game*/, const Viewpoint & /*before*/,
                                          const World & /*now*/) {
        return {};
    }
    // Shows a frame. Returns false to end the run; a later frame that has begun is shown, too.
    // Called on the thread that called RunTasks, with a stack of 4 MiB.
    virtual bool Show(const ShownFrame &frame) = 0;

private:
    weft::Clock::time_point m_next{};
};

struct RunOptions {
    Screen *screen = nullptr;  // RunSerial does not use it; then 0 frames are frames without an end
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
