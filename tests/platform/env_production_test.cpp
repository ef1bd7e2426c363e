#include "platform/env.h"

#include "support/child_process.h"

#include <string>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("env: the ticks advance at a known rate", "[env]") {
    const double rate = env::TicksPerMicrosecond();
    CHECK(rate > 1.0);       // finer than a microsecond
    CHECK(rate < 100000.0);  // coarser than 10 ps
    CHECK(env::TicksPerMicrosecond() == rate);
    const uint64_t begin = env::Ticks();
    uint64_t turns = 0;
    while (env::Ticks() == begin && turns < 1000000) ++turns;
    CHECK(env::Ticks() != begin);
}

TEST_CASE("env: Panic names the invariant and ends the process", "[env]") {
    const test::ChildResult result = test::RunInChild([] { env::Panic("no fiber is two"); });
    CHECK(result.Died());
    CHECK(result.output.find("broken invariant: no fiber is two") != std::string::npos);
}
