// Writes recordings in the formats of other viewers.
#pragma once

#include "trace/timeline.h"

#include <ostream>

namespace trace {

/// Perfetto's protobuf format, for https://ui.perfetto.dev. It has a track for each worker, with
/// what the worker ran, and a track for each fiber, with whole tasks and their waits; a track for
/// each other thread, one for frames, and two for the numbers of ready and running tasks. Arrows go
/// from a submission to the begin of the task, and from a release to the fiber that continues.
/// Times are those of the steady clock.
void WritePerfetto(const Recording &recording, const Timeline &timeline, std::ostream &out);

/// The JSON format of chrome://tracing, which many viewers read: slices of workers, which end where
/// a fiber is left, arrows, frames, and the two numbers. Times begin with the run.
void WriteChrome(const Recording &recording, const Timeline &timeline, std::ostream &out);

/// JSON for https://www.speedscope.app: a profile for each worker. Times begin with the run.
void WriteSpeedscope(const Recording &recording, const Timeline &timeline, std::ostream &out);

/// A line for each event.
void WriteText(const Recording &recording, std::ostream &out);

/// Slices, by begin, of each actor.
std::vector<std::vector<Slice>> SlicesByActor(const Timeline &timeline);

/// An arrow of a viewer: from a moment on one actor to the begin of a slice.
struct Arrow {
    int64_t fromNs;
    uint32_t fromActor;
    const char *what;  // "submit" or "release"
    size_t slice;      // index in Timeline::slices
};

/// Returns the arrows that end at slices.
std::vector<Arrow> Arrows(const Timeline &timeline);

}  // namespace trace
