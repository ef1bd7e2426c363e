// Pictures as PNG files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace frame_loop {

// Three bytes a pixel, row after row. Returns an empty string, or what is wrong. Needs a large stack.
std::string WritePng(const std::string &path, int width, int height, const std::vector<uint8_t> &rgb);

}  // namespace frame_loop
