// Runs the rounds: all systems of one workload one after the other, each row in a process of its
// own.
#include "measuring_process.h"
#include "rounds.h"

#include <algorithm>
#include <map>

namespace bench {

namespace {

// Puts the rows with the same workload and workers into one group, so that they are measured one
// after the other. The clock frequency of the processor changes within seconds.
std::vector<std::vector<Row *>> GroupRows(std::vector<Row> &rows) {
    std::vector<std::vector<Row *>> groups;
    for (Row &row : rows) {
        const auto group =
            std::find_if(groups.begin(), groups.end(), [&](const std::vector<Row *> &other) {
                return other[0]->workload == row.workload && other[0]->workers == row.workers;
            });
        if (group != groups.end()) {
            group->push_back(&row);
        } else {
            groups.push_back({&row});
        }
    }
    return groups;
}

}  // namespace

void RunRounds(std::vector<Row> &rows, uint32_t rounds) {
    std::map<const Row *, MeasuringProcess> processes;
    std::vector<std::vector<Row *>> groups = GroupRows(rows);
    for (uint32_t round = 0; round <= rounds; ++round) {
        for (std::vector<Row *> &group : groups) {
            for (Row *row : group) {
                const double sample =
                    processes.try_emplace(row, row->measure).first->second.Measure();
                if (round != 0) row->samples.push_back(sample);
            }
            std::reverse(group.begin(), group.end());  // so that no system is always first
        }
    }
}

}  // namespace bench
