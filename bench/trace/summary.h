// What a terminal or a CI run shows of a recording: frames and why they were late, tasks by name,
// workers. And what explains the difference between two recordings.
#pragma once

#include "trace/critical_path.h"
#include "trace/timeline.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace trace {

/// A time in one frame, and its median over all frames: kUnknown if there are few frames.
struct Compared {
    int64_t ns;
    int64_t usual;
};

/// A frame, and the first cause of its length.
///
/// A cause counts as much as it has probably lengthened the frame. For idleness, that is the time
/// on the critical path over what is usual. For the tasks of a name it is as well, if they also ran
/// longer than usual; what they ran longer in excess of that is divided by the number of workers,
/// because it kept these from other tasks. So it does not matter if the critical path takes another
/// way than in other frames. With few frames nothing is known of what is usual. Then the longest
/// time on the critical path is the cause.
struct LateFrame {
    Frame frame;
    Cause cause;
    Compared onPath;  // on the critical path
    Compared run;     // all tasks of this name; 0 for idleness
    int64_t longest;  // one task of this name; or the longest gap on the critical path
};

/// The tasks of one name. Times in nanoseconds, without waits, tasks that ran on top, and time off
/// the processor.
struct TaskRow {
    uint32_t name;
    uint64_t count;
    int64_t total, p50, p99, max;
    int64_t longestWait;
    int64_t queued50, queued99;  // from submission to begin; kUnknown if there is no submission
    uint32_t stackBytes;         // the most that one task has used; 0: none was measured
};

/// The waits for one lock that another task held, in nanoseconds.
struct LockRow {
    uint64_t lock;
    uint64_t count;
    int64_t total, max;
    uint32_t holder;  // the name of the tasks that others waited for the longest
};

/// What one worker did, in nanoseconds.
struct WorkerRow {
    uint32_t slot;
    int64_t busy, searching, asleep, offCpu;
    int64_t asleepWithWork;  // part of `asleep`: something could have begun
};

struct Summary {
    std::vector<int64_t> frames;  // lengths, in ascending order
    uint64_t over = 0;            // frames over the budget
    std::vector<LateFrame> late;  // these; without a budget the three longest; the longest first
    std::vector<TaskRow> tasks;   // the largest total first
    std::vector<LockRow> locks;   // the same
    std::vector<WorkerRow> workers;
};

/// `budget`: nanoseconds that a frame may take; 0 if there is none.
Summary Summarize(const Timeline &timeline, int64_t budget);

void PrintSummary(const Recording &recording, const Timeline &timeline, int64_t budget,
                  const Summary &summary, std::ostream &out);

/// What a cause contributes to the median frame of two recordings, in nanoseconds a frame.
struct Difference {
    std::string name;
    int64_t before, after;
};

struct Comparison {
    int64_t before = 0, after = 0;        // length of the median frame
    std::vector<Difference> differences;  // the largest first
};

/// Compares the frames around the medians: the fifth of all frames that is in the middle. The
/// differences add up to the difference of the mean lengths of these frames.
Comparison Compare(const Timeline &before, const Timeline &after);

void PrintComparison(const Comparison &comparison, std::ostream &out);

/// Returns the value that `percent` of the sorted values do not exceed.
int64_t Percentile(const std::vector<int64_t> &sorted, uint32_t percent);

}  // namespace trace
