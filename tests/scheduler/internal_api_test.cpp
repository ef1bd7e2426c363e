#include "scheduler/api/internal_api.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "weft/frame/scratch_arena.h"

#include <cstdlib>
#include <functional>

#include <catch2/catch.hpp>

using namespace weft;
using internal::ReportTo;

namespace {

constexpr size_t kBlock = 4 << 10;

void Complain(const SchedulerOptions &options) {
    ReportTo(options.onReport, options.user, ReportCode::BadOption, "Do it better.", "%u of %s", 3u,
             "them");
}

// An onReport that calls `again`. Its own mistakes are reported on stderr, so it runs in a child
// process.
struct Answer {
    std::function<void()> again;
    uint32_t reports = 0;

    SchedulerOptions Options() {
        SchedulerOptions options = test::Options(1);
        options.user = this;
        options.onReport = [](const Report &, void *user) {
            auto *it = static_cast<Answer *>(user);
            if (++it->reports < 100) it->again();  // a limit, in case it calls itself without end
        };
        return options;
    }
    /// Runs `mistake` as a task. The exit code of the child is the number of reports.
    void ReportsOf(std::function<void()> mistake) {
        TaskScheduler scheduler(Options());
        scheduler.Run(
            [](TaskScheduler *, void *arg) { (*static_cast<std::function<void()> *>(arg))(); },
            &mistake, {Priority::Normal, kAnyWorker, "main"});
        std::_Exit(static_cast<int>(reports));
    }
};

}  // namespace

TEST_CASE("frame reports: they have text, hint and the name of the calling task", "[frame]") {
    test::Runner runner(test::Options(1));
    SchedulerOptions options;
    runner.log.AttachTo(options);
    Complain(options);
    const test::LoggedReport outside = runner.log.First(ReportCode::BadOption);
    CHECK(outside.what == "3 of them");
    CHECK(outside.hint == "Do it better.");
    CHECK(!outside.fatal);
    CHECK(outside.task == "-");

    test::ReportLog inside;
    inside.AttachTo(options);
    test::Batch mistake(1, [&](TaskScheduler &, uint32_t) { Complain(options); });
    runner.Run([&](TaskScheduler &self) {
        self.AddTasksAndWait(1, mistake.Tasks(), test::Named("sorts lights"));
    });
    CHECK(inside.First(ReportCode::BadOption).task == "sorts lights");
}

TEST_CASE("frame reports: without onReport they are lines on stderr", "[frame]") {
    const test::ChildResult child = test::RunInChild([] { Complain({}); });
    CHECK(child.output == "weft: 3 of them. Do it better.\n");
}

TEST_CASE(
    "frame reports: an onReport that allocates from the pool that is full is not called again",
    "[frame]") {
    const test::ChildResult child = test::RunInChild([] {
        Answer answer;
        BlockPool pool(answer.Options(), 1, kBlock);
        answer.again = [&] { ScratchArena(pool).Allocate(8); };
        answer.ReportsOf([&] {
            ScratchArena first(pool), second(pool);
            first.Allocate(8);
            second.Allocate(8);
        });
    });
    CHECK(child.signal == 0);
    CHECK(child.code == 1);
    CHECK(test::Names(child.output, "weft: in task 'main': ScratchArena: no 1 free blocks"));
}

TEST_CASE("frame reports: a wait in onReport is refused", "[frame]") {
    const test::ChildResult child = test::RunInChild([] {
        Answer answer;
        answer.again = [] { TaskScheduler::Current()->Yield(); };
        answer.ReportsOf([&] { Complain(answer.Options()); });
    });
    CHECK(child.signal == 0);
    CHECK(child.code == 1);
    CHECK(test::Names(child.output, "Yield was called by a hook"));
}
