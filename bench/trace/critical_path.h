// Says why a frame took as long as it did. The critical path goes back from the mark at the end of
// the frame: through what the actor did, to what it did before, or to the event of another actor
// without which it could not have begun. Of these two it takes the one that came last.
#pragma once

#include "trace/timeline.h"

#include <cstdint>
#include <string>
#include <vector>

namespace trace {

/// Why nothing ran on the critical path.
enum class Idle : uint8_t {
    None,       ///< Something ran.
    Asleep,     ///< The worker slept although it could have begun this, and was not woken yet.
    Waking,     ///< The worker had been woken, and did not run yet.
    Searching,  ///< The worker looked for work, or was between two tasks.
    OffCpu,     ///< The worker's thread was preempted, or blocked in the system.
    Deadline,   ///< A wait went on until its deadline.
    Call,       ///< A blocking call had not begun.
    Unknown     ///< Nothing of weft: the events do not tell.
};
inline constexpr uint32_t kIdles = 8;
const char *NameOf(Idle idle);

/// A part of a critical path.
struct PathPart {
    Idle idle;
    uint32_t task;   // if something ran; index in Timeline::tasks
    uint32_t actor;  // the worker or thread that ran it, or was idle
    int64_t begin, end;
};

/// Returns the critical path of a frame, from its begin to its end without gaps.
std::vector<PathPart> CriticalPath(const Timeline &timeline, const Frame &frame);

/// What a critical path consists of: the name of the tasks, or the sort of idleness.
struct Cause {
    Idle idle;
    uint32_t name;  // index in Timeline::names, if idle is None
    bool operator<(const Cause &other) const {
        return idle != other.idle ? idle < other.idle : name < other.name;
    }
    bool operator==(const Cause &other) const { return idle == other.idle && name == other.name; }
};
std::string NameOf(const Timeline &timeline, const Cause &cause);

/// The time that a cause takes in one frame.
struct CauseTime {
    Cause cause;
    int64_t ns;       // together
    int64_t longest;  // of one task, or of one gap
};

/// Sums the parts of a path by cause; the longest time comes first.
std::vector<CauseTime> Causes(const Timeline &timeline, const std::vector<PathPart> &path);

/// Sums what ran on all workers and threads between `begin` and `end`; the longest time comes
/// first.
std::vector<CauseTime> WorkIn(const Timeline &timeline, int64_t begin, int64_t end);

}  // namespace trace
