// Implements subjects.h.
#include "machine/what_if/subjects.h"

#include "frame/description.h"
#include "machine/what_if/commands.h"
#include "trace/timeline.h"

#include "weft/frame/frame_pipeline.h"
#include "weft/trace/recorder.h"

namespace machine {

namespace {

// The machine takes less time with long pauses.
Costs LongPauses() {
    Costs costs;
    costs.pause = 400;
    return costs;
}

// The order of the truth is another one than that of the prediction.
double PerturbTruth(uint32_t order, uint32_t job, uint32_t step) {
    return Perturb(order + 1000, job, step);
}

class Described : public Subject {
public:
    Described(const std::string &file, uint32_t workers) : m_file(file), m_workers(workers) {}

    std::string Name() const override { return m_file; }

    std::vector<unsigned char> Record() override {
        frame::Frame frame;
        frame::ReadFile(m_file, 1, &frame);
        return RecordFrames(frame, m_workers);
    }

    std::vector<double> Run(const std::vector<uint32_t> &numbers, const Change &change,
                            const std::string &name, uint32_t order) override {
        frame::Frame described;
        frame::ReadFile(m_file, 1, &described);
        const auto draw = described.prepare;
        described.prepare = [&](frame::Frame &frame, uint32_t number) {
            draw(frame, numbers[number == 0 ? 0 : number - 1]);  // the first one warms up
            for (uint32_t i = 0; i < frame.stages.size(); ++i)
                Alter(frame.stages[i], i, change, name, order);
        };
        const uint32_t workers = change.workers != 0 ? change.workers : m_workers;
        const frame::RunOptions options{workers, static_cast<uint32_t>(numbers.size()), 1, false};
        frame::Report report;
        machine::Run(LongPauses(), [&] { report = frame::RunFrames(described, options); });
        return report.frames;
    }

private:
    static void Alter(frame::Stage &stage, uint32_t index, const Change &change,
                      const std::string &name, uint32_t order) {
        const bool isIt = stage.name == name;
        for (uint32_t i = 0; i < stage.nanoseconds.size(); ++i)
            stage.nanoseconds[i] *= PerturbTruth(order, i, index) * (isIt ? change.factor : 1);
        if (isIt) stage.priority = change.priority.value_or(stage.priority);
    }

    const std::string m_file;
    const uint32_t m_workers;
};

class Pipelined : public Subject {
public:
    explicit Pipelined(uint32_t workers) : m_workers(workers) {}

    std::string Name() const override { return "a pipeline of frames"; }

    std::vector<unsigned char> Record() override { return RecordWith({}, {}, 0); }

    std::vector<double> Run(const std::vector<uint32_t> &numbers, const Change &change,
                            const std::string &name, uint32_t order) override {
        const std::vector<unsigned char> file = RecordWith(change, name, order);
        trace::Recording recording;
        trace::Read(file.data(), file.size(), &recording);
        std::vector<double> times(numbers.size());
        for (const trace::Frame &frame : trace::BuildTimeline(recording).frames) {
            for (size_t i = 0; i < numbers.size(); ++i) {
                if (numbers[i] == frame.number) times[i] = static_cast<double>(frame.Length());
            }
        }
        return times;
    }

private:
    static constexpr uint32_t kFrames = 16, kMostParts = 64;

    struct Part {
        double ns;
        static void Compute(weft::TaskScheduler *, void *self) {
            Work(static_cast<Part *>(self)->ns);
        }
    };

    // One run.
    struct Pass {
        const Change &change;
        const std::string &name;
        uint32_t order;

        weft::TaskOptions Named(const char *of) const {
            weft::TaskOptions options;
            options.name = of;
            if (name == of) options.priority = change.priority.value_or(options.priority);
            return options;
        }
        // Runs `count` tasks that take from 0.5 to 1.5 times `ns`.
        void RunParts(weft::TaskScheduler *scheduler, uint32_t frame, const char *of,
                      uint32_t count, double ns, bool together) const {
            Part parts[kMostParts];
            weft::Task tasks[kMostParts];
            for (uint32_t i = 0; i < count; ++i) {
                const double part = 1 + 25 * (Perturb(frame, i, count) - 1);
                parts[i].ns = ns * part * (name == of ? change.factor : 1);
                if (order != 0) parts[i].ns *= PerturbTruth(order, i + frame * 100, count);
                tasks[i] = {Part::Compute, &parts[i]};
            }
            if (together) return scheduler->AddTasksAndWait(count, tasks, Named(of));
            weft::Counter counter;
            scheduler->AddTasks(count, tasks, &counter, Named(of));
            scheduler->WaitForCounter(&counter);
        }
    };

    std::vector<unsigned char> RecordWith(const Change &change, const std::string &name,
                                          uint32_t order) {
        const Pass pass{change, name, order};
        auto game = [&](weft::TaskScheduler *scheduler, const weft::FrameParams &params) {
            const auto frame = static_cast<uint32_t>(params.frame);
            pass.RunParts(scheduler, frame, "think", 24, 40e3, true);
            pass.RunParts(scheduler, frame, "move", 12, 30e3, false);
        };
        auto render = [&](weft::TaskScheduler *scheduler, const weft::FrameParams &params) {
            pass.RunParts(scheduler, static_cast<uint32_t>(params.frame), "draw", 40, 35e3, true);
        };
        auto present = [&](weft::TaskScheduler *, const weft::FrameParams &) { Work(100e3); };
        const weft::FrameStage stages[] = {weft::MakeStage(game, pass.Named("game")),
                                           weft::MakeStage(render, pass.Named("render")),
                                           weft::MakeStage(present, pass.Named("present"))};
        return machine::Record([&](weft::Recorder *recorder) {
            weft::SchedulerOptions options;
            options.workers = change.workers != 0 ? change.workers : m_workers;
            options.recorder = recorder;
            weft::FramePipeline pipeline(options, 3, stages, 2);
            auto main = [&](weft::TaskScheduler *self) { pipeline.Run(self, kFrames); };
            const weft::Task task = weft::MakeTask(main);
            weft::TaskScheduler(options).Run(task.function, task.arg);
        });
    }

    const uint32_t m_workers;
};

}  // namespace

std::unique_ptr<Subject> DescribedFrame(const std::string &file, uint32_t workers) {
    return std::make_unique<Described>(file, workers);
}

std::unique_ptr<Subject> Pipeline(uint32_t workers) { return std::make_unique<Pipelined>(workers); }

}  // namespace machine
