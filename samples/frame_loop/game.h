// The game: a level, what stands and walks in it, and the way that the viewer takes. Thinking reads
// the world of one frame and writes that of the next, so that each monster of a frame is
// independent of all others.
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
    Fixed stepX, stepY;  // where it wants to go: written by Think, used up by Move
};

using World = std::vector<Monster>;

struct Game {  // nothing in it changes while the frames run
    Textures textures;
    Level level;
    std::vector<MonsterKind> kinds;
    std::vector<Scenery> scenery;
    World start;
    std::vector<Viewpoint> path;  // one viewpoint a frame, then again from the beginning
};

Problem LoadGame(const Wad &wad, const std::string &levelName, Game *game);

// What LoadGame is made of. Things of unknown type and those of whom the WAD has no sprite are left
// out.
void PlaceThings(TextureLoader *textures, Game *game);
void FindPath(Game *game, Problem *problem);

// Both fill the monsters [first, last) of `next`, which has as many as `now`; Move after all of
// Think.
void Think(const Game &game, const Viewpoint &viewer, const World &now, World *next, size_t first,
           size_t last);
void Move(const Game &game, const World &now, World *next, size_t first, size_t last);

}  // namespace frame_loop
