// Implements replay.h.
#include "machine/what_if/replay.h"

#include "machine/runs.h"

#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace machine {

namespace {

using Kind = GraphStep::Kind;

constexpr size_t kThreadStackBytes = 64 << 10;

// Plays one graph. Its jobs do what they did in the recording, apart from the change.
class Player {
public:
    Player(const FrameGraph &graph, const Change &change, uint32_t order)
        : m_graph(graph),
          m_change(change),
          m_order(order),
          m_counters(std::make_unique<Place[]>(graph.counters.size())),
          m_roles(graph.jobs.size()),
          m_threads(graph.threads.size()),
          m_threadsLeft(static_cast<uint32_t>(graph.threads.size())) {
        for (uint32_t i = 0; i < m_roles.size(); ++i) m_roles[i] = {this, i};
    }

    /// Returns the mean time of the frames, until the driver has marked the end of the last one.
    double Play(weft::TaskScheduler *scheduler) {
        m_scheduler = scheduler;
        for (size_t i = 0; i < m_graph.counters.size(); ++i)
            scheduler->IncrementCounter(&m_counters[i].counter, m_graph.counters[i]);
        uint32_t mine = kNone;  // the batch of the driver
        for (const uint32_t batch : m_graph.first) {
            const std::vector<uint32_t> &jobs = m_graph.batches[batch].jobs;
            if (std::count(jobs.begin(), jobs.end(), m_graph.driver) != 0) mine = batch;
            Submit(batch, m_graph.batches[batch].priority, m_graph.driver);
        }
        for (size_t i = 0; i < m_threads.size(); ++i)
            m_threads[i].Start(RunThread, &m_roles[m_graph.threads[i]], kThreadStackBytes);
        m_begin = Now();
        if (mine != kNone) PlayDriver(mine);
        scheduler->WaitForCounter(&m_threadsLeft);
        for (weft::env::Thread &thread : m_threads) thread.Join();
        scheduler->WaitIdle();
        return (m_end - m_begin) / static_cast<double>(m_graph.frames.size());
    }

private:
    struct alignas(128) Place {  // so that no two counters share a cache line
        weft::Counter counter;
    };
    struct Role {
        Player *player = nullptr;
        uint32_t job = 0;
    };

    static void RunTask(weft::TaskScheduler *, void *arg) {
        const Role &role = *static_cast<Role *>(arg);
        role.player->PlayJob(role.job);
    }
    static void RunThread(void *arg) {
        const Role &role = *static_cast<Role *>(arg);
        Player &self = *role.player;
        const bool attaches =
            self.m_graph.jobs[role.job].kind == RecordedJob::Kind::AttachedThread &&
            self.m_scheduler->AttachThread() == weft::Status::Ok;
        self.PlayJob(role.job);
        if (attaches) self.m_scheduler->DetachThread();
        self.m_scheduler->DecrementCounter(&self.m_threadsLeft);
    }

    // The task of the replay is the driver.
    void PlayDriver(uint32_t index) {
        const GraphBatch &batch = m_graph.batches[index];
        m_scheduler->SetPriority(PriorityOf(batch));
        if (batch.counter != kNone)
            m_scheduler->IncrementCounter(&m_counters[batch.counter].counter);
        PlayJob(m_graph.driver);
        if (batch.counter != kNone)
            m_scheduler->DecrementCounter(&m_counters[batch.counter].counter);
    }

    weft::Priority PriorityOf(const GraphBatch &batch) const {
        return batch.name == m_change.name ? m_change.priority.value_or(batch.priority)
                                           : batch.priority;
    }

    std::vector<weft::Task> TasksOf(const GraphBatch &batch, uint32_t without = kNone) {
        std::vector<weft::Task> tasks;
        for (const uint32_t job : batch.jobs) {
            if (job != without) tasks.push_back({RunTask, &m_roles[job]});
        }
        return tasks;
    }

    void Submit(uint32_t index, weft::Priority priority, uint32_t without = kNone) {
        const GraphBatch &batch = m_graph.batches[index];
        const std::vector<weft::Task> tasks = TasksOf(batch, without);
        weft::Counter *const counter =
            batch.counter == kNone ? nullptr : &m_counters[batch.counter].counter;
        const weft::TaskOptions options{priority};
        if (tasks.size() == 1)
            m_scheduler->AddTask(tasks[0], counter, options);
        else if (!tasks.empty())
            m_scheduler->AddTasks(static_cast<uint32_t>(tasks.size()), tasks.data(), counter,
                                  options);
    }

    void SubmitAndWait(uint32_t index) {
        const GraphBatch &batch = m_graph.batches[index];
        const std::vector<weft::Task> tasks = TasksOf(batch);
        m_scheduler->AddTasksAndWait(static_cast<uint32_t>(tasks.size()), tasks.data(),
                                     {PriorityOf(batch)});
    }

    void PlayJob(uint32_t index) {
        const GraphJob &job = m_graph.jobs[index];
        const double factor = job.name == m_change.name ? m_change.factor : 1;
        for (uint32_t i = 0; i < job.steps.size(); ++i) {
            const GraphStep &step = job.steps[i];
            weft::Counter *const counter =
                step.index < m_graph.counters.size() ? &m_counters[step.index].counter : nullptr;
            switch (step.kind) {
                case Kind::Compute:
                    Work(step.ns * factor * Perturb(m_order, index, i));
                    break;
                case Kind::Submit:
                    Submit(step.index, PriorityOf(m_graph.batches[step.index]));
                    break;
                case Kind::SubmitAndWait:
                    SubmitAndWait(step.index);
                    break;
                case Kind::Wait:
                    m_scheduler->WaitForCounter(counter, step.value);
                    break;
                case Kind::Raise:
                    m_scheduler->IncrementCounter(counter, step.value);
                    break;
                case Kind::Lower:
                    m_scheduler->DecrementCounter(counter, step.value);
                    break;
                case Kind::Sleep:
                    weft::SleepFor(*m_scheduler,
                                   std::chrono::nanoseconds(static_cast<int64_t>(step.ns)));
                    break;
                case Kind::Mark:
                    (step.value == 0 ? m_begin : m_end) = Now();
            }
        }
    }

    const FrameGraph &m_graph;
    const Change &m_change;
    const uint32_t m_order;
    const std::unique_ptr<Place[]> m_counters;
    std::vector<Role> m_roles;  // of each job
    std::vector<weft::env::Thread> m_threads;
    weft::Counter m_threadsLeft;
    weft::TaskScheduler *m_scheduler = nullptr;
    double m_begin = 0, m_end = 0;
};

}  // namespace

namespace {

// In another order a counter may be lowered before it is raised. Then the lowering has no effect.
void OnReport(const weft::Report &report, void *) {
    if (report.code != weft::ReportCode::CounterUnderflow)
        std::fprintf(stderr, "machine: %s\n", report.what);
}

}  // namespace

double Perturb(uint32_t order, uint32_t job, uint32_t step) {
    uint64_t bits = (uint64_t{order} << 40) + (uint64_t{job} << 8) + step + 1;
    for (int i = 0; i < 3; ++i) {
        bits ^= bits >> 29;
        bits *= 0xbf58476d1ce4e5b9u;
    }
    return 0.98 + 0.04 * static_cast<double>(bits >> 11) * 0x1p-53;
}

std::vector<double> Replay(const std::vector<FrameGraph> &frames, const Place &place,
                           const Change &change, uint32_t order) {
    std::vector<double> times;
    if (frames.empty()) return times;
    Run(place.costs, [&] {
        weft::SchedulerOptions options;
        options.workers = change.workers != 0 ? change.workers : place.workers;
        const uint32_t more = std::max(options.workers, place.workers) - place.workers;
        options.fibers = place.fibers + 18 * more + 1;  // one for the task of the replay
        options.onReport = OnReport;
        weft::TaskScheduler scheduler(options);
        auto main = [&](weft::TaskScheduler *self) {
            Player(frames[0], change, order).Play(self);  // warms up
            for (const FrameGraph &frame : frames)
                times.push_back(Player(frame, change, order).Play(self));
        };
        const weft::Task task = weft::MakeTask(main);
        if (scheduler.Run(task.function, task.arg, weft::TaskOptions()) != weft::Status::Ok) {
            std::fprintf(stderr, "machine: Run failed\n");
            std::abort();
        }
    });
    return times;
}

}  // namespace machine
