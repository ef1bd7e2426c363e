// The game: a level, its things and monsters, and the viewer's path. Thinking reads the world of
// one frame and writes the world of the next. So all monsters of a frame are independent.
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

using World = std::vector<Monster>;

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

// Both write the monsters [first, last) of `next`, which is as large as `now`. Call Move when Think
// has been called for all monsters.
void Think(const Game &game, const Viewpoint &viewer, const World &now, World *next, size_t first,
           size_t last);
void Move(const Game &game, const World &now, World *next, size_t first, size_t last);

}  // namespace frame_loop
