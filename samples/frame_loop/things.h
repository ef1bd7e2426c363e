// What stands in a level: scenery, and monsters that think and walk. Thinking reads the world of one frame
// and writes that of the next, so that each monster of a frame is independent of all others.
#pragma once

#include "level.h"

#include <vector>

namespace frame_loop {

struct Viewpoint {
    Fixed x, y, z;  // z: of the eye
    Angle angle;
};

struct Scenery {
    Fixed x, y;
    int floor, subsector, sprite;
};

struct MonsterKind {
    int radius, height, speed;  // map units; units a frame
    std::array<int, 4> sprite;  // the frames of its walk
};

struct Monster {
    Fixed x, y;
    Angle angle;
    uint32_t random;
    int kind, floor, subsector;
    int alert;           // frames for which it still hunts the viewer
    int walked;          // frames, for the picture of its walk
    Fixed stepX, stepY;  // where it wants to go: written by Think, used up by Move
};

struct World {
    std::vector<Monster> monsters;
};

struct Things {
    std::vector<MonsterKind> kinds;
    std::vector<Scenery> scenery;
    World start;
};

// Things of unknown type and those of whom the WAD has no sprite are left out.
Things PlaceThings(const Level &level, TextureLoader *textures);

// Both fill the monsters [first, last) of `next`, which has as many as `now`; Move after all of Think.
void Think(const Level &level, const Things &things, const Viewpoint &viewer, const World &now, World *next,
           int first, int last);
void Move(const Level &level, const Things &things, const World &now, World *next, int first, int last);

}  // namespace frame_loop
