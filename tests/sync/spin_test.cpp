#include "sync/spin.h"

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

// Returns how often SpinBriefly looks before it gives up.
uint32_t LooksInVain(WaitQueue &queue) {
    uint32_t looks = 0;
    CHECK(!SpinBriefly(queue, [&] {
        ++looks;
        return Look::Again;
    }));
    return looks;
}

bool SucceedsAt(WaitQueue &queue, uint32_t look) {
    uint32_t looks = 0;
    return SpinBriefly(queue, [&] { return ++looks == look ? Look::Done : Look::Again; });
}

}  // namespace

TEST_CASE("SpinBriefly: spins longer after successes, and shorter after failures", "[sync][spin]") {
    TaskScheduler scheduler;
    WaitQueue queue(scheduler, 0);
    const uint32_t few = LooksInVain(queue);
    CHECK(few > 1);
    for (int i = 0; i < 100; ++i) REQUIRE(SucceedsAt(queue, few));
    const uint32_t more = LooksInVain(queue);
    CHECK(more > few);
    for (int i = 0; i < 100; ++i) LooksInVain(queue);
    CHECK(LooksInVain(queue) == few);
}

TEST_CASE("SpinBriefly: stops at Look::Pointless", "[sync][spin]") {
    TaskScheduler scheduler;
    WaitQueue queue(scheduler, 0);
    uint32_t looks = 0;
    CHECK(!SpinBriefly(queue, [&] { return ++looks == 2 ? Look::Pointless : Look::Again; }));
    CHECK(looks == 2);
}
