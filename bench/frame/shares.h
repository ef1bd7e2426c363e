// Computes from the recorded events how the workers spent their time.
#pragma once

#include "frame/ideal.h"
#include "frame/recorder.h"

namespace frame {

/// The name of tasks that do not belong to the frame, such as those that start stages. It is
/// compared as a pointer.
extern const char *const kOwnTask;

struct Account {
    std::vector<Share> workers;   ///< fractions of the time in frames
    std::vector<double> frameNs;  ///< of each frame
    std::vector<Work> work;       ///< of each frame, as measured
    double stolen = 0;            ///< stolen tasks of a frame, mean
};

/// Computes the account. `events` must be in the order of time, with the begins and ends of frames.
/// The name of a task of a stage points to the characters of the name of the stage. Other tasks,
/// which tasks of the frame submit, are busy time, too. If such a task does not run, this is no
/// overhead.
Account TakeAccount(const std::vector<Event> &events, const std::vector<Stage> &stages,
                    uint32_t workers);

}  // namespace frame
