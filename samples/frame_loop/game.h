// The game: a level, its things, doors and monsters, and the viewer's path. Each frame reads the
// world of the frame before and writes its own. So all monsters of a frame are independent.
#pragma once

#include "level.h"

namespace frame_loop {

struct Viewpoint {
    Fixed x, y, z;  // z: of the eye
    Angle angle;
};

struct Scenery {
    Fixed x, y;
    int subsector, sprite;
};

struct MonsterKind {
    int type, radius, height, speed;  // map units; units a frame
    std::array<int, 4> sprites;       // of its walk
};

struct Monster {
    Fixed x, y;
    Angle angle;
    uint32_t random;
    int kind, floor, subsector;
    int alert;           // frames for which it still hunts the viewer
    int walked;          // frames, for the picture of its walk
    Fixed stepX, stepY;  // where it wants to go: Think writes it, Move applies it
};

struct World {
    std::vector<Monster> monsters;
    Ceilings ceilings;
    int doorsBegun = 0;  // doors that begin to open in this frame
};

struct Game {  // it does not change while the frames run
    Textures textures;
    Level level;
    std::vector<MonsterKind> kinds;
    std::vector<Scenery> scenery;
    World start;
    std::vector<Viewpoint> path;  // one viewpoint for each frame, repeated at the end
};

Problem LoadGame(const Wad &wad, const std::string &levelName, Game *game);

// The parts of LoadGame. Things with an unknown type, or without a sprite in the WAD, are left out.
void PlaceThings(TextureLoader *textures, Game *game);
void FindPath(Game *game, Problem *problem);

// Write the ceilings of `next`: doors near the viewer open a bit in each frame, and stay open. A
// viewer on the path does not stop, so its doors open before it comes near.
void OpenDoors(const Level &level, const Viewpoint &viewer, const World &now, World *next);
void OpenDoorsOnPath(const Game &game, uint64_t frame, const World &now, World *next);

// Both write the monsters [first, last) of `next`, which has as many as `now`. Call Move when Think
// has been called for all monsters.
void Think(const Game &game, const Viewpoint &viewer, const World &now, World *next, size_t first,
           size_t last);
void Move(const Game &game, const World &now, World *next, size_t first, size_t last);

}  // namespace frame_loop
