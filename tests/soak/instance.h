// One TaskScheduler with random options, and the work that the soak does with it.
#pragma once

#include "soak/figures.h"
#include "soak/graph.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace soak {

class Instance {
public:
    /// `nested`: a task of another scheduler makes this one.
    Instance(uint64_t seed, bool hooks, bool nested, Figures &figures);
    Instance(const Instance &) = delete;
    Instance &operator=(const Instance &) = delete;

    /// Runs the scheduler one to three times, with Run or with Start and Stop, and checks the
    /// account of each run.
    void Live();

private:
    struct Call {
        Instance *self;
        weft::TaskScheduler *scheduler;
    };
    weft::SchedulerOptions RandomOptions();
    void ChooseGroups(weft::SchedulerOptions &options);
    void ObserveMemory(weft::SchedulerOptions &options);
    void ObserveTasks(weft::SchedulerOptions &options);
    static bool IsCounted(const weft::TraceEvent &event);
    static void Report(const weft::Report &report, void *user);

    void LiveInRun(weft::TaskScheduler &scheduler);
    void LiveAfterStart(weft::TaskScheduler &scheduler);
    void Work(weft::TaskScheduler &scheduler, bool isTask, uint32_t attached);
    void StartHelpers(weft::TaskScheduler &scheduler, uint32_t attached);
    void EndHelpers(weft::TaskScheduler &scheduler);
    void HelpFromOutside(weft::TaskScheduler &scheduler, uint64_t seed);
    void HelpAttached(weft::TaskScheduler &scheduler, uint64_t seed);
    void Frames(weft::TaskScheduler &scheduler, Random &random);
    void Batches(weft::TaskScheduler &scheduler, Random &random, uint32_t tasks);
    void Count(uint64_t tasks) { m_batchTasks.fetch_add(tasks, std::memory_order_relaxed); }
    void CheckRun();

    Figures &m_figures;
    Random m_random;
    const bool m_hooks, m_nested;
    weft::WorkerGroup m_groups[3];
    const weft::SchedulerOptions m_options;
    std::unique_ptr<Graph> m_graph;
    std::vector<std::thread> m_helpers;
    weft::Counter m_helping, m_lowering;
    std::atomic<uint64_t> m_batchTasks{0};

    std::atomic<int64_t> m_bytes{0};
    std::atomic<uint64_t> m_begun{0}, m_ended{0}, m_threw{0};
};

/// Checks that no fiber is lost: as many tasks wait at once as the options promise. `isTask`: the
/// caller is one of them. Returns the number of the others.
uint32_t CheckFibers(weft::TaskScheduler &scheduler, const weft::SchedulerOptions &options,
                     bool isTask, Figures &figures);

}  // namespace soak
