// Pictures of frames, for the page of a recording.
#pragma once

#include "trace/trace_file.h"

#include <string>
#include <utility>
#include <vector>

namespace trace {

/// Reads the pictures of the recorded frames from a folder: files such as frame_000012.png. The
/// digits at the end of the name are the number of the frame. PNG, JPEG and WebP; other files and
/// other frames are left out. Writes the numbers of the frames, and the pictures as data addresses.
Problem ReadPictures(const std::string &folder, const Recording &recording,
                     std::vector<std::pair<uint32_t, std::string>> *pictures);

}  // namespace trace
