// Computes the ideal time of a frame, and checks its stages.
#include "frame/ideal.h"

#include <algorithm>
#include <numeric>

namespace frame {

Work KnownWork(const std::vector<Stage> &stages) {
    Work work;
    for (const Stage &stage : stages) {
        if (stage.nanoseconds.size() != stage.tasks.size()) return {};
        work.longest.push_back(
            *std::max_element(stage.nanoseconds.begin(), stage.nanoseconds.end()));
        work.all += std::accumulate(stage.nanoseconds.begin(), stage.nanoseconds.end(), 0.0);
    }
    return work;
}

double IdealNs(const std::vector<Stage> &stages, const Work &work, uint32_t workers) {
    std::vector<double> ends;
    for (const Stage &stage : stages) {
        double begin = 0;
        for (const uint32_t earlier : stage.after) begin = std::max(begin, ends[earlier]);
        ends.push_back(begin + work.longest[ends.size()]);
    }
    return std::max(*std::max_element(ends.begin(), ends.end()), work.all / workers);
}

Problem Check(const std::vector<Stage> &stages) {
    if (stages.empty()) return "the frame has no stage";
    if (stages.size() > kMaxStages) return "more than " + std::to_string(kMaxStages) + " stages";
    for (size_t i = 0; i < stages.size(); ++i) {
        if (stages[i].tasks.empty()) return "stage " + stages[i].name + " has no task";
        for (const uint32_t earlier : stages[i].after) {
            if (earlier >= i)
                return "stage " + stages[i].name + " is after one that does not come before it";
        }
    }
    return {};
}

}  // namespace frame
