// Where the workers' time went, out of what was recorded.
#pragma once

#include "frame/ideal.h"
#include "frame/recorder.h"

namespace frame {

/// The name of tasks that are no part of the frame, such as those that start stages. Compared as a
/// pointer.
extern const char *const kOwnTask;

struct Account {
    std::vector<Share> workers;   ///< parts of the time in frames
    std::vector<double> frameNs;  ///< of each frame
    std::vector<Work> work;       ///< of each frame, as measured
    double stolen = 0;            ///< tasks a frame
};

/// `events` in the order of time, with the frames' begins and ends. Tasks of a stage carry a
/// pointer to its name's characters; other tasks, which tasks submit, are busy time as well, and no
/// worker is blamed for not running them.
Account TakeAccount(const std::vector<Event> &events, const std::vector<Stage> &stages,
                    uint32_t workers);

}  // namespace frame
