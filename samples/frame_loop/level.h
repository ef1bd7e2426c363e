// A level: its geometry as the WAD gives it, checked once on loading (every index in here is valid,
// the tree is one), and the questions that the game asks of it.
#pragma once

#include "textures.h"

namespace frame_loop {

inline constexpr int kMaxStep = 24;  // map units that anyone can climb

struct Sector {
    int floor, ceiling;  // map units
    int floorFlat, ceilingFlat, light, tag;
};
struct Side {
    int xOffset, yOffset, upper, lower, middle, sector;
};
struct Line {
    int flags, special, front, back;  // sides; back may be kNone
};
enum LineFlags : int {
    kBlocksAll = 1,
    kBlocksMonsters = 2,
    kUpperUnpegged = 8,
    kLowerUnpegged = 16
};
struct Seg {  // a piece of a line, seen from one side
    // sectors; back: kNone behind a solid wall
    int x1, y1, x2, y2, offset, flags, side, front, back;
    Fixed length;

    int64_t SideOf(Fixed x, Fixed y) const {  // right, where it can be seen from: > 0
        return (x - ToFixed(x1)) * (y2 - y1) - (y - ToFixed(y1)) * (x2 - x1);
    }
};
struct Subsector {
    int firstSeg, lastSeg, sector;  // [first, last)
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
    }
};
struct Thing {
    int x, y, angle, type, flags;  // angle in degrees
};

struct Level {
    static constexpr int kMaxDepth = 200;
    std::string name;
    std::vector<Sector> sectors;
    std::vector<Side> sides;
    std::vector<Line> lines;
    std::vector<Seg> segs;
    std::vector<Subsector> subsectors;
    std::vector<Node> nodes;
    std::vector<Thing> things;
    int root = ~0, sky = kNone;

    int SubsectorAt(Fixed x, Fixed y) const;
    const Sector &SectorOf(int subsector) const { return sectors[subsectors[subsector].sector]; }
};

// Doors are loaded open, for nobody in this sample presses a button.
void LoadLevel(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level,
               Problem *problem);

// What a square of 2 x radius around a point stands on and is under.
struct Footing {
    int floor, ceiling, lowestFloor;
    bool blocked;  // by a wall
    int work;      // steps that the answer took
};
Footing FootingAt(const Level &level, Fixed x, Fixed y, int radius, int blockingFlags);

// Whether anything between `bottom` and `top` above (toX, toY) can be seen from (x, y, z).
bool CanSee(const Level &level, Fixed x, Fixed y, Fixed z, Fixed toX, Fixed toY, Fixed bottom,
            Fixed top);

}  // namespace frame_loop
