// The viewer's walk: found on loading, the same for every run, and long enough to see much of a level.
#pragma once

#include "things.h"

#include <string>
#include <vector>

namespace frame_loop {

// One viewpoint a frame. Returns an empty string, or what is wrong.
std::string FindPath(const Level &level, std::vector<Viewpoint> *path);

}  // namespace frame_loop
