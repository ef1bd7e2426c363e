// Records the frames for weft_trace (bench/trace), which makes a page of the recording and of small
// pictures of the frames.
#pragma once

#include "frame.h"

namespace frame_loop {

/// Returns the folder for the small pictures of the frames that are recorded in `file`.
inline std::string PictureFolder(const std::string &file) { return file + ".pictures"; }

/// The same as RunTasks. Also records the run, and writes the recording and the small pictures.
RunResult RunRecorded(const Game &game, RunOptions options, const std::string &file);

}  // namespace frame_loop
