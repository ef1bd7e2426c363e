// Answers questions about a level: where a point is, what it stands on, what it can see.
#include "level.h"

#include <cstdlib>

namespace frame_loop {
namespace {

// Visits the subsectors of the halves that `sides` selects (1 right, 2 left, 3 both) until `visit`
// returns false.
template <class Sides, class Visit>
void WalkTree(const Level &level, Sides sides, Visit visit) {
    std::array<int, Level::kMaxDepth + 2> open;
    size_t count = 0;
    open[count++] = level.root;
    while (count != 0) {
        const int at = open[--count];
        if (at < 0) {
            if (!visit(level.subsectors[~at])) return;
            continue;
        }
        const int through = sides(level.nodes[at]);
        if ((through & 2) != 0) open[count++] = level.nodes[at].child[1];
        if ((through & 1) != 0) open[count++] = level.nodes[at].child[0];
    }
}

}  // namespace

// A segment and a square touch unless one of three lines separates them: the two axes and the
// segment itself.
bool Seg::Touches(Fixed x, Fixed y, Fixed radius) const {
    const auto apart = [radius](int a, int b, Fixed middle) {
        return ToFixed(std::max(a, b)) <= middle - radius ||
               ToFixed(std::min(a, b)) >= middle + radius;
    };
    return !apart(x1, x2, x) && !apart(y1, y2, y) &&
           std::abs(SideOf(x, y)) < radius * (std::abs(x2 - x1) + std::abs(y2 - y1));
}

int Level::SubsectorAt(Fixed x, Fixed y) const {
    int at = root;
    while (at >= 0) at = nodes[at].child[nodes[at].SideOf(x, y) > 0 ? 0 : 1];
    return ~at;
}

Footing FootingAt(const Level &level, const Ceilings &ceilings, Fixed x, Fixed y, int radius,
                  int blockingFlags) {
    const Fixed reach = ToFixed(radius);
    const int here = level.subsectors[level.SubsectorAt(x, y)].sector,
              floor = level.sectors[here].floor;
    Footing footing{floor, ceilings[here], floor, false, 0};
    const auto sides = [&](const Node &node) {
        ++footing.work;
        const int64_t apart = node.SideOf(x, y),
                      extent = reach * (std::abs(node.dx) + std::abs(node.dy));
        return (apart > -extent ? 1 : 0) | (apart < extent ? 2 : 0);
    };
    WalkTree(level, sides, [&](const Subsector &subsector) {
        for (int i = subsector.firstSeg; i < subsector.lastSeg; ++i) {
            const Seg &seg = level.segs[i];
            ++footing.work;
            if (!seg.Touches(x, y, reach)) continue;
            footing.blocked |= seg.back == kNone || (seg.flags & blockingFlags) != 0;
            if (footing.blocked) return false;
            for (const int touched : {seg.front, seg.back}) {
                const Sector &sector = level.sectors[touched];
                footing.floor = std::max(footing.floor, sector.floor);
                footing.ceiling = std::min(footing.ceiling, ceilings[touched]);
                footing.lowestFloor = std::min(footing.lowestFloor, sector.floor);
            }
        }
        return true;
    });
    return footing;
}

// The openings on the line of sight narrow a window. The window is measured as the height above `z`
// at the far end of the line. So the order of the openings does not matter.
bool CanSee(const Level &level, const Ceilings &ceilings, Fixed x, Fixed y, Fixed z, Fixed toX,
            Fixed toY, Fixed bottom, Fixed top) {
    const int64_t dx = (toX - x) >> 8, dy = (toY - y) >> 8;  // the product of two fits 64 bits
    Fixed low = bottom - z, high = top - z;
    const auto sides = [&](const Node &node) {
        const int64_t from = node.SideOf(x, y), to = node.SideOf(toX, toY);
        return (from >= 0 || to >= 0 ? 1 : 0) | (from <= 0 || to <= 0 ? 2 : 0);
    };
    const auto isLeft = [&](int segX, int segY) {
        return dx * ((ToFixed(segY) - y) >> 8) - dy * ((ToFixed(segX) - x) >> 8) > 0;
    };
    WalkTree(level, sides, [&](const Subsector &subsector) {
        for (int i = subsector.firstSeg; i < subsector.lastSeg && low < high; ++i) {
            const Seg &seg = level.segs[i];
            const int64_t from = seg.SideOf(x, y), to = seg.SideOf(toX, toY);
            if ((from > 0) == (to > 0) || isLeft(seg.x1, seg.y1) == isLeft(seg.x2, seg.y2))
                continue;
            // the part of the way up to the seg
            const Fixed part = (from >> 6) * kOne / (((from - to) >> 6) | 1);
            if (seg.back == kNone) low = high;
            if (part <= 0 || seg.back == kNone) continue;
            const int floor =
                          std::max(level.sectors[seg.front].floor, level.sectors[seg.back].floor),
                      ceiling = std::min(ceilings[seg.front], ceilings[seg.back]);
            low = std::max(low, (ToFixed(floor) - z) * kOne / part);
            high = std::min(high, (ToFixed(ceiling) - z) * kOne / part);
        }
        return low < high;
    });
    return low < high;
}

}  // namespace frame_loop
