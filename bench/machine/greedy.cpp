// Implements the greedy scheduler as a simulation of events.
#include "machine/greedy.h"

#include <queue>
#include <tuple>

namespace machine {

namespace {

template <class T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<T>>;

using Waiting = std::tuple<weft::Priority, uint64_t, uint32_t, double>;  // rank, stage, nanoseconds
using Running = std::pair<double, uint32_t>;                             // end, stage

}  // namespace

double GreedyNs(const std::vector<frame::Stage> &stages, uint32_t workers) {
    Earliest<Waiting> waiting;
    Earliest<Running> running;
    std::vector<size_t> notEnded;
    std::vector<bool> begun(stages.size());
    for (const frame::Stage &stage : stages) notEnded.push_back(stage.tasks.size());
    uint64_t rank = 0;
    const auto beginStages = [&] {
        for (uint32_t i = 0; i < stages.size(); ++i) {
            bool may = !begun[i];
            for (const uint32_t earlier : stages[i].after) may = may && notEnded[earlier] == 0;
            if (!may) continue;
            begun[i] = true;
            for (const double ns : stages[i].nanoseconds)
                waiting.push({stages[i].priority, rank++, i, ns});
        }
    };
    beginStages();
    for (double now = 0;;) {
        for (; !waiting.empty() && running.size() < workers; waiting.pop()) {
            const auto [priority, place, stage, ns] = waiting.top();
            running.push({now + ns, stage});
        }
        if (running.empty()) return now;
        now = running.top().first;
        const uint32_t stage = running.top().second;
        running.pop();
        if (--notEnded[stage] == 0) beginStages();
    }
}

}  // namespace machine
