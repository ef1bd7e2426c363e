// Loops over ranges. A height map is filled index by index and smoothed tile by tile. Then its mean
// and its highest place are found. The mean has the same bits with any number of workers, so the
// sample compares it with the mean of a run with one worker.
//
//     samples/run.sh parallel_for
#include <weft/algorithms/parallel_for.h>
#include <weft/algorithms/parallel_reduce.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr uint32_t kRows = 600, kColumns = 800;

struct Peak {
    float height;
    uint32_t place;
};

struct Result {
    uint32_t workers = 0;
    float mean = 0;
    Peak peak{0, 0};
};

float Hill(uint32_t place) {
    const float x = static_cast<float>(place % kColumns) / 100,
                y = static_cast<float>(place / kColumns) / 100;
    return std::sin(x) * std::cos(y * 1.3f) + 0.1f * std::sin(17 * x + 5 * y);
}

void Smooth(const std::vector<float> &from, std::vector<float> &to,
            const weft::Tile<uint32_t> &tile) {
    for (uint32_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
        for (uint32_t column = tile.columnBegin; column < tile.columnEnd; ++column) {
            const uint32_t place = row * kColumns + column;
            const bool atEdge =
                row == 0 || row == kRows - 1 || column == 0 || column == kColumns - 1;
            to[place] = atEdge ? from[place]
                               : (from[place] * 4 + from[place - 1] + from[place + 1] +
                                  from[place - kColumns] + from[place + kColumns]) /
                                     8;
        }
    }
}

void Survey(weft::TaskScheduler *scheduler, void *arg) {
    Result &result = *static_cast<Result *>(arg);
    std::vector<float> rough(kRows * kColumns), heights(rough.size());

    weft::ParallelFor(*scheduler, 0, kRows * kColumns,
                      [&](uint32_t place) { rough[place] = Hill(place); });

    weft::ParallelFor2D(*scheduler, kRows, kColumns,
                        [&](const weft::Tile<uint32_t> &tile) { Smooth(rough, heights, tile); });

    const float sum = weft::ParallelReduce(
        *scheduler, 0, heights.size(), 0.0f, [&](size_t place) { return heights[place]; },
        std::plus<>());
    result.mean = sum / static_cast<float>(heights.size());

    weft::LoopOptions options;
    options.grain = 1000;  // each worker takes at least this many places
    options.name = "peak";
    result.peak = weft::ParallelReduce(
        *scheduler, 0, kRows * kColumns, Peak{0, 0},
        [&](uint32_t place) {
            return Peak{heights[place], place};
        },
        [](Peak left, Peak right) { return right.height > left.height ? right : left; }, options);
    result.workers = scheduler->WorkerCount();
}

}  // namespace

int main() {
    Result result, single;
    weft::SchedulerOptions oneWorker;
    oneWorker.workers = 1;
    if (weft::TaskScheduler().Run(Survey, &result) != weft::Status::Ok) return 1;
    if (weft::TaskScheduler(oneWorker).Run(Survey, &single) != weft::Status::Ok) return 1;

    const bool same = result.mean == single.mean && result.peak.place == single.peak.place &&
                      result.peak.height == single.peak.height;
    std::printf("mean height %.9g, highest at row %u, column %u: %s with %u workers and with one\n",
                result.mean, result.peak.place / kColumns, result.peak.place % kColumns,
                same ? "the same" : "NOT THE SAME", result.workers);
    return same ? 0 : 1;
}
