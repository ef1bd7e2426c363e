// The command line.
#pragma once

#include "frame.h"

#include <string>

namespace frame_loop {

struct Options {
    std::string wad = "/usr/share/games/doom/freedoom1.wad", level = "E1M1", out = "out";
    bool serial = false, help = false;
    RunOptions run;
};

inline constexpr const char *kUsage =
    "frame_loop [--workers N] [--frames N] [--level NAME] [--wad PATH] [--size WxH] [--serial] [--out DIR]\n"
    "Walks through a level of a WAD and renders each frame as tasks; --serial: as a plain loop instead.\n";

// Returns an empty string, or what is wrong.
std::string ParseOptions(int count, const char *const *arguments, Options *options);

}  // namespace frame_loop
