// Tests that results and deferred batches allocate nothing while no more of them are pending than
// ever before.
#include "weft/data/result.h"
#include "allocation/interposed.h"
#include "weft/deferred.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Results {
    static constexpr uint32_t kWarmUp = 100, kRounds = 500, kWidth = 40, kMost = 240;
    std::atomic<uint64_t> ran{0};
    uint64_t wrong = 0, callsSeen = ~uint64_t{0};

    // `width` tasks after `width` tasks after two counters, and a chain of `width` results.
    void Round(TaskScheduler &scheduler, uint32_t width) {
        const Task count{
            [](TaskScheduler *, void *self) { static_cast<Results *>(self)->ran.fetch_add(1); },
            this};
        Task tasks[kMost];
        for (Task &task : tasks) task = count;
        Counter gates[2] = {Counter(1), Counter(1)}, first, second;
        const CounterTarget after[] = {{&gates[0]}, {&gates[1]}};
        wrong += !AddTasksAfter(scheduler, 2, after, width, tasks, &first);
        wrong += !AddTasksAfter(scheduler, &first, 0, width, tasks, &second);
        Result<uint64_t> links[kMost + 1];
        for (uint32_t i = 0; i < width; ++i)
            Then(
                scheduler, links[i], [](uint64_t &value) { return value + 1; }, links[i + 1]);
        for (Counter &gate : gates) scheduler.DecrementCounter(&gate);
        links[0].Set(scheduler, 0u);
        wrong += links[width].Get(scheduler) != width;
        scheduler.WaitForCounter(&second);
    }

    static void Main(TaskScheduler *scheduler, void *arg) {
        Results &results = *static_cast<Results *>(arg);
        // more at once than in the rounds that count, because some caches keep blocks
        for (uint32_t i = 0; i < kWarmUp; ++i) results.Round(*scheduler, kMost);
        const uint64_t before = test::CountedCalls();
        test::CountCalls(true);
        for (uint32_t i = 0; i < kRounds; ++i) results.Round(*scheduler, kWidth);
        test::CountCalls(false);
        results.callsSeen = test::CountedCalls() - before;
    }
};

}  // namespace

TEST_CASE("invariant 9: results and deferred batches allocate nothing", "[allocation]") {
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options;
        options.workers = workers;
        Results results;
        CHECK(TaskScheduler(options).Run(Results::Main, &results) == Status::Ok);
        CHECK(results.wrong == 0);
        CHECK(results.ran.load() ==
              2u * (Results::kWarmUp * Results::kMost + Results::kRounds * Results::kWidth));
        CHECK(results.callsSeen == 0);
    }
}
