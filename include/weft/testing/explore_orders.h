// Runs a test in many orders of its tasks, and finds one in which it fails.
//
//     #include <weft/testing/explore_orders.h>
//
//     bool Test(weft::TaskScheduler &scheduler);  // returns true if all is right
//
//     const weft::ExploredOrders explored = weft::ExploreOrders(1000, Test);
//     if (explored.order != 0) std::printf("replay order %#llx\n", explored.order);
//
// Each order is a run of its own, on the calling thread, with SchedulerOptions::order. The test is
// the main task of the run. It should make all objects that it uses itself. The same order gives
// the same run again, as long as the test depends on nothing else: other threads, the real time,
// random numbers, addresses. Use weft::Now(), which is virtual then.
#pragma once

#include "weft/export.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <algorithm>
#include <cstdint>

namespace weft {

/// What happened in one order.
struct OrderResult {
    Status status = Status::Ok;  ///< If this is not Ok, the test did not run; see Start.
    bool passed = false;         ///< The test returned true, and all tasks have ended.
    /// The run came to a stall, or did not end. The test and all remaining tasks were deleted; the
    /// objects on their stacks were not destroyed.
    bool stalled = false;
    uint64_t choices = 0;  ///< How many choices the scheduler has made.
};

/// What ExploreOrders has found.
struct ExploredOrders {
    Status status = Status::Ok;  ///< If this is not Ok, the scheduler did not start.
    uint64_t order = 0;          ///< The shortened order that failed (for RunInOrder). 0: none.
    uint32_t tried = 0;          ///< The number of orders that ran, without those for shortening.
    OrderResult failure;         ///< The last run. It has passed if the failure did not come again.
};

namespace internal {

/// Runs `main` as a task, and waits until no task is pending. Call it on the attached thread of a
/// scheduler that has an order. Returns false if the run came to a stall or did not end; then the
/// thread can only detach, and Stop deletes what is left. `reports`: reports that, too.
/// `choices`: the number of choices so far.
WEFT_API bool RunOrdered(TaskScheduler &scheduler, const Task &main, bool reports,
                         uint64_t &choices) noexcept;

/// Draws the first `choices` choices as the order `seed` does. Later ones have the usual result.
constexpr uint64_t ShortOrder(uint64_t seed, uint64_t choices) noexcept {
    return (seed & 0xffff'ffff) | (choices + 1) << 32;
}

template <class Test>
OrderResult RunOneOrder(uint64_t order, Test &test, SchedulerOptions options, bool reports) {
    struct Call {
        Test &test;
        bool passed;
    } call{test, false};
    OrderResult result;
    options.workers = 0;
    options.maxAttached = 1;
    options.order = order;
    TaskScheduler scheduler(options);
    result.status = scheduler.Start();
    if (result.status != Status::Ok) return result;
    result.status = scheduler.AttachThread();
    if (result.status == Status::Ok) {
        const auto run = [](TaskScheduler *running, void *arg) {
            Call &its = *static_cast<Call *>(arg);
            its.passed = static_cast<bool>(its.test(*running));
        };
        result.stalled = !RunOrdered(scheduler, {run, &call}, reports, result.choices);
        scheduler.DetachThread();
    }
    scheduler.Stop();
    result.passed = call.passed && !result.stalled;
    return result;
}

}  // namespace internal

/// Runs `bool test(TaskScheduler &)` once, in this order, which must not be 0.
///
/// `workers`, `maxAttached` and `order` of the options are ignored. A stall is reported (Stalled),
/// and the call returns. If an exception leaves the test, that is reported (TaskThrew), and the
/// test has not passed.
template <class Test>
OrderResult RunInOrder(uint64_t order, Test &&test, const SchedulerOptions &options = {}) {
    return internal::RunOneOrder(order, test, options, true);
}

/// Runs `bool test(TaskScheduler &)` in `count` orders, until it fails in one of them: it returns
/// false, stalls or throws. Then shortens that order, and runs it once more.
///
/// Shortening searches for the smallest number of drawn choices with which the test still fails in
/// the same way. All later choices have the usual result. A stall is reported only in the last run.
/// The orders count up from options.order, or from 1 if that is 0. `workers` and `maxAttached` of
/// the options are ignored. Costs about as much as `count` runs of the test and of Start and Stop.
template <class Test>
ExploredOrders ExploreOrders(uint32_t count, Test &&test, const SchedulerOptions &options = {}) {
    const uint64_t begin = options.order != 0 ? options.order & 0xffff'ffff : 1;
    const auto run = [&](uint64_t order) {
        return internal::RunOneOrder(order, test, options, false);
    };
    ExploredOrders explored;
    for (uint64_t seed = begin; seed != begin + count; ++seed) {
        const OrderResult first = run(seed);
        explored.status = first.status;
        if (first.status != Status::Ok) return explored;
        ++explored.tried;
        if (first.passed) continue;
        // The test fails with `most` choices. With fewer than `least`, we assume that it passes.
        uint64_t least = 0, most = (std::min)(first.choices, uint64_t{0xffff'fffe});
        while (least < most) {
            const uint64_t middle = least + (most - least) / 2;
            const OrderResult result = run(internal::ShortOrder(seed, middle));
            const bool isSame = !result.passed && result.stalled == first.stalled;
            (isSame ? most : least) = isSame ? middle : middle + 1;
        }
        explored.order = internal::ShortOrder(seed, most);
        explored.failure = RunInOrder(explored.order, test, options);
        return explored;
    }
    return explored;
}

}  // namespace weft
