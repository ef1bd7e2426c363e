// A film of the frames with their graph, as the window shows it.
#pragma once

#include "frame.h"

namespace frame_loop {

/// Runs `options.frames` frames along the path of the level, 60 a second, and then writes every
/// eighth of them, with the graph of the frames (frame_graph.h), to `folder` (PicturePath). The
/// folder must exist.
RunResult RunFilm(const Game &game, const Wad &wad, RunOptions options, const std::string &folder);

}  // namespace frame_loop
