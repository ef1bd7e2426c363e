// What a program adds to a trace: where a frame ends, and what a counter counts.
//
//     weft::NameCounter(*scheduler, &physics, "physics");
//     for (uint64_t frame = 0; running; ++frame) {
//         RunFrame(*scheduler);
//         weft::MarkFrame(*scheduler, frame);
//     }
//
// A FramePipeline marks its frames itself, and names its counters after its stages.
#pragma once

#include "weft/export.h"

#include <cstdint>

namespace weft {

class Counter;
class TaskScheduler;

/// Says in the trace that the frame with this number ends here, and that the next one begins.
/// Thread-safe. Has no effect if nothing is traced, or while the scheduler does not run.
WEFT_API void MarkFrame(TaskScheduler &scheduler, uint32_t frame) noexcept;

/// Returns how many ticks of TraceEvent::ticks a microsecond has. Measured once in a process, which
/// takes 100 microseconds. Thread-safe.
WEFT_API double TraceTicksPerMicrosecond() noexcept;

/// Gives the counter a name in the trace, from now on. `name` must live until the run has ended, as
/// a string literal does. Thread-safe. Has no effect if nothing is traced, or while the scheduler
/// does not run.
WEFT_API void NameCounter(TaskScheduler &scheduler, const Counter *counter,
                          const char *name) noexcept;

}  // namespace weft
