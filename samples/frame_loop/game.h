// All that the frames have in common; nothing in it changes while they run.
#pragma once

#include "path.h"

#include <string>
#include <vector>

namespace frame_loop {

struct Game {
    Textures textures;
    Level level;
    Things things;
    std::vector<Viewpoint> path;
};

// Returns an empty string, or what is wrong.
std::string LoadGame(const Wad &wad, const std::string &levelName, Game *game);

}  // namespace frame_loop
