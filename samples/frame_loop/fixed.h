// Fixed-point arithmetic. The picture must be the same on every processor. So this code and the
// code that uses it have no floating-point numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace frame_loop {

// 16.16 in 64 bits, so that the product of any two coordinates of a level fits
using Fixed = int64_t;
using Angle = uint32_t;  // a full circle is 2^32; 0 is east, a quarter turn is north

inline constexpr Fixed kOne = 1 << 16;
inline constexpr Angle kQuarterTurn = 1u << 30;

inline constexpr Fixed ToFixed(int value) { return Fixed{value} * kOne; }
inline constexpr Fixed Multiply(Fixed a, Fixed b) { return (a * b) >> 16; }
inline constexpr int ToInt(Fixed value) { return static_cast<int>(value >> 16); }  // rounds down

Fixed Sine(Angle angle);
inline Fixed Cosine(Angle angle) { return Sine(angle + kQuarterTurn); }

Angle AngleOf(Fixed dx, Fixed dy);  // direction of a vector; 0 for the null vector
inline Angle AngleOfDegrees(int degrees) {
    return static_cast<Angle>((int64_t{degrees} * (int64_t{1} << 32)) / 360);
}
int64_t SquareRoot(int64_t value);  // rounds down
inline Fixed Distance(Fixed dx, Fixed dy) {
    const int64_t x = dx >> 4,
                  // 12 fraction bits, so that the squares of a large diagonal fit
        y = dy >> 4;
    return SquareRoot(x * x + y * y) * 16;
}

}  // namespace frame_loop
