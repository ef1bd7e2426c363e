// Measures loops over many cheap indices with a few expensive ones at the end.
#include "machine/runs.h"

#include "weft/algorithms/parallel_for_each.h"
#include "weft/algorithms/parallel_pipeline.h"
#include "weft/algorithms/parallel_scan.h"

#include <functional>
#include <list>
#include <numeric>
#include <vector>

namespace machine {

using namespace weft;

namespace {

constexpr double kCheapNs = 2;

// The costs of a loop's indices.
struct Indices {
    uint32_t count;
    uint32_t slow;  // the last ones
    double slowNs;

    void Compute(uint32_t index) const { Work(index < count - slow ? kCheapNs : slowNs); }
    double Sum() const { return (count - slow) * kCheapNs + slow * slowNs; }
};

void For(TaskScheduler &scheduler, const Indices &indices, uint64_t grain) {
    LoopOptions options;
    options.grain = grain;
    ParallelFor(
        scheduler, 0, indices.count, [&](uint32_t i) { indices.Compute(i); }, options);
}

// A list: the iterators of an array would make it a ParallelFor.
void ForEach(TaskScheduler &scheduler, const Indices &indices) {
    std::list<uint32_t> items(indices.count);
    std::iota(items.begin(), items.end(), 0u);
    ParallelForEach(scheduler, items.begin(), items.end(), [&](uint32_t i) { indices.Compute(i); });
}

void Reduce(TaskScheduler &scheduler, const Indices &indices) {
    const auto body = [&](uint32_t i) {
        indices.Compute(i);
        return i;
    };
    ParallelReduce(scheduler, 0, indices.count, 0u, body, std::plus<>());
}

// An index is a block of the scan, of so many elements. Each element is joined twice: once in each
// pass. The four strips of a block are joined once more, one after the other.
constexpr uint32_t kBlock = 512;

void Scan(TaskScheduler &scheduler, const Indices &blocks) {
    std::vector<uint32_t> items(blocks.count * kBlock), totals(items.size());
    std::iota(items.begin(), items.end(), 0u);
    const Indices half{blocks.count * kBlock, blocks.slow * kBlock, blocks.slowNs / kBlock / 2};
    ParallelInclusiveScan(scheduler, items.begin(), items.end(), totals.begin(), 0u,
                          [&](uint32_t left, uint32_t right) {
                              half.Compute(right);
                              return left < right ? right : left;
                          });
}

void Pipeline(TaskScheduler &scheduler, const Indices &indices) {
    uint32_t next = 0;
    std::vector<PipelineSlot<uint32_t>> slots(4 * scheduler.WorkerCount());
    ParallelPipeline(
        scheduler, slots.data(), static_cast<uint32_t>(slots.size()),
        [&](uint32_t &item) {
            item = next;
            return next++ < indices.count;
        },
        ParallelFilter([&](uint32_t &item) { indices.Compute(item); }));
}

}  // namespace

double UnevenTime(UnevenLoop loop, uint32_t workers, uint32_t slow, double slowNs) {
    // The results of a reduction and a scan depend on how the range is cut. So a block is never
    // divided. Here each has one index.
    const bool isCut = loop == UnevenLoop::Reduce || loop == UnevenLoop::Scan;
    const uint32_t count = isCut ? 256 : loop == UnevenLoop::Pipeline ? 20000 : 200000;
    const Indices indices{count, slow, slowNs};
    double took = 0;
    RunMain(Costs(), workers, [&](TaskScheduler *scheduler) {
        const double begin = Now();
        switch (loop) {
            case UnevenLoop::For:
                For(*scheduler, indices, 0);
                break;
            case UnevenLoop::ForOne:
                For(*scheduler, indices, 1);
                break;
            case UnevenLoop::ForEach:
                ForEach(*scheduler, indices);
                break;
            case UnevenLoop::Reduce:
                Reduce(*scheduler, indices);
                break;
            case UnevenLoop::Scan:
                Scan(*scheduler, indices);
                break;
            case UnevenLoop::Pipeline:
                Pipeline(*scheduler, indices);
                break;
        }
        took = Now() - begin;
    });
    return took / (indices.Sum() / workers + slowNs);
}

}  // namespace machine
