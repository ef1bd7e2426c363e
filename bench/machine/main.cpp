// machine counts [--check FILE]   what a task costs on one core and on two, in operations that every machine has
// machine curves [--quick | --workers N]   efficiency on 2 to 128 cores, for three prices of a cache line
// machine calibrate FILE          fits the model's costs to results of bench/run.sh, and checks them on other rows
//
// --check compares with a table that was printed before, and fails if it differs: the counts do not depend on the machine.
#include "machine/runs.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    if (std::strcmp(command, "counts") == 0) {
        const char *file = argc > 3 && std::strcmp(argv[2], "--check") == 0 ? argv[3] : nullptr;
        return machine::PrintCounts(file) ? 0 : 1;
    }
    if (std::strcmp(command, "curves") == 0) {
        const bool only = argc > 3 && std::strcmp(argv[2], "--workers") == 0;
        machine::PrintCurves(argc > 2 && std::strcmp(argv[2], "--quick") == 0,
                             only ? static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)) : 0);
        return 0;
    }
    if (std::strcmp(command, "calibrate") == 0 && argc > 2) return machine::Calibrate(argv[2]) ? 0 : 1;
    std::fprintf(stderr, "machine counts [--check FILE] | curves [--quick | --workers N] | calibrate RESULTS.csv\n");
    return 2;
}
