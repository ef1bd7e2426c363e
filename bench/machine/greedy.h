// A scheduler that costs nothing, to tell what a frame's shape takes from what scheduling takes.
#pragma once

#include "frame/frame.h"

namespace machine {

/// How long the frame takes if no worker is ever idle while a task may begin, and each takes the
/// one with the highest priority, and of those the first of the stage that could begin first. By
/// Stage::nanoseconds.
double GreedyNs(const std::vector<frame::Stage> &stages, uint32_t workers);

}  // namespace machine
