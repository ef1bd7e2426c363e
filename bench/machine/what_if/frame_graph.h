// Recorded frames as a program that can run again: jobs with steps, and counters.
#pragma once

#include "machine/what_if/recorded_work.h"

#include <vector>

namespace machine {

struct GraphStep {
    enum class Kind : uint8_t { Compute, Submit, SubmitAndWait, Wait, Raise, Lower, Sleep, Mark };
    Kind kind;
    double ns = 0;       ///< Compute, Sleep; Wait: how long it took in the recording
    uint32_t index = 0;  ///< a batch or a counter
    uint32_t value = 0;  ///< of the counter; Mark: 0 if the frame begins, 1 if it ends
};

struct GraphJob {
    RecordedJob::Kind kind;
    uint32_t name;  ///< index in Recording::names
    std::vector<GraphStep> steps;
};

/// The tasks of one submission.
struct GraphBatch {
    uint32_t counter;  ///< kNone: they are not counted
    uint32_t name;
    weft::Priority priority;
    std::vector<uint32_t> jobs;
};

/// A part of a recording, and the frames in it whose times count.
struct Stretch {
    std::vector<uint32_t> frames;  ///< their numbers
    int64_t firstMark, lastMark;   ///< the begin of the first frame, the end of the last one
    int64_t begin, end;            ///< of the part
};

struct FrameGraph {
    std::vector<uint32_t> frames;    ///< numbers of the frames whose times count
    double recordedNs = 0;           ///< the mean time of these frames, on the processor
    std::vector<uint32_t> counters;  ///< their values at the beginning
    std::vector<GraphJob> jobs;
    std::vector<GraphBatch> batches;
    std::vector<uint32_t> first;    ///< batches that are there at the beginning
    std::vector<uint32_t> threads;  ///< jobs that are no tasks
    uint32_t driver = kNone;        ///< the job that ends the last frame
    uint32_t guessed = 0;           ///< waits that last as long as recorded, whatever else changes
};

/// Makes sleeps of the waits that would never end, because events are missing. Returns their
/// number.
uint32_t EndStuckWaits(FrameGraph &graph);

/// Returns the work in a part of a recording. Without a driver it cannot run again: the events of
/// the job that ended the last frame are missing.
FrameGraph CutStretch(const RecordedWork &work, const Stretch &stretch);

}  // namespace machine
