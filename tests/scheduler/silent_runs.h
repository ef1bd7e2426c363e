// Runs in which nothing is reported.
#pragma once

#include "support/scheduler_run.h"

#include <functional>

#include <catch2/catch.hpp>

namespace test {

/// Runs `body` as the main task of a scheduler with these options, or of this point of the grid.
/// Nothing may be reported.
template <class Where>
void RunSilently(const Where &where, const std::function<void(weft::TaskScheduler &)> &body) {
    Runner runner(where);
    CHECK(runner.Run(body) == weft::Status::Ok);
    CHECK(runner.log.Text() == "");
}

/// A scheduler that has been started.
struct Started : Runner {
    template <class Where>
    explicit Started(const Where &where) : Runner(where) {
        REQUIRE(scheduler.Start() == weft::Status::Ok);
    }
    /// Nothing may have been reported.
    void StopSilently() {
        scheduler.Stop();
        CHECK(log.Text() == "");
    }
};

/// A started scheduler to which the calling thread is attached.
struct Attached : Started {
    template <class Where>
    explicit Attached(const Where &where) : Started(where) {
        REQUIRE(scheduler.AttachThread() == weft::Status::Ok);
    }
    /// The thread must still be attached. Nothing may have been reported.
    void StopSilently() {
        scheduler.DetachThread();
        Started::StopSilently();
    }
};

}  // namespace test
