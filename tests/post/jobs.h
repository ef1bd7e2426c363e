// Jobs for the tests of weft/post/.
#pragma once

#include "support/scheduler_run.h"
#include "support/threads.h"
#include "sync/mix.h"
#include "weft/post/posted_job.h"

#include <functional>
#include <string>

namespace test {

/// Calls `body(*this)`. Copies `body` first, because it may destroy the job.
struct FunctionJob : weft::PostedJob {
    using Body = std::function<void(FunctionJob &)>;
    FunctionJob(weft::PostQueue &queue, Body function)
        : PostedJob(queue, Call), body(std::move(function)) {}
    static void Call(weft::TaskScheduler *, weft::PostedJob *job) {
        FunctionJob &self = *static_cast<FunctionJob *>(job);
        const Body called = self.body;
        called(self);
    }
    Body body;
};

inline constexpr std::chrono::hours kLong{1};  // no test takes so long

}  // namespace test
