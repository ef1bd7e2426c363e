// The least time that a frame can take with any schedule.
#pragma once

#include "frame/frame.h"

namespace frame {

/// The known or measured durations of the tasks of one frame, in nanoseconds.
struct Work {
    std::vector<double> longest;  ///< the longest task of each stage
    double all = 0;               ///< the sum of all tasks
};

/// Returns the durations from Stage::nanoseconds. `longest` is empty if a stage has none.
Work KnownWork(const std::vector<Stage> &stages);

/// Returns the longer of the critical path (the longest tasks of stages that follow each other) and
/// all work / workers.
double IdealNs(const std::vector<Stage> &stages, const Work &work, uint32_t workers);

/// Returns a description if the stages cannot be run, or an empty text.
Problem Check(const std::vector<Stage> &stages);

}  // namespace frame
