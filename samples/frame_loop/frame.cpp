#include "frame.h"

#include <png.h>

#include <chrono>
#include <deque>

namespace frame_loop {
namespace {

constexpr int kInFlight = 2, kWorlds = kInFlight + 1;  // the newest world is made while older ones are drawn
constexpr int kFramesPerPicture = 60, kRowsPerTask = 16;
constexpr size_t kMonstersPerTask = 4;

int64_t NowNs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

class Loop {
public:
    Loop(const Game &game, const RunOptions &options)
        : m_game(game),
          m_options(options),
          m_frames(kInFlight, Frame(options)),
          m_toPresent(static_cast<uint32_t>(options.frames)) {
        m_worlds.fill(game.start);
        m_result.workers.resize(1);
    }

    RunResult RunSerial() {
        m_startNs = NowNs();
        for (int frame = 0; frame < m_options.frames; ++frame) {
            MakePicture(frame);
            if (frame + 1 < m_options.frames) MakeWorld(frame + 1);
        }
        return Finish();
    }

    RunResult RunTasks() {
        weft::SchedulerOptions options;
        options.workers = m_options.workers;
        weft::TaskScheduler scheduler(options);
        m_scheduler = &scheduler;
        m_result.workers.resize(scheduler.WorkerCount());
        const auto main = [](weft::TaskScheduler *, void *loop) { static_cast<Loop *>(loop)->MainTask(); };
        if (scheduler.Run(main, this) != weft::Status::Ok)
            Report(&m_result.problem, "the task scheduler could not be started");
        return Finish();
    }

private:
    struct FrameTask {  // makes a frame's world or its picture
        Loop *loop;
        int frame;
        bool render;
        void operator()(weft::TaskScheduler *scheduler) const {
            const RunOptions &options = loop->m_options;
            const auto hook = render ? options.onRender : options.onThink;
            if (hook != nullptr) hook(scheduler, frame, options.user);
            render ? loop->MakePicture(frame) : loop->MakeWorld(frame);
        }
    };
    struct Frame {  // the memory of a frame in flight
        explicit Frame(const RunOptions &options)
            : scene(options.width, options.height), bands((options.height + kRowsPerTask - 1) / kRowsPerTask) {}
        Scene scene;
        std::vector<uint64_t> bands;  // their hashes
        FrameTask render{};
    };
    struct Picture {
        Loop *loop;
        std::string path;
        std::vector<uint8_t> rgb;
        Problem problem;
        void operator()(weft::TaskScheduler *) {
            loop->Measure(kPicture, [this] { loop->Write(this); });
        }
    };

    // Two frames are in flight, and each waits only for what it needs: the world for the one before it, the
    // picture for its world and, to be presented, for the picture before it. m_toPresent counts down over the
    // whole run, so that "frame n has been presented" is a wait for a value that never comes back.
    void MainTask() {
        m_startNs = NowNs();
        for (int frame = 0; frame < m_options.frames; ++frame) {
            WaitUntilPresented(frame - kInFlight);  // its memory is free now
            Slot(frame).render = {this, frame, true};
            m_scheduler->AddTask(weft::TaskOf(Slot(frame).render), nullptr,
                                 {weft::Priority::Normal, weft::StackClass::Small, weft::kAnyWorker, "render"});
            if (frame + 1 == m_options.frames) break;
            weft::Counter made;
            FrameTask world{this, frame + 1, false};
            m_scheduler->AddTask(weft::TaskOf(world), &made,
                                 {weft::Priority::Normal, weft::StackClass::Small, weft::kAnyWorker, "world"});
            m_scheduler->WaitForCounter(&made);
        }
        m_scheduler->WaitForCounter(&m_toPresent);
        m_scheduler->WaitForCounter(&m_toWrite);
    }

    void WaitUntilPresented(int frame) {
        if (m_scheduler != nullptr && frame >= 0)
            m_scheduler->WaitForCounter(&m_toPresent, static_cast<uint32_t>(m_options.frames - frame - 1));
    }

    void MakeWorld(int frame) {
        const World &now = WorldOf(frame - 1);
        World &next = WorldOf(frame);
        const size_t tasks = (now.size() + kMonstersPerTask - 1) / kMonstersPerTask;
        const auto last = [&](size_t first) { return std::min(first + kMonstersPerTask, now.size()); };
        RunStage(kThink, tasks, [&](size_t task) {
            const size_t first = task * kMonstersPerTask;
            Think(m_game, EyeOf(frame - 1), now, &next, first, last(first));
        });
        RunStage(kMove, tasks, [&](size_t task) {
            const size_t first = task * kMonstersPerTask;
            Move(m_game, now, &next, first, last(first));
        });
    }

    void MakePicture(int frame) {
        Scene &scene = Slot(frame).scene;
        std::vector<uint64_t> &bands = Slot(frame).bands;
        RunStage(kVisibility, 1, [&](size_t) { FindVisible(m_game, EyeOf(frame), WorldOf(frame), &scene); });
        RunStage(kStrips, scene.strips.size(), [&](size_t strip) { DrawStrip(m_game, &scene, strip); });
        RunStage(kCompose, bands.size(), [&](size_t band) {
            const int first = static_cast<int>(band) * kRowsPerTask;
            bands[band] = ComposeRows(m_game, &scene, first, std::min(first + kRowsPerTask, scene.height));
        });
        WaitUntilPresented(frame - 1);
        RunStage(kPresent, 1, [&](size_t) { Present(frame); });
        if (frame % kFramesPerPicture == 0 && !m_options.pictures.empty()) StartPicture(frame);
        if (m_scheduler != nullptr) m_scheduler->DecrementCounter(&m_toPresent);
    }

    // Runs work(0) to work(count - 1) as tasks and waits for them; without a scheduler one after the other.
    template <class Work>
    void RunStage(Stage stage, size_t count, const Work &work) {
        struct Part {
            Loop *loop;
            Stage stage;
            const Work *work;
            size_t index;
            void operator()(weft::TaskScheduler *) const {
                loop->Measure(stage, [this] { (*work)(index); });
            }
        };
        std::vector<Part> parts;
        std::vector<weft::Task> tasks;
        for (size_t i = 0; i < count; ++i) parts.push_back({this, stage, &work, i});
        if (m_scheduler == nullptr) {
            for (const Part &part : parts) part(nullptr);
        } else if (count != 0) {
            for (Part &part : parts) tasks.push_back(weft::TaskOf(part));
            weft::Counter toDo;
            m_scheduler->AddTasks(
                static_cast<uint32_t>(count), tasks.data(), &toDo,
                {weft::Priority::Normal, weft::StackClass::Small, weft::kAnyWorker, kStageNames[stage]});
            m_scheduler->WaitForCounter(&toDo);
        }
    }

    template <class Work>
    void Measure(Stage stage, const Work &work) {  // for work that does not wait
        WorkerShare &share = m_result.workers[m_scheduler == nullptr ? 0 : m_scheduler->CurrentWorker()];
        const int64_t start = NowNs();
        work();
        share.stageNs[stage] += NowNs() - start;
        ++share.tasks;
    }

    void Present(int frame) {
        const Frame &slot = Slot(frame);
        uint64_t hash = kHashStart;
        for (const uint64_t band : slot.bands) hash = HashStep(hash, band);
        m_result.frameHashes.push_back(hash);
        m_result.hash = HashStep(m_result.hash, hash);
        m_result.presentedNs.push_back(NowNs() - m_startNs);
    }

    // Encoding a picture takes longer than a frame: it gets its own copy and a task that no frame waits for.
    void StartPicture(int frame) {
        const std::string number = std::to_string(frame), zeros(6 - std::min<size_t>(number.size(), 6), '0');
        m_pictures.push_back(
            {this, m_options.pictures + "/frame_" + zeros + number + ".png", Slot(frame).scene.rgb, {}});
        if (m_scheduler == nullptr) return m_pictures.back()(nullptr);
        m_scheduler->AddTask(weft::TaskOf(m_pictures.back()), &m_toWrite,
                             {weft::Priority::Low, weft::StackClass::Large, weft::kAnyWorker, "picture"});
    }

    void Write(Picture *picture) {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        image.width = static_cast<png_uint_32>(m_options.width);
        image.height = static_cast<png_uint_32>(m_options.height);
        image.format = PNG_FORMAT_RGB;
        image.flags = PNG_IMAGE_FLAG_FAST;
        if (png_image_write_to_file(&image, picture->path.c_str(), 0, picture->rgb.data(), 0, nullptr) == 0)
            picture->problem = picture->path + " cannot be written: " + image.message;
        picture->rgb = {};
    }

    RunResult Finish() {
        for (const Picture &picture : m_pictures) Report(&m_result.problem, picture.problem);
        return m_result;
    }

    Frame &Slot(int frame) { return m_frames[frame % kInFlight]; }
    World &WorldOf(int frame) { return m_worlds[frame % kWorlds]; }
    const Viewpoint &EyeOf(int frame) const { return m_game.path[frame % m_game.path.size()]; }

    const Game &m_game;
    const RunOptions &m_options;
    weft::TaskScheduler *m_scheduler = nullptr;  // null in the plain loop
    std::vector<Frame> m_frames;
    std::array<World, kWorlds> m_worlds;
    std::deque<Picture> m_pictures;  // a deque: it grows while tasks write older ones
    weft::Counter m_toPresent, m_toWrite;
    int64_t m_startNs = 0;
    RunResult m_result;
};

}  // namespace

RunResult RunTasks(const Game &game, const RunOptions &options) { return Loop(game, options).RunTasks(); }
RunResult RunSerial(const Game &game, const RunOptions &options) { return Loop(game, options).RunSerial(); }

}  // namespace frame_loop
