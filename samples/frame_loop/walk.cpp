// Implements walk.h.
#include "walk.h"

#include <utility>

namespace frame_loop {
namespace {

// Map units, and map units a frame. A step is shorter than the radius. So no step crosses a wall.
constexpr int kWalkerRadius = 16, kWalkerHeight = 56, kWalkerEyeHeight = 41, kWalkerSpeed = 7,
              kWalkerRise = 6;
constexpr Angle kTurn = kQuarterTurn / 40;

// A deep fall is allowed.
bool CanStand(const Footing &there, int floor) {
    return !there.blocked && there.ceiling - there.floor >= kWalkerHeight &&
           there.floor - floor <= kMaxStep;
}

}  // namespace

Viewpoint Walk(const Level &level, const Ceilings &ceilings, const Viewpoint &before,
               uint32_t keys) {
    const auto footingAt = [&](Fixed x, Fixed y) {
        return FootingAt(level, ceilings, x, y, kWalkerRadius, kBlocksAll);
    };
    const auto sign = [keys](uint32_t plus, uint32_t minus) {
        return static_cast<int>((keys & plus) != 0) - static_cast<int>((keys & minus) != 0);
    };
    Viewpoint eye = before;
    eye.angle += kTurn * static_cast<Angle>(sign(kTurnLeft, kTurnRight));
    const Fixed ahead = ToFixed(kWalkerSpeed * sign(kForward, kBack)),
                right = ToFixed(kWalkerSpeed * sign(kStepRight, kStepLeft));
    const Fixed sine = Sine(eye.angle), cosine = Cosine(eye.angle);
    const Fixed dx = Multiply(ahead, cosine) + Multiply(right, sine),
                dy = Multiply(ahead, sine) - Multiply(right, cosine);
    Footing footing = footingAt(eye.x, eye.y);
    // the whole step, or a part of it to slide along a wall
    const std::array<std::pair<Fixed, Fixed>, 3> ways{{{dx, dy}, {dx, 0}, {0, dy}}};
    for (const auto &[stepX, stepY] : ways) {
        if (stepX == 0 && stepY == 0) continue;
        const Footing there = footingAt(eye.x + stepX, eye.y + stepY);
        if (!CanStand(there, footing.floor)) continue;
        eye.x += stepX;
        eye.y += stepY;
        footing = there;
        break;
    }
    // the eye follows the floor in some frames
    const Fixed height = ToFixed(footing.floor + kWalkerEyeHeight);
    eye.z += std::clamp(height - eye.z, -ToFixed(2 * kWalkerRise), ToFixed(kWalkerRise));
    return eye;
}

}  // namespace frame_loop
