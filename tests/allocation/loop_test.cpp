// Tests that loops, and reductions to numbers, allocate nothing.
#include "allocation/interposed.h"
#include "weft/algorithms/parallel_reduce.h"

#include <atomic>
#include <functional>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Loops {
    std::atomic<uint64_t> work{0};
    uint64_t sum = 0, callsSeen = ~uint64_t{0};

    void Once(TaskScheduler &scheduler) {
        ParallelFor(scheduler, 0, 100u, [&](uint32_t) {
            ParallelFor(scheduler, 0, 10u, [&](uint32_t) { work.fetch_add(1); });
        });
        ParallelFor2D(scheduler, 3u, 500u, [&](const Tile<uint32_t> &tile) {
            work.fetch_add((tile.rowEnd - tile.rowBegin) * (tile.columnEnd - tile.columnBegin));
        });
        sum += ParallelReduce(
            scheduler, 0, uint64_t{5000}, uint64_t{0}, [](uint64_t i) { return i; }, std::plus<>());
    }
    static constexpr uint64_t kWork = 1000 + 1500, kSum = 5000 * 4999 / 2;

    static constexpr uint32_t kWarmUp = 300, kRounds = 1000;

    static void Main(TaskScheduler *scheduler, void *arg) {
        Loops &loops = *static_cast<Loops *>(arg);
        for (uint32_t i = 0; i < kWarmUp; ++i) loops.Once(*scheduler);
        const uint64_t before = test::CountedCalls();
        test::CountCalls(true);
        for (uint32_t i = 0; i < kRounds; ++i) loops.Once(*scheduler);
        test::CountCalls(false);
        loops.callsSeen = test::CountedCalls() - before;
    }
};

}  // namespace

TEST_CASE("invariant 9: loops allocate nothing", "[allocation]") {
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options;
        options.workers = workers;
        Loops loops;
        CHECK(TaskScheduler(options).Run(Loops::Main, &loops) == Status::Ok);
        CHECK(loops.work == (Loops::kWarmUp + Loops::kRounds) * Loops::kWork);
        CHECK(loops.sum == (Loops::kWarmUp + Loops::kRounds) * Loops::kSum);
        CHECK(loops.callsSeen == 0);
    }
}
