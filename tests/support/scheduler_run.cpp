// The options, the grid and the helpers of scheduler_run.h.
#include "support/scheduler_run.h"

#include <chrono>
#include <thread>

namespace test {

weft::SchedulerOptions Options(uint32_t workers, uint32_t fibers, weft::IdlePolicy idle) {
    weft::SchedulerOptions options;
    options.workers = workers;
    options.fibers = fibers;
    options.idle = idle;
    options.stallMilliseconds = 5;
#if defined(WEFT_DEBUG)
    options.stackBytes = 1 << 20;
#endif
    return options;
}

weft::SchedulerOptions Options(const GridPoint &point) {
    return Options(point.workers, point.fibers, point.idle);
}

uint32_t FibersOf(const weft::SchedulerOptions &options) {
    const uint32_t fibers = options.fibers;
    return fibers + options.workers + options.maxAttached;
}

namespace {

#if defined(__EMSCRIPTEN__)  // it has one thread
constexpr uint32_t kWorkers[] = {1};
#else
constexpr uint32_t kWorkers[] = {1, 2, 3, 8};
#endif

std::vector<GridPoint> GridOf(const std::vector<uint32_t> &pools) {
    std::vector<GridPoint> grid;
    for (const uint32_t fibers : pools) {
        for (uint32_t workers : kWorkers) {
            for (weft::IdlePolicy idle :
                 {weft::IdlePolicy::Balanced, weft::IdlePolicy::Spin, weft::IdlePolicy::Sleep}) {
                grid.push_back({workers, fibers, idle});
            }
        }
    }
    return grid;
}

}  // namespace

std::vector<GridPoint> Grid() { return GridOf({3, 5, 160}); }

std::vector<GridPoint> GridOfLargePools() { return GridOf({160}); }

std::string Describe(const GridPoint &point) {
    static const char *const names[] = {"Balanced", "Spin", "Sleep"};
    return std::to_string(point.workers) + " workers, " + std::to_string(point.fibers) +
           " fibers, " + names[static_cast<int>(point.idle)];
}

weft::Status Runner::Run(std::function<void(weft::TaskScheduler &)> body,
                         const weft::TaskOptions &options) {
    auto main = [&body](weft::TaskScheduler *running) { body(*running); };
    const weft::Task task = weft::MakeTask(main);
    return scheduler.Run(task.function, task.arg, options);
}

bool YieldUntil(weft::TaskScheduler &scheduler, const std::function<bool()> &done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        scheduler.Yield();
        std::this_thread::yield();  // there may be fewer cores than workers
    }
    return true;
}

Batch::Batch(uint32_t count, Body body) : m_body(std::move(body)), m_items(count) {
    for (uint32_t i = 0; i < count; ++i) {
        m_items[i] = {&m_body, i};
        m_tasks.push_back({Call, &m_items[i]});
    }
}

void Batch::Call(weft::TaskScheduler *scheduler, void *arg) {
    const Item *item = static_cast<Item *>(arg);
    (*item->body)(*scheduler, item->index);
}

}  // namespace test
