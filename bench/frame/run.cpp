// Runs the frames. Each stage has a task of its own, which waits for earlier stages and then
// submits the tasks of the stage. These starting tasks are submitted in the order of the stages. So
// the counter of a stage is above zero before another stage waits for it.
#include "frame/clock.h"
#include "frame/shares.h"

#include <weft/trace/marks.h>

#include <algorithm>

namespace frame {

namespace {

// kTracedTasks limits the events of a run: a task has two
constexpr uint32_t kTracedFrames = 100, kTracedWarmUp = 20, kTracedTasks = 500000;

struct alignas(64) Starter {  // so that no two counters share a cache line
    const Stage *stage = nullptr;
    Recorder *recorder = nullptr;
    std::vector<weft::Counter *> after;
    weft::Counter done;  // counts this task and all tasks of the stage
};

void Record(Recorder *recorder, Event::Kind kind, const weft::TaskScheduler &scheduler,
            const char *task = nullptr) {
    if (recorder != nullptr)
        recorder->Add(kind, scheduler.CurrentWorker(), scheduler.CurrentFiber(), task);
}

void StartStage(weft::TaskScheduler *scheduler, void *arg) {
    Starter &starter = *static_cast<Starter *>(arg);
    const Stage &stage = *starter.stage;
    scheduler->WaitForAll(static_cast<uint32_t>(starter.after.size()), starter.after.data());
    Record(starter.recorder, Event::Kind::Submit, *scheduler, stage.name.c_str());
    // `done` counts this task, too. So it cannot reach zero before it counts the tasks of the
    // stage.
    scheduler->AddTasks(static_cast<uint32_t>(stage.tasks.size()), stage.tasks.data(),
                        &starter.done, {stage.priority, weft::kAnyWorker, stage.name.c_str()});
}

class Runner {
public:
    Runner(Frame &frame, const RunOptions &options, Recorder *recorder)
        : m_frame(frame),
          m_options(options),
          m_recorder(recorder),
          m_starters(frame.stages.size()) {
        for (size_t i = 0; i < m_starters.size(); ++i) {
            Starter &starter = m_starters[i];
            starter.stage = &frame.stages[i];
            starter.recorder = recorder;
            for (const uint32_t earlier : starter.stage->after)
                starter.after.push_back(&m_starters[earlier].done);
            m_all.push_back(&starter.done);
        }
    }

    Problem Run() {
        weft::SchedulerOptions options;
        options.workers = m_options.workers;
        if (m_recorder != nullptr) m_recorder->AttachTo(options.trace);
        if (m_recorder == nullptr) options.recorder = m_options.recorder;
        const auto main = [](weft::TaskScheduler *scheduler, void *self) {
            static_cast<Runner *>(self)->RunAll(scheduler);
        };
        const weft::TaskOptions asMain{weft::Priority::Normal, weft::kAnyWorker, kOwnTask};
        return weft::TaskScheduler(options).Run(main, this, asMain) == weft::Status::Ok
                   ? ""
                   : "weft does not run";
    }

    std::vector<double> frames, ideals;  // ideals: only if the durations are known
    double knownNs = 0;                  // the sum of the known durations

private:
    void RunAll(weft::TaskScheduler *scheduler) {
        weft::MarkFrame(*scheduler, ~0u);
        for (uint32_t i = 0; i < m_options.warmUp + m_options.frames; ++i) {
            if (m_frame.prepare) m_frame.prepare(m_frame, i);
            const bool counts = i >= m_options.warmUp;
            Recorder *recorder = counts ? m_recorder : nullptr;
            const int64_t begin = NowNs();
            Record(recorder, Event::Kind::FrameBegin, *scheduler);
            RunOne(scheduler);
            Record(recorder, Event::Kind::FrameEnd, *scheduler);
            const double elapsed = static_cast<double>(NowNs() - begin);
            weft::MarkFrame(*scheduler, i);
            if (!counts) continue;
            frames.push_back(elapsed);
            const Work work = KnownWork(m_frame.stages);
            knownNs += work.all;
            if (!work.longest.empty())
                ideals.push_back(IdealNs(m_frame.stages, work, scheduler->WorkerCount()));
        }
    }

    void RunOne(weft::TaskScheduler *scheduler) {
        const weft::TaskOptions first{weft::Priority::High, weft::kAnyWorker, kOwnTask};
        for (Starter &starter : m_starters)
            scheduler->AddTask({StartStage, &starter}, &starter.done, first);
        scheduler->WaitForAll(static_cast<uint32_t>(m_all.size()), m_all.data());
    }

    Frame &m_frame;
    const RunOptions &m_options;
    Recorder *m_recorder;
    std::vector<Starter> m_starters;
    std::vector<weft::Counter *> m_all;
};

uint32_t WorkersOf(const RunOptions &options) {
    weft::SchedulerOptions ask;
    ask.workers = options.workers;
    return weft::TaskScheduler(ask).WorkerCount();
}

// Runs the frames with hooks, and fills the part of the report that needs them.
Problem RunTraced(Frame &frame, const RunOptions &options, Report *report) {
    RunOptions shorter = options;
    shorter.frames = std::min({options.frames, kTracedFrames, kTracedTasks / report->tasks + 1});
    shorter.warmUp = std::min(options.warmUp, kTracedWarmUp);
    const size_t frames = shorter.frames + shorter.warmUp;
    Recorder recorder(report->workers, frames * (2 * report->tasks + 8 * report->stages));
    Runner runner(frame, shorter, &recorder);
    const Problem problem = runner.Run();
    if (!problem.empty()) return problem;
    const Account account = TakeAccount(recorder.Events(), frame.stages, report->workers);

    report->tracedFrames = account.frameNs;
    report->shares = account.workers;
    report->stolen = account.stolen;
    double measuredNs = 0;
    for (const Work &work : account.work) measuredNs += work.all;
    if (runner.knownNs > 0) report->stretch = measuredNs / runner.knownNs;
    if (report->isIdealMeasured) {
        for (const Work &work : account.work)
            report->ideals.push_back(IdealNs(frame.stages, work, report->workers));
    }
    return {};
}

}  // namespace

Report RunFrames(Frame &frame, const RunOptions &options) {
    Report report;
    report.problem = Check(frame.stages);
    if (options.frames == 0) report.problem = "no frames to run";
    if (options.workers == 0 || (options.workers > 1024 && options.workers != weft::kAnyWorker))
        report.problem = "workers: 1 to 1024";
    if (!report.problem.empty()) return report;
    report.name = frame.name;
    report.workers = WorkersOf(options);
    report.stages = static_cast<uint32_t>(frame.stages.size());
    for (const Stage &stage : frame.stages)
        report.tasks += static_cast<uint32_t>(stage.tasks.size());

    Runner plain(frame, options, nullptr);
    report.problem = plain.Run();
    if (!report.problem.empty()) return report;
    report.frames = plain.frames;
    report.ideals = plain.ideals;
    report.isIdealMeasured = report.ideals.empty();
    if (options.hooks || report.isIdealMeasured)
        report.problem = RunTraced(frame, options, &report);
    if (!report.problem.empty()) return report;
    const std::vector<double> &compared =
        report.isIdealMeasured ? report.tracedFrames : report.frames;
    for (size_t i = 0; i < compared.size(); ++i)
        report.ratios.push_back(compared[i] / report.ideals[i]);
    return report;
}

}  // namespace frame
