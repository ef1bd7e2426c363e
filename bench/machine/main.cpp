// machine counts [--check FILE]   what a task costs on one core and on two, in operations that
// every machine has machine curves [--quick | --workers N] [--frame FRAME]
//                                 efficiency on 2 to 128 cores, for three prices of a cache line
// machine layouts [FRAME]         the same on 16 cores in two cache domains, and on fast and slow
// ones machine wake-ups                the time until many workers are awake; the unit is the time
// of one wake-up machine bounds                  checks limits on many cores; fails if one is not
// met machine frame FRAME WORKERS [TRANSFER]
//                                 what frame_bench says of a described frame; TRANSFER: 80 ns for a
//                                 cache line
// machine calibrate FILE          fits the model's costs to results of bench/run.sh, and checks
// them on other rows
//
// --check compares with a table that was printed before, and fails if it differs: the counts do not
// depend on the machine.
#include "machine/runs.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace machine {
namespace {

int Curves(int count, char **arguments) {
    bool quick = false;
    uint32_t only = 0;
    const char *frame = nullptr;
    for (int i = 0; i < count; ++i) {
        const bool hasValue = i + 1 < count;
        if (std::strcmp(arguments[i], "--quick") == 0) {
            quick = true;
        } else if (std::strcmp(arguments[i], "--workers") == 0 && hasValue) {
            only = static_cast<uint32_t>(std::strtoul(arguments[++i], nullptr, 10));
        } else if (std::strcmp(arguments[i], "--frame") == 0 && hasValue) {
            frame = arguments[++i];
        } else {
            return 2;
        }
    }
    PrintCurves(quick, only, frame);
    return 0;
}

int Main(int count, char **arguments) {
    const char *command = count > 1 ? arguments[1] : "";
    if (std::strcmp(command, "counts") == 0) {
        const char *file =
            count > 3 && std::strcmp(arguments[2], "--check") == 0 ? arguments[3] : nullptr;
        return PrintCounts(file) ? 0 : 1;
    }
    if (std::strcmp(command, "curves") == 0) return Curves(count - 2, arguments + 2);
    if (std::strcmp(command, "layouts") == 0) {
        PrintLayouts(count > 2 ? arguments[2] : nullptr);
        return 0;
    }
    if (std::strcmp(command, "frame") == 0 && count > 3) {
        const uint32_t workers = static_cast<uint32_t>(std::strtoul(arguments[3], nullptr, 10));
        PrintFrames(arguments[2], workers,
                    count > 4 ? std::strtod(arguments[4], nullptr) : Costs().transfer);
        return 0;
    }
    if (std::strcmp(command, "bounds") == 0) return PrintBounds() ? 0 : 1;
    if (std::strcmp(command, "wake-ups") == 0) {
        PrintWakeUps();
        return 0;
    }
    if (std::strcmp(command, "calibrate") == 0 && count > 2) return Calibrate(arguments[2]) ? 0 : 1;
    return 2;
}

}  // namespace
}  // namespace machine

int main(int argc, char **argv) {
    const int result = machine::Main(argc, argv);
    if (result == 2) {
        std::fprintf(
            stderr,
            "machine counts [--check FILE] | curves [--quick | --workers N] [--frame FRAME] |\n"
            "        layouts [FRAME] | wake-ups | bounds | frame FRAME WORKERS [TRANSFER] |\n"
            "        calibrate RESULTS.csv\n");
    }
    return result;
}
