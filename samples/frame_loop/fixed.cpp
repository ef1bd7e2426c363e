// Sine, direction and square root in fixed-point arithmetic.
#include "fixed.h"

#include <array>

namespace frame_loop {
namespace {

constexpr int kQuarterSteps = 4096;
constexpr int kStepShift = 18;  // 2^32 / (4 * kQuarterSteps)

// Taylor's series with 30 fraction bits. With this precision the terms after the eighth are zero.
std::array<int32_t, kQuarterSteps + 1> MakeQuarterSine() {
    constexpr int64_t kHalfPi = 1686629713;  // pi / 2 * 2^30
    std::array<int32_t, kQuarterSteps + 1> table{};
    for (int i = 0; i <= kQuarterSteps; ++i) {
        const int64_t x = kHalfPi * i / kQuarterSteps;
        const int64_t square = (x * x) >> 30;
        int64_t term = x, sum = x;
        for (int n = 2; n <= 16; n += 2) {
            term = -((term * square) >> 30) / (n * (n + 1));
            sum += term;
        }
        table[i] = static_cast<int32_t>((sum + (1 << 13)) >> 14);
    }
    return table;
}

const std::array<int32_t, kQuarterSteps + 1> g_quarterSine = MakeQuarterSine();

Fixed QuarterSine(uint32_t step) { return g_quarterSine[step]; }

}  // namespace

Fixed Sine(Angle angle) {
    const uint32_t step = angle >> kStepShift, inQuarter = step % kQuarterSteps;
    const bool falling = (step & kQuarterSteps) != 0, negative = (step & 2 * kQuarterSteps) != 0;
    const Fixed value = QuarterSine(falling ? kQuarterSteps - inQuarter : inQuarter);
    return negative ? -value : value;
}

// Bisection over the sine table. Finds the largest step whose direction is not beyond the vector.
Angle AngleOf(Fixed dx, Fixed dy) {
    if (dx == 0 && dy == 0) return 0;
    Angle quarters = 0;
    while (dx <= 0 || dy < 0) {  // turns the vector into the first quadrant
        const Fixed turned = dy;
        dy = -dx;
        dx = turned;
        quarters += kQuarterTurn;
    }
    uint32_t low = 0, high = kQuarterSteps;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        (QuarterSine(middle) * dx <= QuarterSine(kQuarterSteps - middle) * dy ? low : high) =
            middle;
    }
    return quarters + (low << kStepShift);
}

int64_t SquareRoot(int64_t value) {
    int64_t root = 0;
    for (int64_t bit = int64_t{1} << 31; bit != 0; bit >>= 1)
        if ((root + bit) * (root + bit) <= value) root += bit;
    return root;
}

}  // namespace frame_loop
