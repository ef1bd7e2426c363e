// A level: its geometry from the WAD, and the questions that the game asks. The loader checks the
// geometry once, so all indices are valid and the nodes make a tree.
#pragma once

#include "textures.h"

namespace frame_loop {

inline constexpr int kMaxStep = 24;  // the highest step that can be climbed, map units

struct Sector {
    int floor;  // map units
    int floorFlat, ceilingFlat, light, tag;
};
// The height of each sector's ceiling, map units. Doors move theirs, so each frame has its own.
using Ceilings = std::vector<int>;
struct Door {
    int sector, open;  // open: the height of its ceiling when it is open
    std::vector<int> segs;
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

    int64_t SideOf(Fixed x, Fixed y) const {  // > 0 on the right, the visible side
        return (x - ToFixed(x1)) * (y2 - y1) - (y - ToFixed(y1)) * (x2 - x1);
    }
    bool Touches(Fixed x, Fixed y, Fixed radius) const;  // a square of 2 x radius
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
    Ceilings ceilings;  // while all doors are closed
    std::vector<Door> doors;
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

// Loads a level. Its doors are closed.
void LoadLevel(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level,
               Problem *problem);

// Lists the doors of a level that has been read.
void FindDoors(Level *level);

// Returns the ceilings while all doors are open.
Ceilings OpenCeilings(const Level &level);

// The floor below and the ceiling above a square of 2 x radius around a point.
struct Footing {
    int floor, ceiling, lowestFloor;
    bool blocked;  // by a wall
    int work;      // number of steps of the computation
};
Footing FootingAt(const Level &level, const Ceilings &ceilings, Fixed x, Fixed y, int radius,
                  int blockingFlags);

// Returns whether something between `bottom` and `top` at (toX, toY) can be seen from (x, y, z).
bool CanSee(const Level &level, const Ceilings &ceilings, Fixed x, Fixed y, Fixed z, Fixed toX,
            Fixed toY, Fixed bottom, Fixed top);

}  // namespace frame_loop
