#include "measuring_process.h"
#include "rounds.h"

#include <algorithm>
#include <map>

namespace bench {

namespace {

// All systems of one row one after the other: the processor's clock changes within seconds.
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
            std::reverse(group.begin(), group.end());  // nobody is always the first
        }
    }
}

}  // namespace bench
