#include "platform/tick_rate.h"

#include <catch2/catch.hpp>

using namespace weft::env;

TEST_CASE("tick rate: an interruption at any point does not change it", "[env]") {
    constexpr uint64_t kLook = 20, kInterruption = 50'000;  // in nanoseconds, of 3 ticks each
    for (uint64_t interrupted = 0; interrupted < 5100; ++interrupted) {
        uint64_t now = 1000, looks = 0;
        const auto pass = [&] { return now += looks++ == interrupted ? kInterruption : kLook; };
        const double rate = MeasureTickRate([&] { return 3 * pass(); }, pass, 100'000);
        if (rate > 2997 && rate < 3003) continue;
        INFO("look " << interrupted);
        CHECK(rate == 3000);
    }
}
