// What a change would do to recorded frames: frames of a recording run again on the virtual cores,
// first as they were, then with one thing changed.
#pragma once

#include "machine/what_if/replay.h"
#include "trace/timeline.h"

#include <ostream>
#include <string>

namespace machine {

/// The frame times of one run with a change: the mean of the middle frames, and of the slow ones.
/// In nanoseconds. 0 if there are no such frames.
struct FrameTimes {
    double middle = 0;
    double slow = 0;
};

/// The times of a change in all orders.
struct Sample {
    std::vector<double> times;  ///< one for each order
    double Median() const;
};

/// What a change brings.
struct Gain {
    double ns;  ///< the median over the orders
    double least, most;
    bool isNoise;  ///< it is not clear that there is a gain, or a loss
};
Gain GainOf(const Sample &base, const Sample &changed);

struct WhatIfRow {
    std::string text;
    Change change;
    Sample middle, slow;
};

struct WhatIfOptions {
    double budgetNs = 0;  ///< slow frames are those over it; 0: the longest ones
    uint32_t orders = 8;
    uint32_t middleFrames = 9, slowFrames = 3;
    uint32_t names = 5;  ///< so many names of tasks are changed
};

/// The frames of a recording that run again.
class WhatIf {
public:
    WhatIf(const trace::Recording &recording, const WhatIfOptions &options);

    /// Says why nothing can run again; empty if something can.
    const trace::Problem &TheProblem() const { return m_problem; }
    /// The changes that may be worth it: names of tasks that take much of the critical path, other
    /// numbers of workers, other priorities.
    std::vector<WhatIfRow> Changes() const;
    /// Runs the frames with the change of the row, once for each order, and fills its samples.
    void Run(WhatIfRow &row) const;

    const std::vector<FrameGraph> &Frames() const { return m_frames; }
    /// The first so many frames are the middle ones, the others are the slow ones.
    size_t MiddleFrames() const { return m_middle; }
    FrameTimes Recorded() const;
    const Place &ThePlace() const { return m_place; }
    uint32_t Orders() const { return m_options.orders; }

private:
    void ChooseFrames(const trace::Timeline &timeline, const RecordedWork &work);
    void ChooseNames(const trace::Timeline &timeline, const std::vector<trace::Frame> &frames);
    void FindPlace(const trace::Recording &recording, const trace::Timeline &timeline);

    WhatIfOptions m_options;
    trace::Problem m_problem;
    std::vector<std::string> m_names;  // of the recording
    std::vector<uint32_t> m_chosen;    // names of tasks
    std::vector<FrameGraph> m_frames;
    size_t m_middle = 0;
    Place m_place;
};

/// Returns the means of the times that Replay returned.
FrameTimes MeansOf(const std::vector<double> &times, size_t middleFrames);

/// The rows of a recording. The first one is without a change.
struct WhatIfTable {
    std::vector<WhatIfRow> rows;
    FrameTimes recorded;
    std::string note;  ///< which frames, in how many orders, how exact
};
WhatIfTable RunAll(const WhatIf &whatIf, const std::vector<WhatIfRow> &rows);
void PrintTable(const WhatIfTable &table, std::ostream &out);
/// Writes the option `whatIf` of the page (bench/trace/page/page.js).
void WriteJson(const WhatIfTable &table, std::ostream &out);

}  // namespace machine
