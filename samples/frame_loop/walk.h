// A viewer who walks by keys. Works with fixed-point numbers, as the rest of the game.
#pragma once

#include "game.h"

namespace frame_loop {

enum Keys : uint32_t {  // bits
    kForward = 1,
    kBack = 2,
    kTurnLeft = 4,
    kTurnRight = 8,
    kStepLeft = 16,
    kStepRight = 32
};

/// Returns where the viewer of one frame is in the next frame. `keys`: those that are held. Walls,
/// high steps, low ceilings and closed doors stop it; it slides along them. A frame is 1/60 s.
/// Thread-safe.
Viewpoint Walk(const Level &level, const Ceilings &ceilings, const Viewpoint &before,
               uint32_t keys);

/// Returns the distance between two viewpoints on the map, without their heights.
inline Fixed WayBetween(const Viewpoint &a, const Viewpoint &b) {
    return Distance(b.x - a.x, b.y - a.y);
}

}  // namespace frame_loop
