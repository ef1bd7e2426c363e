// Runs that must succeed, and what they may report.
#pragma once

#include "support/spin.h"
#include "support/threads.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <string>

namespace test {

/// What a main task or an external thread does.
using RunBody = std::function<void(weft::TaskScheduler &)>;

inline Runner &RunnerOf(Runner &runner) { return runner; }
inline Runner RunnerOf(const weft::SchedulerOptions &options) { return Runner(options); }
inline Runner RunnerOf(const GridPoint &point) { return Runner(point); }

/// Runs `body` as the main task. The run must succeed, and nothing may be reported. `where`: a
/// Runner, or the options of a new one.
template <class Where>
void RunQuietly(Where &&where, const RunBody &body) {
    auto &&runner = RunnerOf(where);
    CHECK(runner.Run(body) == weft::Status::Ok);
    CHECK(runner.log.Text() == "");
}

/// The same, but stalls may be reported.
template <class Where>
void RunMayStall(Where &&where, const RunBody &body) {
    auto &&runner = RunnerOf(where);
    CHECK(runner.Run(body) == weft::Status::Ok);
    CHECK(Faults(runner.log) == "");
}

/// Calls `host` on an external thread, as WhileItRuns does; by default between Start and Stop. The
/// run must succeed, and nothing may be reported.
template <class Where>
void HostQuietly(Where &&where, Life life, const RunBody &host) {
    auto &&runner = RunnerOf(where);
    CHECK(WhileItRuns(runner, life, host) == weft::Status::Ok);
    CHECK(runner.log.Text() == "");
}
template <class Where>
void HostQuietly(Where &&where, const RunBody &host) {
    HostQuietly(where, Life::Start, host);
}

/// The same, but stalls may be reported.
template <class Where>
void HostMayStall(Where &&where, Life life, const RunBody &host) {
    auto &&runner = RunnerOf(where);
    CHECK(WhileItRuns(runner, life, host) == weft::Status::Ok);
    CHECK(Faults(runner.log) == "");
}
template <class Where>
void HostMayStall(Where &&where, const RunBody &host) {
    HostMayStall(where, Life::Start, host);
}

/// A scheduler that has been started.
struct Started : Runner {
    template <class Where>
    explicit Started(const Where &where) : Runner(where) {
        REQUIRE(scheduler.Start() == weft::Status::Ok);
    }
    /// Nothing may have been reported.
    void StopQuietly() {
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
    void StopQuietly() {
        scheduler.DetachThread();
        Started::StopQuietly();
    }
};

/// There must be `count` reports, all with this code.
inline void CheckOnly(const ReportLog &log, weft::ReportCode code, size_t count) {
    INFO(log.Text());
    CHECK(log.CountOf(code) == count);
    CHECK(log.Count() == count);
}

/// `text` must contain all of `parts`.
inline void CheckNames(const std::string &text, std::initializer_list<std::string> parts) {
    for (const std::string &part : parts) {
        INFO('"' << part << "\" in \"" << text << '"');
        CHECK(Names(text, part));
    }
}

/// Runs `count` tasks that meet: each one waits on its thread for all others. Each one calls
/// `before` and `after`. Returns how many have given up.
inline uint32_t Meet(weft::TaskScheduler &scheduler, uint32_t count,
                     const weft::TaskOptions &options = {}, const RunBody &before = {},
                     const RunBody &after = {}) {
    std::atomic<uint32_t> inside{0}, alone{0};
    Batch meeting(count, [&](weft::TaskScheduler &running, uint32_t) {
        if (before) before(running);
        inside.fetch_add(1);
        alone.fetch_add(!SpinUntil([&] { return inside.load() >= count; }));
        if (after) after(running);
    });
    scheduler.AddTasksAndWait(count, meeting.Tasks(), options);
    return alone.load();
}

/// Submits all tasks of a Batch, or of a class like it, with a counter, and waits for the counter.
template <class List>
void AddAndWait(weft::TaskScheduler &scheduler, const List &tasks,
                const weft::TaskOptions &options = {}) {
    weft::Counter counter;
    scheduler.AddTasks(tasks.Count(), tasks.Tasks(), &counter, options);
    scheduler.WaitForCounter(&counter);
}

/// A body that submits all tasks of a Batch by AddTasksAndWait.
template <class List>
RunBody RunsAll(const List &tasks, const weft::TaskOptions &options = {}) {
    return [&tasks, options](weft::TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(tasks.Count(), tasks.Tasks(), options);
    };
}

}  // namespace test
