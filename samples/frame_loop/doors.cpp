// The doors of a level. A door is a sector whose ceiling is at its floor, and which something can
// trigger.
#include "game.h"

#include <utility>

namespace frame_loop {
namespace {

constexpr int kRise = 2;  // map units a frame; a door takes about a second
constexpr Fixed kNear = ToFixed(64);

// Opens the doors that are near one of the viewpoints.
void Open(const Level &level, const Viewpoint *viewers, size_t count, int rise, const World &now,
          World *next) {
    next->ceilings = now.ceilings;
    next->doorsBegun = 0;
    for (const Door &door : level.doors) {
        int &ceiling = next->ceilings[door.sector];
        const bool isClosed = ceiling == level.ceilings[door.sector];
        const auto isNear = [&](const Viewpoint &viewer) {
            return std::any_of(door.segs.begin(), door.segs.end(), [&](int seg) {
                return level.segs[seg].Touches(viewer.x, viewer.y, kNear);
            });
        };
        if (isClosed && std::none_of(viewers, viewers + count, isNear)) continue;
        next->doorsBegun += static_cast<int>(isClosed);
        ceiling = std::min(ceiling + rise, door.open);
    }
}

}  // namespace

void FindDoors(Level *level) {
    std::vector<int> open(level->sectors.size(), INT16_MIN);  // below the lowest ceiling around it
    std::vector<bool> triggered(level->sectors.size());
    for (const Line &line : level->lines) {
        if (line.back == kNone) continue;
        const int front = level->sides[line.front].sector, back = level->sides[line.back].sector;
        if (line.special != 0) triggered[back] = true;
        for (const auto &[sector, other] : {std::pair{front, back}, std::pair{back, front}}) {
            const int ceiling = level->ceilings[other] - 4;
            if (sector != other)
                open[sector] =
                    open[sector] == INT16_MIN ? ceiling : std::min(open[sector], ceiling);
        }
    }
    std::vector<std::vector<int>> segs(level->sectors.size());
    for (size_t i = 0; i < level->segs.size(); ++i) {
        const Seg &seg = level->segs[i];
        if (seg.back == kNone || seg.back == seg.front) continue;
        segs[seg.front].push_back(static_cast<int>(i));
        segs[seg.back].push_back(static_cast<int>(i));
    }
    for (size_t i = 0; i < open.size(); ++i) {
        const Sector &sector = level->sectors[i];
        const int ceiling = level->ceilings[i];
        if (ceiling == sector.floor && ceiling < open[i] && (triggered[i] || sector.tag != 0))
            level->doors.push_back({static_cast<int>(i), open[i], std::move(segs[i])});
    }
}

Ceilings OpenCeilings(const Level &level) {
    Ceilings result = level.ceilings;
    for (const Door &door : level.doors) result[door.sector] = door.open;
    return result;
}

void OpenDoors(const Level &level, const Viewpoint &viewer, const World &now, World *next) {
    Open(level, &viewer, 1, kRise, now, next);
}

void OpenDoorsOnPath(const Game &game, uint64_t frame, const World &now, World *next) {
    constexpr size_t kAhead = 28;  // frames, after which the viewer fits through
    const size_t at = frame % game.path.size();
    // doors near the start have no time
    const int rise = frame == 1 ? static_cast<int>(kAhead) * kRise : kRise;
    Open(game.level, &game.path[at], std::min(kAhead, game.path.size() - at), rise, now, next);
}

}  // namespace frame_loop
