// Frames described in text, whose tasks only keep a processor busy. A line is empty, a comment, or
//
//     stage NAME tasks N DURATION [after NAME...] [priority high|normal|low] [stack small|large]
//
// with one of these durations of a task, in ns, us, ms or s:
//
//     constant 50us             always that
//     uniform 20us 60us         anything between the two
//     normal 50us 10us          mean and standard deviation, cut off at 0
//     lognormal 80us 0.5        median, and standard deviation of the logarithm
//     spiky 30us 2% 400us       the first, but of 2 % of the tasks the second
#pragma once

#include "frame/frame.h"

#include <istream>
#include <random>

namespace frame {

struct Duration {
    enum class Kind : uint8_t { Constant, Uniform, Normal, LogNormal, Spiky };
    Kind kind = Kind::Constant;
    /// Nanoseconds, in the order of the text; LogNormal: `second` has no unit
    double first = 0, second = 0;
    double part = 0;  ///< Spiky: of the tasks that take `second`; 0 to 1

    /// One task's, in nanoseconds. The same on every machine as far as the machine's log, exp and
    /// cos are.
    double Draw(std::mt19937_64 &random) const;
};

/// Fills `frame`, whose `prepare` then draws the durations: of one seed and frame number always the
/// same ones.
Problem Parse(std::istream &text, uint64_t seed, Frame *frame);

/// The same for a file; its name without folders and extension is the frame's name.
Problem ReadFile(const std::string &path, uint64_t seed, Frame *frame);

}  // namespace frame
