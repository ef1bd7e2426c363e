// Tests the fixed-point arithmetic of the sample frame_loop.
#include "frame_loop/fixed.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>

using namespace frame_loop;

namespace {

constexpr double kFullCircle = 4294967296.0, kTwoPi = 6.283185307179586;

}  // namespace

TEST_CASE("frame_loop: the integer sine is close to the real one", "[frame_loop]") {
    for (int64_t angle = 0; angle < (int64_t{1} << 32); angle += 1 << 18) {
        const double radians = static_cast<double>(angle) / kFullCircle * kTwoPi;
        REQUIRE(std::abs(static_cast<double>(Sine(static_cast<Angle>(angle))) -
                         std::sin(radians) * 65536.0) <= 1.0);
        REQUIRE(std::abs(static_cast<double>(Cosine(static_cast<Angle>(angle))) -
                         std::cos(radians) * 65536.0) <= 1.0);
    }
}

TEST_CASE("frame_loop: the direction of a vector is right in all quadrants", "[frame_loop]") {
    CHECK(AngleOf(0, 0) == 0);
    CHECK(AngleOf(kOne, 0) == 0);
    CHECK(AngleOf(0, kOne) == kQuarterTurn);
    CHECK(AngleOf(-kOne, 0) == 2 * kQuarterTurn);
    CHECK(AngleOf(0, -kOne) == 3 * kQuarterTurn);
    for (int64_t angle = 1 << 17; angle < (int64_t{1} << 32); angle += 7919 << 10) {
        const double radians = static_cast<double>(angle) / kFullCircle * kTwoPi;
        const auto part = [](double value) { return static_cast<Fixed>(value * 1e8); };
        const Angle found = AngleOf(part(std::cos(radians)), part(std::sin(radians)));
        // the error is at most two steps of the table
        REQUIRE(std::abs(static_cast<int32_t>(found - static_cast<Angle>(angle))) <= 1 << 19);
    }
}

TEST_CASE("frame_loop: roots round down", "[frame_loop]") {
    for (const int64_t root :
         std::initializer_list<int64_t>{0, 1, 2, 3, 10, 65535, 65536, 1518500249})
        for (const int64_t square : {root * root, root * root + 2 * root})
            REQUIRE(SquareRoot(square) == root);
    CHECK(Distance(ToFixed(3), ToFixed(4)) == ToFixed(5));
    CHECK(Distance(ToFixed(-65535), ToFixed(65535)) / kOne == 92680);
}
