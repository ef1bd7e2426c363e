// Programs whose predictions are compared with the truth.
#pragma once

#include "machine/what_if/replay.h"

#include <memory>
#include <string>
#include <vector>

namespace machine {

/// A program that runs frames on the virtual cores. Frame n is always the same.
class Subject {
public:
    virtual ~Subject() = default;

    virtual std::string Name() const = 0;
    virtual std::vector<unsigned char> Record() = 0;

    /// Runs the frames with these numbers, and perhaps others, with a change. Returns their times.
    /// `name`: that of the tasks that change.
    virtual std::vector<double> Run(const std::vector<uint32_t> &numbers, const Change &change,
                                    const std::string &name, uint32_t order) = 0;
};

/// A frame that is described in a file. It must be a valid one.
std::unique_ptr<Subject> DescribedFrame(const std::string &file, uint32_t workers);

/// A FramePipeline with three stages and two frames in flight.
std::unique_ptr<Subject> Pipeline(uint32_t workers);

}  // namespace machine
