#include "game.h"

namespace frame_loop {

std::string LoadGame(const Wad &wad, const std::string &levelName, Game *game) {
    *game = {};
    TextureLoader textures(wad, &game->textures);
    std::string error = textures.Error();
    if (error.empty()) error = LoadLevel(wad, levelName, &textures, &game->level);
    if (error.empty()) error = FindPath(game->level, &game->path);
    if (error.empty()) game->things = PlaceThings(game->level, &textures);
    return error.empty() ? textures.Error() : error;
}

}  // namespace frame_loop
