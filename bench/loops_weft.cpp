// ParallelFor and ParallelReduce on default options, but for the number of workers.
#include "loop_rows.h"

#include <weft/algorithms/parallel_for.h>
#include <weft/algorithms/parallel_reduce.h>

namespace bench {

namespace {

weft::TaskScheduler *s_running = nullptr;

struct WeftLoops {
    static constexpr const char *kName = "weft";

    template <class Body>
    static void Run(uint32_t workers, Body body) {
        weft::SchedulerOptions options;
        options.workers = workers;
        weft::TaskScheduler scheduler(options);
        s_running = &scheduler;
        auto main = [&](weft::TaskScheduler *) { body(); };
        const weft::Task task = weft::TaskOf(main);
        if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    }

    template <class Body>
    static void For(uint32_t count, Body &body) {
        weft::ParallelFor(*s_running, 0, count, body);
    }

    template <class Body>
    static void ForTiles(uint32_t rows, uint32_t columns, Body &body) {
        weft::ParallelFor2D(*s_running, rows, columns, [&](const weft::Tile<uint32_t> &tile) {
            body(tile.rowBegin, tile.rowEnd, tile.columnBegin, tile.columnEnd);
        });
    }

    template <class Body>
    static double Sum(uint32_t count, Body &body) {
        return weft::ParallelReduce(*s_running, 0, count, 0.0, body, [](double a, double b) { return a + b; });
    }
};

}  // namespace

void AddWeftLoopRows(std::vector<Row> &rows, uint32_t workers) { AddLoopWorkloads<WeftLoops>(rows, workers); }

}  // namespace bench
