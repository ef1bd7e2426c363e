// A scheduler that costs nothing. It separates the time that the shape of a frame needs from the
// time that scheduling needs.
#pragma once

#include "frame/frame.h"

namespace machine {

/// Returns the time of the frame if no worker is idle while a task may begin. A worker takes a task
/// with the highest priority, and among these one of the stage that could begin first. The
/// durations are those of Stage::nanoseconds.
double GreedyNs(const std::vector<frame::Stage> &stages, uint32_t workers);

}  // namespace machine
