#include "frame_loop/watch.h"

#include "support/scheduler_run.h"

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// The words of the line that begins with this word.
std::vector<std::string> Line(const std::string &text, const std::string &begin) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind(begin, 0) != 0) continue;
        std::istringstream words(line);
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

}  // namespace

TEST_CASE("frame_loop: the text of --watch", "[frame_loop]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([](TaskScheduler &scheduler) {
        frame_loop::WatchText text(scheduler);
        Counter gate(1), counter;
        test::Batch waits(3, [&](TaskScheduler &self, uint32_t) { self.WaitForCounter(&gate); });
        scheduler.AddTasks(3, waits.Tasks(), &counter, test::Named("waits"));
        std::string shown = text.Next(30, 1'000'000'000);
        CHECK(test::YieldUntil(scheduler, [&] {
            shown = text.Next(30, 1'000'000'000);
            return Line(shown, "waiting") == std::vector<std::string>{"waiting", "waits", "3"};
        }));
        CHECK(Line(shown, "frame") ==
              std::vector<std::string>{"frame", "30", "0", "frames", "a", "second"});
        CHECK(Line(shown, "tasks 4 pending; fibers").size() > 5);
        CHECK(Line(shown, "worker 1").size() == 8);
        CHECK(Line(shown, "worker 2").empty());
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
        const auto all = [&](uint64_t frames, int64_t ns) {
            shown = text.Next(frames, ns);
            return Line(shown, "all").at(1);  // tasks a second
        };
        all(30, 2'000'000'000);
        test::Batch nothing(10, [](TaskScheduler &, uint32_t) {});
        scheduler.AddTasksAndWait(10, nothing.Tasks());
        CHECK(all(130, 4'000'000'000) == "5");
        CHECK(Line(shown, "frame").at(2) == "50");
        CHECK(Line(shown, "waiting").at(1) == "none");
        CHECK(all(130, 5'000'000'000) == "0");
    }) == Status::Ok);
}
