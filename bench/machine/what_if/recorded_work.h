// What each task and thread of a recording did, as a list of steps: it computed, submitted tasks,
// waited, changed a counter. The time that the scheduler itself took is left out, as far as the
// events tell, and the time that a thread was off its processor.
#pragma once

#include "trace/trace_file.h"

#include <vector>

namespace machine {

using trace::kNone;

/// Something that a task or thread did. Times are those of the recording, in nanoseconds.
struct RecordedStep {
    enum class Kind : uint8_t {
        Compute,
        Submit,   ///< `index`: in RecordedWork::submissions
        Wait,     ///< `index`: in RecordedWork::waits
        Raise,    ///< IncrementCounter by `value`
        Lower,    ///< DecrementCounter by `value`
        Release,  ///< ended a wait of another one. `index`: of this wait
        Mark      ///< the end of a frame
    };
    Kind kind;
    int64_t begin, end;
    int64_t ns = 0;  ///< Compute: without the time of the scheduler, and off the processor
    uint32_t index = kNone;
    uint32_t value = 0;
    uint64_t counter = 0;
};

struct RecordedJob {
    enum class Kind : uint8_t { Task, Thread, AttachedThread };
    Kind kind = Kind::Task;
    bool isOver = false;  ///< its end is in the recording
    uint32_t name = 0;    ///< index in Recording::names
    uint32_t submission = kNone;
    int64_t begin = 0, end = 0;
    std::vector<RecordedStep> steps;
};

struct RecordedSubmission {
    int64_t ns;
    uint32_t count;
    uint32_t name;
    uint64_t counter;
    weft::Priority priority;
    std::vector<uint32_t> jobs;  ///< those that have begun, in the order of the submission
};

struct RecordedWait {
    int64_t begin, end;
    int64_t ready = trace::kUnknown;  ///< when it was ended
    uint64_t counter;
    uint32_t target;        ///< the value of the counter for which it waits
    bool isOver = false;    ///< false: it goes on after the recording
    bool suspends = false;  ///< the counter was above the target when it began
    bool byDeadline = false;
};

struct RecordedWork {
    std::vector<RecordedJob> jobs;  ///< by begin
    std::vector<RecordedSubmission> submissions;
    std::vector<RecordedWait> waits;
};

RecordedWork FindWork(const trace::Recording &recording);

}  // namespace machine
