// A level: its geometry as the WAD gives it, checked once on loading (every index in here is valid, the tree
// has no cycle), and the questions that the game asks of it.
#pragma once

#include "fixed.h"
#include "textures.h"
#include "wad.h"

#include <array>
#include <string>
#include <vector>

namespace frame_loop {

inline constexpr int kMaxTreeDepth = 200, kNone = -1, kMaxStep = 24;

struct Sector {
    int floor, ceiling;  // map units
    int floorFlat, ceilingFlat;
    int light, tag;
};
struct Side {
    int xOffset, yOffset, upper, lower, middle, sector;
};
struct Line {
    int flags, special;
    std::array<int, 2> side;  // kNone: there is no back side
};
enum LineFlags : int { kBlocksAll = 1, kBlocksMonsters = 2, kUpperUnpegged = 8, kLowerUnpegged = 16 };
struct Seg {  // a piece of a line, seen from one side
    int x1, y1, x2, y2;
    Fixed length;
    int offset, line, side, front, back;  // back: kNone behind a solid wall
};
struct Subsector {
    int firstSeg, segs, sector;
};
struct Box {
    int top, bottom, left, right;
};
struct Node {  // child 0 lies to the right of the partition; ~n is subsector n
    int x, y, dx, dy;
    std::array<Box, 2> box;
    std::array<int, 2> child;

    int64_t SideOf(Fixed px, Fixed py) const {
        return (px - ToFixed(x)) * dy - (py - ToFixed(y)) * dx;
    }  // right: > 0
};
struct Thing {
    int x, y, angle, type, flags;  // angle in degrees
};

struct Level {
    std::string name;
    std::vector<Sector> sectors;
    std::vector<Side> sides;
    std::vector<Line> lines;
    std::vector<Seg> segs;
    std::vector<Subsector> subsectors;
    std::vector<Node> nodes;
    std::vector<Thing> things;
    int root = ~0;
    int skyTexture = kNoTexture;
};

// Returns an empty string, or what is wrong. Doors are loaded open, for nobody in this sample presses a
// button.
std::string LoadLevel(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level);

int SubsectorAt(const Level &level, Fixed x, Fixed y);

// What a square of 2 x radius around a point stands on and is under.
struct Footing {
    int floor, ceiling, lowestFloor;
    bool blocked;  // by a wall
    int work;      // steps that the answer took
};
Footing FootingAt(const Level &level, Fixed x, Fixed y, int radius, int blockingFlags);

// Whether anything between `bottom` and `top` above (toX, toY) can be seen from (x, y, z).
bool CanSee(const Level &level, Fixed x, Fixed y, Fixed z, Fixed toX, Fixed toY, Fixed bottom, Fixed top);

}  // namespace frame_loop
