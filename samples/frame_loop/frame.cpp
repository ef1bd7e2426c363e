#include "frame.h"

#include "image.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>

namespace frame_loop {
namespace {

constexpr int kInFlight = 2,
              kWorlds = kInFlight + 1;  // the newest world is being made while older ones are drawn
constexpr int kMonstersPerTask = 4, kRowsPerTask = 16;

int64_t NowNs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

int PartsOf(int count, int partSize) { return (count + partSize - 1) / partSize; }

class Loop {
public:
    Loop(const Game &game, const RunOptions &options)
        : m_game(game),
          m_options(options),
          m_frames(kInFlight, Frame(options)),
          m_toPresent(static_cast<uint32_t>(options.frames)) {
        m_worlds.fill(game.things.start);
        m_result.workers.resize(1);
    }

    RunResult RunSerial() {
        m_startNs = NowNs();
        for (int frame = 0; frame < m_options.frames; ++frame) {
            MakePicture(frame);
            if (frame + 1 < m_options.frames) MakeWorld(frame + 1);
        }
        return Result();
    }

    RunResult RunTasks() {
        weft::SchedulerOptions options;
        options.workers = m_options.workers;
        weft::TaskScheduler scheduler(options);
        m_scheduler = &scheduler;
        m_result.workers.resize(scheduler.WorkerCount());
        const auto main = [](weft::TaskScheduler *, void *loop) { static_cast<Loop *>(loop)->MainTask(); };
        if (scheduler.Run(main, this) != weft::Status::Ok)
            m_result.error = "the task scheduler could not be started";
        return Result();
    }

private:
    using Work = void (Loop::*)(int frame, int part);
    struct Part {  // what a task is given
        Loop *loop;
        Stage stage;
        Work work;
        int frame, part;
    };
    struct Batch {  // the parts of one stage; they outlive the wait for them
        std::vector<Part> parts;
        std::vector<weft::Task> tasks;
    };
    struct Frame {  // the memory of a frame in flight
        explicit Frame(const RunOptions &options)
            : scene(options.width, options.height), bandHashes(PartsOf(options.height, kRowsPerTask)) {}
        Scene scene;
        std::vector<uint64_t> bandHashes;
        Batch batch;
        Part render{};
    };
    struct Picture {
        Loop *loop;
        std::string path, error;
        std::vector<uint8_t> rgb;
    };

    // Two frames are in flight, and each waits only for what it needs: the world for the one before it, the
    // picture for its world and, to be presented, for the picture before it. m_toPresent counts down over the
    // whole run, so that "frame n has been presented" is a wait for a value that never comes back.
    void MainTask() {
        m_startNs = NowNs();
        for (int frame = 0; frame < m_options.frames; ++frame) {
            WaitUntilPresented(frame - kInFlight);  // its memory is ours now
            Part &render = FrameOf(frame).render;
            render = {this, kVisibility, nullptr, frame, 0};
            m_scheduler->AddTask({RenderTask, &render}, nullptr, NamedOptions("render"));
            if (frame + 1 == m_options.frames) break;
            weft::Counter worldMade;
            Part think{this, kThink, nullptr, frame + 1, 0};
            m_scheduler->AddTask({ThinkTask, &think}, &worldMade, NamedOptions("think"));
            m_scheduler->WaitForCounter(&worldMade);
        }
        m_scheduler->WaitForCounter(&m_toPresent);
        m_scheduler->WaitForCounter(&m_toWrite);
    }

    RunResult Result() {
        for (const Picture &picture : m_pictures)
            if (m_result.error.empty()) m_result.error = picture.error;
        return m_result;
    }

    static void ThinkTask(weft::TaskScheduler *scheduler, void *arg) {
        const Part &part = *static_cast<Part *>(arg);
        const RunOptions &options = part.loop->m_options;
        if (options.onThink != nullptr) options.onThink(scheduler, part.frame, options.user);
        part.loop->MakeWorld(part.frame);
    }

    static void RenderTask(weft::TaskScheduler *scheduler, void *arg) {
        const Part &part = *static_cast<Part *>(arg);
        const RunOptions &options = part.loop->m_options;
        if (options.onRender != nullptr) options.onRender(scheduler, part.frame, options.user);
        part.loop->MakePicture(part.frame);
    }

    void MakeWorld(int frame) {
        const int parts = PartsOf(static_cast<int>(m_game.things.start.monsters.size()), kMonstersPerTask);
        RunStage(kThink, &Loop::ThinkPart, frame, parts, &m_thinkBatch);
        RunStage(kMove, &Loop::MovePart, frame, parts, &m_thinkBatch);
    }

    void MakePicture(int frame) {
        Frame &slot = FrameOf(frame);
        RunStage(kVisibility, &Loop::FindVisiblePart, frame, 1, &slot.batch);
        RunStage(kStrips, &Loop::StripPart, frame, static_cast<int>(slot.scene.strips.size()), &slot.batch);
        RunStage(kCompose, &Loop::ComposePart, frame, static_cast<int>(slot.bandHashes.size()), &slot.batch);
        if (m_scheduler != nullptr) WaitUntilPresented(frame - 1);
        RunStage(kPresent, &Loop::PresentPart, frame, 1, &slot.batch);
        if (frame % kFramesPerPicture == 0 && !m_options.pictures.empty()) StartPicture(frame);
        if (m_scheduler != nullptr) m_scheduler->DecrementCounter(&m_toPresent);
    }

    void WaitUntilPresented(int frame) {
        if (frame >= 0)
            m_scheduler->WaitForCounter(&m_toPresent, static_cast<uint32_t>(m_options.frames - frame - 1));
    }

    void RunStage(Stage stage, Work work, int frame, int parts, Batch *batch) {
        batch->parts.clear();
        batch->tasks.clear();
        for (int part = 0; part < parts; ++part) batch->parts.push_back({this, stage, work, frame, part});
        if (m_scheduler == nullptr) {
            for (const Part &part : batch->parts) RunPart(part, 0);
            return;
        }
        for (Part &part : batch->parts) batch->tasks.push_back({PartTask, &part});
        if (parts == 0) return;
        weft::Counter counter;
        m_scheduler->AddTasks(static_cast<uint32_t>(parts), batch->tasks.data(), &counter,
                              NamedOptions(kStageNames[stage]));
        m_scheduler->WaitForCounter(&counter);
    }

    static void PartTask(weft::TaskScheduler *scheduler, void *arg) {
        const Part &part = *static_cast<Part *>(arg);
        part.loop->RunPart(part, scheduler->CurrentWorker());
    }

    void RunPart(const Part &part, uint32_t worker) {
        const int64_t start = NowNs();
        (this->*part.work)(part.frame, part.part);
        Account(worker, part.stage, NowNs() - start);
    }

    void Account(uint32_t worker, Stage stage, int64_t ns) {
        WorkerShare &share = m_result.workers[worker];
        ++share.tasks;
        share.stageNs[stage] += ns;
    }

    void ThinkPart(int frame, int part) {
        const int first = part * kMonstersPerTask;
        const World &now = WorldOf(frame - 1);
        const int last = std::min(first + kMonstersPerTask, static_cast<int>(now.monsters.size()));
        Think(m_game.level, m_game.things, EyeOf(frame - 1), now, &WorldOf(frame), first, last);
    }

    void MovePart(int frame, int part) {
        const int first = part * kMonstersPerTask;
        const World &now = WorldOf(frame - 1);
        const int last = std::min(first + kMonstersPerTask, static_cast<int>(now.monsters.size()));
        Move(m_game.level, m_game.things, now, &WorldOf(frame), first, last);
    }

    void FindVisiblePart(int frame, int) {
        FindVisible(m_game, EyeOf(frame), WorldOf(frame), &FrameOf(frame).scene);
    }

    void StripPart(int frame, int strip) { DrawStrip(m_game, &FrameOf(frame).scene, strip); }

    void ComposePart(int frame, int band) {
        Frame &slot = FrameOf(frame);
        const int first = band * kRowsPerTask, last = std::min(first + kRowsPerTask, m_options.height);
        slot.bandHashes[band] = ComposeRows(m_game, &slot.scene, first, last);
    }

    void PresentPart(int frame, int) {
        const Frame &slot = FrameOf(frame);
        uint64_t hash = kHashStart;
        for (const uint64_t band : slot.bandHashes) hash = HashStep(hash, band);
        m_result.frameHashes.push_back(hash);
        m_result.hash = HashStep(m_result.hash, hash);
        m_result.presentedNs.push_back(NowNs() - m_startNs);
    }

    // Encoding takes longer than a frame: the picture gets its own copy and holds nobody up.
    void StartPicture(int frame) {
        char name[32];
        std::snprintf(name, sizeof name, "/frame_%05d.png", frame);
        m_pictures.push_back({this, m_options.pictures + name, {}, FrameOf(frame).scene.rgb});
        if (m_scheduler == nullptr) return WritePicture(&m_pictures.back(), 0);
        const weft::TaskOptions options{weft::Priority::Low, weft::StackClass::Large, kStageNames[kPicture]};
        m_scheduler->AddTask({PictureTask, &m_pictures.back()}, &m_toWrite, options);
    }

    static void PictureTask(weft::TaskScheduler *scheduler, void *arg) {
        Picture *picture = static_cast<Picture *>(arg);
        picture->loop->WritePicture(picture, scheduler->CurrentWorker());
    }

    void WritePicture(Picture *picture, uint32_t worker) {
        const int64_t start = NowNs();
        picture->error = WritePng(picture->path, m_options.width, m_options.height, picture->rgb);
        picture->rgb = {};
        Account(worker, kPicture, NowNs() - start);
    }

    static weft::TaskOptions NamedOptions(const char *name) {
        return {weft::Priority::Normal, weft::StackClass::Small, name};
    }
    Frame &FrameOf(int frame) { return m_frames[frame % kInFlight]; }
    World &WorldOf(int frame) { return m_worlds[frame % kWorlds]; }
    const Viewpoint &EyeOf(int frame) const { return m_game.path[frame % m_game.path.size()]; }

    const Game &m_game;
    const RunOptions &m_options;
    weft::TaskScheduler *m_scheduler = nullptr;  // null in the plain loop
    std::vector<Frame> m_frames;
    std::array<World, kWorlds> m_worlds;
    Batch m_thinkBatch;
    std::deque<Picture> m_pictures;  // a deque: it grows while tasks write older ones
    weft::Counter m_toPresent, m_toWrite;
    int64_t m_startNs = 0;
    RunResult m_result;
};

}  // namespace

RunResult RunTasks(const Game &game, const RunOptions &options) { return Loop(game, options).RunTasks(); }
RunResult RunSerial(const Game &game, const RunOptions &options) { return Loop(game, options).RunSerial(); }

}  // namespace frame_loop
