#include "platform/off_cpu.h"

#include "support/off_cpu.h"

#include <thread>

#include <catch2/catch.hpp>

using weft::env::OffCpuWatch;

TEST_CASE("off_cpu: a thread that blocks was off its processor", "[off_cpu]") {
    OffCpuWatch watch;
    CHECK(watch.MayHaveLost());  // it has not begun
    CHECK(watch.TakeLost() == 0);
    uint64_t least = 0;
    if (!test::IsOffCpuTold()) {
        test::BlockForOthers();
        CHECK(!watch.MayHaveLost());
        CHECK(watch.TakeLost() == 0);
        return;
    }
    for (int i = 0; i < 10; ++i) {
        least = test::BlockForOthers();
        CHECK(watch.MayHaveLost());
        CHECK(watch.TakeLost() >= least);
    }
    test::BlockForOthers();
    watch.Begin();
    // the system may take the processor away between the two calls
    CHECK((!watch.MayHaveLost() || watch.TakeLost() < least * 1000));
}

TEST_CASE("off_cpu: each thread has a word of its own", "[off_cpu]") {
    OffCpuWatch mine;
    mine.Begin();
    std::thread other([] {
        OffCpuWatch its;
        its.Begin();
        test::BlockForOthers();
        CHECK(its.MayHaveLost() == test::IsOffCpuTold());
    });
    other.join();
}
