// Reads frames that are described in text, whose tasks only keep a processor busy. A line is empty,
// a comment (# to the line's end), or
//
//     stage NAME tasks N DURATION [after NAME...] [priority high|normal|low]
//
// The duration of a task is one of these, in ns, us, ms or s:
//
//     constant 50us             always the same
//     uniform 20us 60us         between the two
//     normal 50us 10us          mean and standard deviation, cut off at 0
//     lognormal 80us 0.5        median, and standard deviation of the logarithm
//     spiky 30us 2% 400us       the first; for 2 % of the tasks the second
#pragma once

#include "frame/frame.h"

#include <istream>
#include <random>

namespace frame {

struct Duration {
    enum class Kind : uint8_t { Constant, Uniform, Normal, LogNormal, Spiky };
    Kind kind = Kind::Constant;
    /// Nanoseconds, in the order of the text. For LogNormal, `second` has no unit
    double first = 0, second = 0;
    double part = 0;  ///< Spiky: the part of the tasks that take `second`, 0 to 1

    /// Draws the duration of one task, in nanoseconds. It is the same on every machine whose log,
    /// exp and cos give the same results.
    double Draw(std::mt19937_64 &random) const;
};

/// Fills `frame`. Its `prepare` then draws the durations. A seed and a frame number always give the
/// same durations.
Problem Parse(std::istream &text, uint64_t seed, Frame *frame);

/// As Parse, for a file. The name of the frame is the name of the file, without folders and
/// extension.
Problem ReadFile(const std::string &path, uint64_t seed, Frame *frame);

}  // namespace frame
