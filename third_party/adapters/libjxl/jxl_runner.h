// libjxl's parallel loops run on weft.
//
//     weft::JxlRunner runner(scheduler);
//     JxlDecoderSetParallelRunner(decoder, weft::JxlRunner::Run, &runner);
//     JxlEncoderSetParallelRunner(encoder, weft::JxlRunner::Run, &runner);
#pragma once

#include "weft/algorithms/parallel_for.h"

#include <algorithm>
#include <atomic>

#include <jxl/parallel_runner.h>

namespace weft {

/// Runs the loops of libjxl's decoders and encoders, instead of JxlThreadParallelRunner.
///
/// The runner must outlive the decoders and encoders. Several of them may use it at the same time.
/// Thread-safe.
class JxlRunner {
public:
    /// `options` apply to the tasks of each loop: start from DefaultOptions(). `grain` is not used.
    /// After `options.cancel` is cancelled, calls of libjxl fail.
    explicit JxlRunner(TaskScheduler &scheduler,
                       const LoopOptions &options = DefaultOptions()) noexcept
        : m_scheduler(scheduler), m_options(options) {
        m_options.grain = 1;
    }

    /// The name "libjxl".
    static LoopOptions DefaultOptions() noexcept {
        LoopOptions options;
        options.name = "libjxl";
        return options;
    }

    /// libjxl's JxlParallelRunner; `runner` is a JxlRunner.
    ///
    /// A worker or attached thread that calls libjxl takes part. An external thread blocks. If the
    /// scheduler does not run, it is reported (NotRunning) and the call of libjxl fails.
    static JxlParallelRetCode Run(void *runner, void *jxl, JxlParallelRunInit init,
                                  JxlParallelRunFunction function, uint32_t begin,
                                  uint32_t end) noexcept {
        const JxlRunner &self = *static_cast<const JxlRunner *>(runner);
        // libjxl has memory for each of its threads, so two calls of `function` must not run at the
        // same time with the same thread number. A lane is one call of the body below, and its
        // index is the thread number. It takes values until none is left.
        if (begin > end) return JXL_PARALLEL_RET_RUNNER_ERROR;
        const uint32_t count = end - begin;
        const uint32_t lanes = (std::max)(1u, (std::min)(count, self.m_scheduler.MaxConcurrency()));
        if (const JxlParallelRetCode code = init(jxl, lanes)) return code;
        std::atomic<uint32_t> taken{0}, done{0};
        const auto lane = [&](uint32_t number) noexcept {
            uint32_t mine = 0;
            // relaxed: this only divides the values; ParallelFor publishes what the calls have
            // written when it returns
            for (uint32_t i; (i = taken.fetch_add(1, std::memory_order_relaxed)) < count; ++mine) {
                if (self.m_options.cancel.IsCancelled()) break;
                function(jxl, begin + i, number);
            }
            done.fetch_add(mine, std::memory_order_relaxed);  // read after the end of the loop
        };
        if (count != 0) ParallelFor(self.m_scheduler, 0u, lanes, lane, self.m_options);
        return done.load(std::memory_order_relaxed) == count ? 0 : JXL_PARALLEL_RET_RUNNER_ERROR;
    }

private:
    TaskScheduler &m_scheduler;
    LoopOptions m_options;
};

}  // namespace weft
