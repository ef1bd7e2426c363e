// Checks limits of wake-up times and efficiency on many cores.
#include "machine/runs.h"

#include <cstdio>

namespace machine {

bool PrintBounds() {
    uint32_t passed = 0, failed = 0;
    const auto print = [&](const char *what, double value, const char *relation, double bound,
                           bool holds) {
        ++(holds ? passed : failed);
        std::printf("%-52s %6.3f %s %5.3f%s\n", what, value, relation, bound,
                    holds ? "" : "   FAILED");
    };
    const auto atMost = [&](const char *what, double value, double bound) {
        print(what, value, "<=", bound, value <= bound);
    };
    const auto atLeast = [&](const char *what, double value, double bound) {
        print(what, value, ">=", bound, value >= bound);
    };
    atMost("32 tasks for 32 sleeping workers: wake-up times", WakeUpTimes(32, true), 6);
    atLeast("tasks of 0.5 us on 64 cores: efficiency", BatchEfficiency(64, 500), 0.40);
    atLeast("tasks of 2 us on 64 cores: efficiency", BatchEfficiency(64, 2000), 0.75);
    atLeast("tasks of 10 us on 64 cores: efficiency", BatchEfficiency(64, 10000), 0.93);
    std::printf("\n%u passed, %u failed\n", passed, failed);
    return failed == 0;
}

}  // namespace machine
