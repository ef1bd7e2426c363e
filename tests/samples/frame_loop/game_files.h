// Reads the WAD of the Debian package `freedoom`, once for all tests.
#pragma once

#include "frame_loop/game.h"

#include <catch2/catch.hpp>

#include <memory>

namespace test {

inline const frame_loop::Wad &Freedoom() {
    static frame_loop::Wad wad;
    if (wad.lumps.empty()) REQUIRE(frame_loop::ReadWad(frame_loop::kFreedoom, &wad) == "");
    return wad;
}

inline std::unique_ptr<frame_loop::Game> LevelOf(const char *name) {
    auto game = std::make_unique<frame_loop::Game>();
    REQUIRE(frame_loop::LoadGame(Freedoom(), name, game.get()) == "");
    return game;
}

}  // namespace test
