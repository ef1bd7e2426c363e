// Finds six planted bugs that depend on the order of tasks, shortens the order that shows each, and
// replays it. Also runs the corrected code in as many orders.
//
//     samples/run.sh orders [--orders N] [--replays N] [--first N]
#include "orders/bugs.h"

#include <weft/testing/explore_orders.h>

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cstdio>

namespace {

// The bugs that are shown end in stalls again and again, so their reports are left out here.
void IgnoreReport(const weft::Report &, void *) {}

// Prints a row of the table. Returns true if the bug was found, each replay was the same, and the
// corrected code never failed.
bool Show(const OrderBug &bug, uint32_t orders, uint32_t replays, uint64_t first) {
    weft::SchedulerOptions options;
    options.order = first;
    options.fibers = 18;
    options.onReport = IgnoreReport;
    const auto wrong = [&](weft::TaskScheduler &scheduler) { return bug.test(scheduler, false); };
    const auto right = [&](weft::TaskScheduler &scheduler) { return bug.test(scheduler, true); };

    const weft::ExploredOrders found = weft::ExploreOrders(orders, wrong, options);
    const weft::OrderResult &failure = found.failure;
    uint32_t same = 0;
    for (uint32_t i = 0; i < replays && found.order != 0; ++i) {
        const weft::OrderResult again = weft::RunInOrder(found.order, wrong, options);
        same +=
            !again.passed && again.stalled == failure.stalled && again.choices == failure.choices;
    }
    const weft::ExploredOrders corrected = weft::ExploreOrders(orders, right, options);
    const uint32_t passed = corrected.tried - (corrected.order != 0);

    std::printf("%-15s  %-50s  %5" PRIu32 "  %#13" PRIx64 "  %-7s  %5" PRIu32 "  %5" PRIu32 "\n",
                bug.name, bug.mistake, found.tried, found.order,
                failure.stalled ? "stalls" : "fails", same, passed);
    return found.order != 0 && !failure.passed && same == replays && passed == orders;
}

}  // namespace

int main(int argc, char **argv) {
    uint32_t orders = 1000, replays = 1000;
    uint64_t first = 1;
    CLI::App app("Finds bugs that depend on the order of tasks, and replays them.");
    app.add_option("--orders", orders, "how many orders to try for each bug");
    app.add_option("--replays", replays, "how often to replay each order that fails");
    app.add_option("--first", first, "the number of the first order");
    CLI11_PARSE(app, argc, argv);
    std::printf("%-15s  %-50s  %5s  %13s  %-7s  %5s  %5s\n", "bug", "", "tried", "order", "result",
                "again", "right");
    bool isGood = true;
    for (size_t i = 0; i < kOrderBugCount; ++i)
        isGood &= Show(kOrderBugs[i], orders, replays, first);
    std::printf("tried: orders until the bug showed; again: replays of %" PRIu32
                " that were the same;\nright: orders of %" PRIu32
                " in which the corrected code passed\n",
                replays, orders);
    return isGood ? 0 : 1;
}
