// Runs recorded frames again on the virtual cores, with the scheduler as it is, and with something
// changed.
#pragma once

#include "machine/machine.h"
#include "machine/what_if/frame_graph.h"

#include <optional>
#include <vector>

namespace machine {

/// The machine and the scheduler of a recording.
struct Place {
    Costs costs;
    uint32_t workers = 1;
    uint32_t fibers = 0;
};

/// What is other than in the recording.
struct Change {
    uint32_t name = kNone;                        ///< of the tasks that change
    double factor = 1;                            ///< for the time that these tasks compute
    std::optional<weft::Priority> priority = {};  ///< of these tasks
    uint32_t workers = 0;                         ///< 0: as many as in the recording
};

/// Returns the times of the frames, in nanoseconds. They run one after the other, in one run of the
/// scheduler. `order`: perturbs the durations of the tasks by up to 2 %, so that the scheduler
/// takes them in another order.
std::vector<double> Replay(const std::vector<FrameGraph> &frames, const Place &place,
                           const Change &change, uint32_t order);

/// Returns a factor from 0.98 to 1.02 for the duration of a task.
double Perturb(uint32_t order, uint32_t job, uint32_t step);

}  // namespace machine
