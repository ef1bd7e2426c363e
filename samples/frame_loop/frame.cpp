// Runs the frames: as tasks in a frame pipeline, or one after the other.
#include "frame.h"

#include "picture_file.h"
#include "watch.h"

#include <weft/frame/frame_pipeline.h>
#include <weft/frame/scratch_arena.h>
#include <weft/frame/tagged_heap.h>
#include <weft/trace/marks.h>

#include <chrono>
#include <deque>

namespace frame_loop {
namespace {

// the world of a frame is made while the picture of the frame before it is drawn
constexpr uint32_t kInFlight = 2;
constexpr int kFramesPerPicture = 60, kRowsPerTask = 16;
constexpr size_t kMonstersPerTask = 4;

int64_t NowNs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

weft::SchedulerOptions SchedulerOptionsOf(const RunOptions &options) {
    weft::SchedulerOptions result;
    result.workers = options.workers;
    result.maxAttached = kMaxAttached;
    result.recorder = options.recorder;
    result.stackMeter = options.stackMeter;
    if (options.screen != nullptr) result.stackBytes = 4 << 20;  // graphics drivers need much
    return result;
}

// Takes the pixels in the middle of equal parts of the picture.
Thumbnail ThumbnailOf(const Scene &scene) {
    constexpr int kWidth = 96;
    const int width = std::min(kWidth, scene.width),
              height = std::max(1, scene.height * width / scene.width);
    Thumbnail result{width, height, {}};
    result.pixels.reserve(size_t{1} * width * height);
    for (int y = 0; y < height; ++y) {
        const int row = (2 * y + 1) * scene.height / (2 * height);
        for (int x = 0; x < width; ++x) {
            const int column = (2 * x + 1) * scene.width / (2 * width);
            result.pixels.push_back(scene.pixels[size_t{1} * column * scene.height + row]);
        }
    }
    return result;
}

class Loop {
public:
    Loop(const Game &game, const RunOptions &options)
        : m_game(game),
          m_options(options),
          m_schedulerOptions(SchedulerOptionsOf(options)),
          m_scheduler(m_schedulerOptions),
          m_frames(kInFlight, Frame(game, options)) {
        if (m_blocks.BlockCount() == 0 || m_scratch.BlockCount() == 0 || m_heap.TagCount() == 0)
            Report(&m_result.problem, "there is no memory for the frames");
    }

    RunResult RunSerial() {
        m_result.workers.resize(1);
        m_startNs = NowNs();
        for (int frame = 0; frame < m_options.frames && m_result.problem.empty(); ++frame) {
            const weft::FrameParams params{static_cast<uint64_t>(frame),
                                           static_cast<uint32_t>(frame) % kInFlight};
            MakeWorld(params);
            MakePicture(params);
            Present(params);
        }
        return Finish();
    }

    RunResult RunTasks() {
        m_result.workers.resize(m_scheduler.WorkerCount());
        const auto main = [](weft::TaskScheduler *, void *loop) {
            static_cast<Loop *>(loop)->MainTask();
        };
        if (m_result.problem.empty() && m_scheduler.Run(main, this) != weft::Status::Ok)
            Report(&m_result.problem, "the task scheduler could not be started");
        return Finish();
    }

private:
    struct alignas(64) WorkerSpans {  // a cache line for each worker
        std::vector<Span> spans;
    };
    struct Frame {  // the memory of a frame in flight
        Frame(const Game &game, const RunOptions &options)
            : world(game.start), eye(game.path[0]), scene(options.width, options.height) {}
        World world;
        Viewpoint eye;
        Scene scene;
        uint64_t *bands = nullptr;       // hashes; freed with the tag of the frame
        std::vector<WorkerSpans> spans;  // for a screen
    };
    struct Picture {  // is written to a file
        Loop *loop;
        std::string path;
        std::vector<uint8_t> rgb;
        Problem problem;
        void operator()(weft::TaskScheduler *) {
            loop->Measure(kPicture, nullptr, [this] { loop->Write(this); });
        }
    };

    static weft::TaskOptions Named(const char *name,
                                   weft::Priority priority = weft::Priority::Normal) {
        return {priority, weft::kAnyWorker, name};
    }

    // The frames of a screen: each one begins at its time, and is shown on worker 0, which is the
    // thread that called RunTasks.
    void RunOnScreen() {
        for (Frame &frame : m_frames) frame.spans.resize(m_scheduler.WorkerCount());
        weft::FramePipeline *running = nullptr;
        auto pace = [this](weft::TaskScheduler *, const weft::FrameParams &) {
            m_options.screen->Pace(m_scheduler);
        };
        auto world = [this](weft::TaskScheduler *, const weft::FrameParams &params) {
            MakeWorld(params);
        };
        auto render = [this](weft::TaskScheduler *, const weft::FrameParams &params) {
            MakePicture(params);
        };
        auto show = [&](weft::TaskScheduler *, const weft::FrameParams &params) {
            Frame &frame = m_frames[params.slot];
            Present(params);
            std::vector<Span> spans;
            for (const WorkerSpans &of : frame.spans)
                spans.insert(spans.end(), of.spans.begin(), of.spans.end());
            if (!m_options.screen->Show({params, running->Frames(), m_scheduler, frame.eye,
                                         frame.world, spans, frame.scene}))
                running->Stop();
        };
        const weft::FrameStage stages[kTurns] = {
            weft::MakeStage(pace, Named("pace")), weft::MakeStage(world, Named("world")),
            weft::MakeStage(render, Named("render")),
            weft::MakeStage(show, {weft::Priority::High, 0, "show"})};
        weft::FramePipeline pipeline(m_schedulerOptions, kTurns, stages, kInFlight);
        running = &pipeline;
        m_startNs = NowNs();
        pipeline.Run(&m_scheduler, m_options.frames == 0 ? weft::FramePipeline::kEndless
                                                         : static_cast<uint32_t>(m_options.frames));
    }

    void MainTask() {
        if (m_options.screen != nullptr) return RunOnScreen();
        auto world = [this](weft::TaskScheduler *, const weft::FrameParams &params) {
            MakeWorld(params);
        };
        auto render = [this](weft::TaskScheduler *, const weft::FrameParams &params) {
            MakePicture(params);
        };
        auto show = [this](weft::TaskScheduler *, const weft::FrameParams &params) {
            Present(params);
        };
        // High: a frame is shown before the tasks of the next frame are run
        const weft::FrameStage stages[] = {
            weft::MakeStage(world, Named("world")), weft::MakeStage(render, Named("render")),
            weft::MakeStage(show, Named("show", weft::Priority::High))};
        weft::FramePipeline pipeline(m_schedulerOptions, 3, stages, kInFlight);
        weft::NameCounter(m_scheduler, &m_toWrite, "pictures to write");
        m_startNs = NowNs();
        pipeline.Run(&m_scheduler, static_cast<uint32_t>(m_options.frames));
        m_scheduler.WaitForCounter(&m_toWrite);
    }

    void MakeWorld(const weft::FrameParams &params) {
        if (params.frame == 0) return;  // the first world exists already
        Announce(m_options.onThink, params);
        const Frame &before = m_frames[(params.slot + kInFlight - 1) % kInFlight];
        Frame &frame = m_frames[params.slot];
        for (WorkerSpans &of : frame.spans) of.spans.clear();
        const World &now = before.world;
        World &next = frame.world;
        std::optional<Viewpoint> moved;
        if (m_options.screen != nullptr) moved = m_options.screen->Move(m_game, before.eye, now);
        frame.eye = moved.value_or(m_game.path[params.frame % m_game.path.size()]);
        if (moved.has_value()) {
            OpenDoors(m_game.level, frame.eye, now, &next);
        } else {
            OpenDoorsOnPath(m_game, params.frame, now, &next);
        }
        const size_t monsters = now.monsters.size();
        const size_t tasks = (monsters + kMonstersPerTask - 1) / kMonstersPerTask;
        const auto last = [&](size_t first) {
            return std::min(first + kMonstersPerTask, monsters);
        };
        RunStage(kThink, &frame, tasks, [&](size_t task) {
            const size_t first = task * kMonstersPerTask;
            Think(m_game, before.eye, now, &next, first, last(first));
        });
        RunStage(kMove, &frame, tasks, [&](size_t task) {
            const size_t first = task * kMonstersPerTask;
            Move(m_game, now, &next, first, last(first));
        });
    }

    void MakePicture(const weft::FrameParams &params) {
        Announce(m_options.onRender, params);
        Frame &frame = m_frames[params.slot];
        Scene &scene = frame.scene;
        frame.bands = m_heap.NewArray<uint64_t>(params.slot, Bands());
        RunStage(kVisibility, &frame, 1,
                 [&](size_t) { FindVisible(m_game, frame.eye, frame.world, &scene); });
        RunStage(kStrips, &frame, scene.strips.size(),
                 [&](size_t strip) { DrawStrip(m_game, frame.world, &scene, strip); });
        RunStage(kCompose, &frame, Bands(), [&](size_t band) {
            const int first = static_cast<int>(band) * kRowsPerTask;
            frame.bands[band] =
                ComposeRows(m_game, &scene, first, std::min(first + kRowsPerTask, scene.height));
        });
    }

    void Present(const weft::FrameParams &params) {
        Measure(kPresent, &m_frames[params.slot], [&] {
            uint64_t hash = kHashStart;
            for (size_t i = 0; i < Bands(); ++i)
                hash = HashStep(hash, m_frames[params.slot].bands[i]);
            m_result.frameHashes.push_back(hash);
            m_result.hash = HashStep(m_result.hash, hash);
            m_result.presentedNs.push_back(NowNs() - m_startNs);
        });
        if (m_options.watches && weft::TaskScheduler::Current() != nullptr)
            m_watch.Show(params.frame + 1, m_result.presentedNs.back());
        if (m_options.makesThumbnails)
            m_result.thumbnails.push_back(ThumbnailOf(m_frames[params.slot].scene));
        if (params.frame % kFramesPerPicture == 0 && !m_options.pictures.empty())
            StartPicture(params);
        m_heap.Free(params.slot);
    }

    void Announce(RunOptions::Hook hook, const weft::FrameParams &params) {
        if (hook != nullptr && weft::TaskScheduler::Current() != nullptr)
            hook(&m_scheduler, static_cast<int>(params.frame), m_options.user);
    }

    // Runs work(0) to work(count - 1) as tasks and waits for them. The plain loop runs them one
    // after the other.
    template <class Work>
    void RunStage(Stage stage, Frame *frame, size_t count, const Work &work) {
        const auto run = [&](size_t index) { Measure(stage, frame, [&] { work(index); }); };
        struct Part {
            const decltype(run) *call;
            size_t index;
            void operator()(weft::TaskScheduler *) const { (*call)(index); }
        };
        weft::ScratchArena arena(m_scratch);
        Part *parts = arena.NewArray<Part>(count);
        weft::Task *tasks = arena.NewArray<weft::Task>(count);
        const bool asTasks =
            weft::TaskScheduler::Current() != nullptr && parts != nullptr && tasks != nullptr;
        for (size_t i = 0; i < count; ++i) {
            if (!asTasks) {
                run(i);
            } else {
                tasks[i] = weft::MakeTask(parts[i] = {&run, i});
            }
        }
        if (!asTasks) return;
        weft::Counter left;
        weft::NameCounter(m_scheduler, &left, kStageNames[stage]);
        m_scheduler.AddTasks(static_cast<uint32_t>(count), tasks, &left, Named(kStageNames[stage]));
        m_scheduler.WaitForCounter(&left);
    }

    template <class Work>
    void Measure(Stage stage, Frame *frame, const Work &work) {  // `work` must not wait
        const bool asTask = weft::TaskScheduler::Current() != nullptr;
        const uint32_t worker = asTask ? m_scheduler.CurrentWorker() : 0;
        WorkerShare &share = m_result.workers[worker];
        const int64_t start = NowNs();
        work();
        const int64_t end = NowNs();
        share.stageNs[stage] += end - start;
        ++share.tasks;
        // Only this worker writes there, and nothing reads it before the task has finished.
        if (frame != nullptr && !frame->spans.empty())
            frame->spans[worker].spans.push_back({stage, worker, start, end});
    }

    // Encoding a picture takes longer than a frame. So it uses a copy of the picture, and no frame
    // waits for its task.
    void StartPicture(const weft::FrameParams &params) {
        m_pictures.push_back({this,
                              PicturePath(m_options.pictures, params.frame),
                              m_frames[params.slot].scene.rgb,
                              {}});
        if (weft::TaskScheduler::Current() == nullptr) return m_pictures.back()(nullptr);
        m_scheduler.AddTask(weft::MakeTask(m_pictures.back()), &m_toWrite,
                            {weft::Priority::Low, weft::kAnyWorker, "picture"});
    }

    void Write(Picture *picture) {
        picture->problem =
            WritePng(picture->path, m_options.width, m_options.height, picture->rgb.data());
        picture->rgb = {};
    }

    RunResult Finish() {
        for (const Picture &picture : m_pictures) Report(&m_result.problem, picture.problem);
        return m_result;
    }

    size_t Bands() const {
        return static_cast<size_t>((m_options.height + kRowsPerTask - 1) / kRowsPerTask);
    }

    const Game &m_game;
    const RunOptions &m_options;
    weft::SchedulerOptions m_schedulerOptions;
    weft::TaskScheduler m_scheduler;
    weft::BlockPool m_blocks{m_schedulerOptions, 2 * kInFlight},
        m_scratch{m_schedulerOptions, 64, 64 << 10};
    // one tag for each frame in flight
    weft::TaggedHeap m_heap{m_scheduler, m_schedulerOptions, m_blocks, kInFlight};
    std::vector<Frame> m_frames;
    std::deque<Picture> m_pictures;  // a deque: it grows while tasks write older ones
    weft::Counter m_toWrite;
    int64_t m_startNs = 0;
    Watch m_watch{m_scheduler};
    RunResult m_result;
};

}  // namespace

void Screen::Pace(weft::TaskScheduler &scheduler) {
    constexpr std::chrono::nanoseconds kPeriod(1'000'000'000 / kFramesPerSecond);
    m_next = std::max(m_next + kPeriod, weft::Now());  // a late frame delays the next ones
    weft::SleepUntil(scheduler, m_next);
}

RunResult RunTasks(const Game &game, const RunOptions &options) {
    return Loop(game, options).RunTasks();
}
RunResult RunSerial(const Game &game, const RunOptions &options) {
    return Loop(game, options).RunSerial();
}

}  // namespace frame_loop
