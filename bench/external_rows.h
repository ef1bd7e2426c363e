// Rows in which external threads submit one task at a time and wait for all of them at the end.
#pragma once

#include "bodies.h"

namespace bench {

/// Returns the mean cost of a task. `submit(cells)` submits a task for each of the cells and waits
/// for them.
template <class Submit>
double ExternalCost(uint32_t threads, Submit submit) {
    constexpr uint32_t kEach = 5000;
    std::vector<Cells> cells(threads, Cells(kEach));
    submit(cells[0]);
    cells[0].Clear();
    const Clock::time_point begin = Clock::now();
    std::vector<std::thread> submitters;
    for (Cells &own : cells) submitters.emplace_back([&] { submit(own); });
    for (std::thread &thread : submitters) thread.join();
    const double cost = Since(begin) / kEach / threads;
    for (const Cells &own : cells) own.Verify();
    return cost;
}

/// Adds a row for 1, 2, 5 and 10 external threads. `measure(workers, threads)` returns the cost.
template <class Measure>
void AddExternalRows(std::vector<Row> &rows, const std::string &system, uint32_t workers,
                     Measure measure) {
    for (uint32_t threads : {1u, 2u, 5u, 10u}) {
        rows.push_back({"external_" + std::to_string(threads),
                        system,
                        workers,
                        "ns",
                        [=] { return measure(workers, threads); },
                        {}});
    }
}

}  // namespace bench
