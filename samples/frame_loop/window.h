// A window for the frames, and keys for the viewer. It needs SDL2 when the sample is built. In a
// browser it is the canvas of page.html.
#pragma once

#include "frame.h"

namespace frame_loop {

/// Opens a window, runs the frames in it, and closes it. Without a screen it ends with a problem;
/// without an audio device there is no sound.
///
/// Call it on the main thread, which becomes worker 0. `logs`: writes a line to stdout for each
/// event that it handled, for tests.
RunResult RunInWindow(const Game &game, const Wad &wad, RunOptions options, bool logs);

}  // namespace frame_loop
