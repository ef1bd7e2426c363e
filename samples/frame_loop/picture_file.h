// Writes pictures as PNG files.
#pragma once

#include "wad.h"

#include <cstdint>
#include <string>

namespace frame_loop {

/// Returns the name of the file for the picture of a frame: FOLDER/frame_000012.png.
std::string PicturePath(const std::string &folder, uint64_t frame);

/// Writes `pixels`, row after row: three bytes each, or indices of `palette`, which has 256
/// colours.
Problem WritePng(const std::string &path, int width, int height, const uint8_t *pixels,
                 const uint8_t *palette = nullptr);

}  // namespace frame_loop
