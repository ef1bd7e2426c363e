// The calls of weft.h that concern the whole scheduler.
#include "c/c_support.h"
#include "c/convert.h"
#include "scheduler/state/entry_gate.h"
#include "support/trace_log.h"
#include "weft/inspect.h"

#include <cstddef>
#include <cstring>

#include <catch2/catch.hpp>

TEST_CASE("C: statistics have only as many bytes as the program's struct", "[c]") {
    test::AttachedOfC thread;
    weft_statistics statistics;
    std::memset(&statistics, 0x55, sizeof statistics);
    weft_get_statistics(thread.scheduler, &statistics, offsetof(weft_statistics, inlineRuns));
    CHECK(statistics.submitted == 0);
    CHECK(statistics.inlineRuns == 0x5555555555555555);
    weft_get_statistics(thread.scheduler, &statistics, sizeof statistics);
    const weft::Statistics expected = weft::GetStatistics(*thread.scheduler);
    CHECK(statistics.fibers == expected.fibers);
    CHECK(statistics.fibersInUse == expected.fibersInUse);
    CHECK(statistics.fibersTouched == expected.fibersTouched);
}
