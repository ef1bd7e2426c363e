// Prints how many atomic operations and transfers a task needs, and compares them with a table.
#include "machine/runs.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace machine {

bool PrintCounts(const char *file) {
    std::string table = "workload,workers,operations,updates,transfers,wakes\n";
    for (uint32_t workers : {1u, 2u}) {
        for (const Workload &workload : Workloads()) {
            const Result result = Measure(Costs(), workers, workload);
            const auto each = [&](uint64_t count) {
                return static_cast<double>(count) / static_cast<double>(workload.tasks);
            };
            char line[160];
            std::snprintf(line, sizeof line, "%s,%u,%.3f,%.3f,%.3f,%.3f\n", workload.name, workers,
                          each(result.counts.operations), each(result.counts.updates),
                          each(result.counts.transfers), each(result.counts.wakes));
            table += line;
        }
    }
    std::fputs(table.c_str(), stdout);
    if (file == nullptr) return true;
    std::ifstream stream(file);
    std::stringstream before;
    before << stream.rdbuf();
    const bool same = before.str() == table;
    if (!same) std::printf("\n%s says otherwise; if this is what you want, put it there.\n", file);
    std::printf("\n%d passed, %d failed\n", same, !same);
    return same;
}

}  // namespace machine
