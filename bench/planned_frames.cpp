// Reads the described frame and draws the durations of its tasks for each of the measured frames.
#include "frame/description.h"
#include "staged_frame.h"

namespace bench {

const std::vector<std::vector<frame::Stage>> &PlannedFrames() {
    constexpr uint32_t kFrames = 61;  // the first one warms up
    constexpr uint64_t kSeed = 1;
    constexpr double kShortening = 4;  // without it, these rows take half of all time
    static const std::vector<std::vector<frame::Stage>> frames = [] {
        frame::Frame described;
        const frame::Problem problem = frame::ReadFile("bench/frame/aaa.frame", kSeed, &described);
        if (!problem.empty()) Wrong(problem.c_str());
        std::vector<std::vector<frame::Stage>> drawn;
        for (uint32_t i = 0; i < kFrames; ++i) {
            described.prepare(described, i);
            for (frame::Stage &stage : described.stages) {
                for (double &nanoseconds : stage.nanoseconds) nanoseconds /= kShortening;
            }
            drawn.push_back(described.stages);
        }
        return drawn;
    }();
    return frames;
}

}  // namespace bench
