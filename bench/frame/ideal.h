// What a frame takes at least, however it is scheduled.
#pragma once

#include "frame/frame.h"

namespace frame {

/// What one frame's tasks took, or are going to take, in nanoseconds.
struct Work {
    std::vector<double> longest;  ///< task of each stage
    double all = 0;               ///< tasks together
};

/// By Stage::nanoseconds. Without `longest` if a stage does not tell.
Work KnownWork(const std::vector<Stage> &stages);

/// The larger of the critical path (the longest tasks of stages that follow each other) and all
/// work / workers.
double IdealNs(const std::vector<Stage> &stages, const Work &work, uint32_t workers);

/// What keeps the stages from being run, if anything.
Problem Check(const std::vector<Stage> &stages);

}  // namespace frame
