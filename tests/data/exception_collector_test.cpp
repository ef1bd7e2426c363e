#include "weft/data/exception_collector.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

std::string Rethrown(TaskScheduler &scheduler, Counter *counter,
                     const ExceptionCollector &failures) {
    try {
        WaitAndRethrow(scheduler, counter, failures);
    } catch (const std::exception &error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("WaitAndRethrow: the first exception of the tasks is thrown to the waiter",
          "[exception_collector][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            ExceptionCollector failures;
            Counter counter;
            std::vector<uint32_t> marks(30);
            const auto work = [&](uint32_t i) {
                return [&marks, i](TaskScheduler *) {
                    ++marks[i];
                    if (i % 3 == 1) throw std::runtime_error(std::to_string(i));
                };
            };
            std::vector<decltype(failures.Wrap(work(0)))> catching;
            for (uint32_t i = 0; i < marks.size(); ++i) catching.push_back(failures.Wrap(work(i)));
            for (auto &each : catching) scheduler.AddTask(MakeTask(each), &counter);
            const std::string what = Rethrown(scheduler, &counter, failures);
            wrong += what.empty() || std::stoi(what) % 3 != 1;
            wrong += failures.Count() != 10;
            for (uint32_t mark : marks) wrong += mark != 1;
            wrong += Rethrown(scheduler, &counter, failures) != what;  // the same until Clear
            failures.Clear();
            wrong += Rethrown(scheduler, &counter, failures) != "" || failures.Count() != 0 ||
                     failures.First();
            scheduler.AddTask(MakeTask(catching[4]), &counter);
            wrong += Rethrown(scheduler, &counter, failures) != "4" || failures.Count() != 1;
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WaitAndRethrow: the first exception stays when a second one follows",
          "[exception_collector]") {
    test::Runner runner(test::Options(1));
    std::string what;
    uint32_t count = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ExceptionCollector failures;
        auto first = failures.Wrap([](TaskScheduler *) { throw std::runtime_error("first"); });
        auto second = failures.Wrap([](TaskScheduler *) { throw std::runtime_error("second"); });
        Counter counter;
        scheduler.AddTask(MakeTask(first), &counter);
        scheduler.WaitForCounter(&counter);
        scheduler.AddTask(MakeTask(second), &counter);
        what = Rethrown(scheduler, &counter, failures);
        count = failures.Count();
    }) == Status::Ok);
    CHECK(what == "first");
    CHECK(count == 2);
}

TEST_CASE("WaitAndRethrow: tasks of functions, throws after a yield, nested collectors",
          "[exception_collector]") {
    for (uint32_t workers : {1u, 3u}) {
        test::Runner runner(test::Options(workers));
        std::string what;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            int number = 41;
            ExceptionCollector inner, outer;
            auto fails = inner.Wrap(Task{[](TaskScheduler *running, void *arg) {
                                             running->Yield();
                                             throw std::runtime_error(
                                                 std::to_string(++*static_cast<int *>(arg)));
                                         },
                                         &number});
            auto waits = outer.Wrap([&](TaskScheduler *running) {
                Counter counter;
                running->AddTask(MakeTask(fails), &counter);
                WaitAndRethrow(*running, &counter, inner);
            });
            Counter counter;
            scheduler.AddTask(MakeTask(waits), &counter);
            what = Rethrown(scheduler, &counter, outer);
        }) == Status::Ok);
        CHECK(what == "42");
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WaitAndRethrow: called by an external thread", "[exception_collector]") {
    test::Runner runner(test::Options(2));
    std::string what;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              ExceptionCollector failures;
              auto fails = failures.Wrap([](TaskScheduler *) { throw std::logic_error("logic"); });
              Counter counter;
              scheduler.AddTask(MakeTask(fails), &counter);
              what = Rethrown(scheduler, &counter, failures);
          }) == Status::Ok);
    CHECK(what == "logic");
    CHECK(runner.log.Text() == "");
}

TEST_CASE("report NullTask: ExceptionCollector::Wrap of a task with a null function",
          "[exception_collector][report]") {
    test::Runner runner(test::Options(1));
    ExceptionCollector failures;
    auto nothing = failures.Wrap(Task{nullptr, nullptr});
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const Task task = MakeTask(nothing);
        scheduler.AddTasksAndWait(1, &task);
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
    CHECK(failures.Count() == 0);
}
