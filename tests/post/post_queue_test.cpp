#include "weft/post/post_queue.h"

#include "post/jobs.h"

#include "platform/compiler.h"
#include "support/child_process.h"
#include "support/group_layouts.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#if defined(WEFT_LINUX)
#include <unistd.h>
#endif

using namespace weft;
using namespace std::chrono_literals;
using test::FunctionJob;
using test::kLong;

TEST_CASE("PostQueue: jobs of each thread begin in the order of their posts",
          "[post][one_worker]") {
    constexpr uint32_t kThreads = 3, kEach = 300;
    test::Runner runner(test::Options(1));
    std::vector<uint32_t> next(kThreads, 0);
    uint32_t wrong = 0;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              PostQueue queue(scheduler, test::kLow);
              test::Threads(kThreads, [&](uint32_t thread) {
                  for (uint32_t i = 0; i < kEach; ++i) {
                      (new FunctionJob(queue, [&, thread, i](FunctionJob &self) {
                          wrong += next[thread]++ != i;
                          delete &self;
                      }))->Post();
                  }
              }).Join();
          }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(next == std::vector<uint32_t>(kThreads, kEach));
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("PostQueue: jobs that a task posts begin in order, too", "[post][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    std::string order;
    std::vector<std::unique_ptr<FunctionJob>> jobs;
    for (char name = 'a'; name <= 'z'; ++name) {
        jobs.push_back(
            std::make_unique<FunctionJob>(queue, [&order, name](FunctionJob &) { order += name; }));
    }
    auto post = [&](TaskScheduler *) {
        for (const auto &job : jobs) job->Post();
    };
    one.RunUntilItWaits(post);
    one.Settle();
    CHECK(order == "abcdefghijklmnopqrstuvwxyz");
    const PostStatistics statistics = queue.Statistics();
    CHECK(statistics.locks == 26 + 26 + 1);  // posts, runners, and this call of Statistics
    CHECK(statistics.contended == 0);
}

TEST_CASE("PostQueue: its destructor waits for ready and delayed jobs, and for later posts",
          "[post][time]") {
    for (const test::Life life : {test::Life::Run, test::Life::Start}) {
        test::Runner runner(test::Options(2));
        std::atomic<uint32_t> begun{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  uint32_t steps = 0;
                  FunctionJob *ready, *delayed;
                  std::unique_ptr<FunctionJob> first, second;
                  {
                      PostQueue queue(scheduler);
                      first = std::make_unique<FunctionJob>(queue, [&](FunctionJob &self) {
                          begun.fetch_add(1);
                          if (++steps < 50) self.Post();
                      });
                      second = std::make_unique<FunctionJob>(
                          queue, [&](FunctionJob &) { begun.fetch_add(1); });
                      ready = first.get();
                      delayed = second.get();
                      ready->Post();
                      delayed->PostAfter(3ms);
                  }
                  CHECK(begun.load() == 51);
              }) == Status::Ok);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("PostQueue: a run ends though a job waits, but not before a job that has a time",
          "[post][time]") {
    test::Runner runner(test::Options(2));
    auto queue = std::make_unique<PostQueue>(runner.scheduler);
    bool waited = false, timed = false;
    FunctionJob waiting(*queue, [&](FunctionJob &) { waited = true; }),
        delayed(*queue, [&](FunctionJob &) { timed = true; });
    CHECK(runner.Run([&](TaskScheduler &) {
        waiting.PostOnWake();
        delayed.PostAfter(2ms);
    }) == Status::Ok);
    CHECK(timed);
    CHECK(!waited);
    // The job wakes in the next run.
    CHECK(runner.Run([&](TaskScheduler &) { waiting.Wake(); }) == Status::Ok);
    CHECK(waited);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("PostQueue: jobs that still wait at its destruction are removed with a report",
          "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    auto queue = std::make_unique<PostQueue>(one.Scheduler());
    bool begun = false;
    FunctionJob job(*queue, [&](FunctionJob &) { begun = true; });
    job.PostOnWake();
    queue.reset();
    CHECK(one.Log().CountOf(ReportCode::DestroyedInUse) == 1);
    CHECK(!begun);
}  // the job outlives its queue

TEST_CASE("PostQueue: while a callback waits, other jobs run", "[post][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    Counter gate(1);
    std::string order;
    FunctionJob waits(queue, [&](FunctionJob &) {
        order += 'a';
        one.Scheduler().WaitForCounter(&gate);
        order += 'c';
    });
    FunctionJob other(queue, [&](FunctionJob &) {
        order += 'b';
        one.Scheduler().DecrementCounter(&gate);
    });
    waits.Post();
    other.Post();
    one.Settle();
    CHECK(order == "abc");
}

TEST_CASE("PostQueue: its tasks have its options", "[post]") {
    test::Runner runner(test::Options(3));
    std::atomic<uint32_t> elsewhere{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskOptions options = test::Named("step");
        options.worker = 2;
        PostQueue queue(scheduler, options);
        for (int i = 0; i < 50; ++i) {
            (new FunctionJob(queue, [&](FunctionJob &self) {
                if (scheduler.CurrentWorker() != 2) elsewhere.fetch_add(1);
                delete &self;
            }))->PostAfter(std::chrono::microseconds(i));
        }
    }) == Status::Ok);
    CHECK(elsewhere.load() == 0);
}

TEST_CASE("PostQueue: without a group in its options, jobs are in no group, whoever posts them",
          "[post][groups]") {
    const test::GroupLayout layout({test::Group(1), test::Group(1, true)});
    test::Runner runner(layout.Options());
    test::GroupWitness witness(layout);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PostQueue queue(scheduler);
        const auto sees = [&](FunctionJob &self) {
            witness.See(scheduler, kAnyGroup);
            witness.ran.fetch_add(1);
            delete &self;
        };
        test::Batch posts(1, [&](TaskScheduler &, uint32_t) {
            (new FunctionJob(queue, sees))->Post();
            (new FunctionJob(queue, sees))->PostAfter(1ms);
        });
        scheduler.AddTasksAndWait(1, posts.Tasks(), test::InGroup(1));
    }) == Status::Ok);
    CHECK(witness.ran.load() == 2);
    CHECK(witness.wrong.load() == 0);
    CHECK(runner.log.Text() == "");
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("PostQueue: ends though a callback threw", "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    {
        PostQueue queue(one.Scheduler());
        (new FunctionJob(queue, [](FunctionJob &self) {
            delete &self;
            throw std::runtime_error("step");
        }))->Post();
    }
    CHECK(one.Log().CountOf(ReportCode::TaskThrew) == 1);
}
#endif

TEST_CASE("report WrongThread: a job that is posted already", "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    uint32_t begun = 0;
    FunctionJob job(queue, [&](FunctionJob &) { ++begun; });
    job.PostOnWake();
    job.Post();
    job.PostAfter(1ms);
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 2);
    job.Wake();
    job.Post();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 3);
    one.Settle();
    CHECK(begun == 1);
}

TEST_CASE("report NullTask: a job without a callback", "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    PostedJob job(queue, nullptr);
    job.Post();
    CHECK(one.Log().CountOf(ReportCode::NullTask) == 1);
}

TEST_CASE("report NullTask: SetCallback with null leaves the callback as it is",
          "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    uint32_t begun = 0;
    FunctionJob job(queue, [&](FunctionJob &) { ++begun; });
    job.SetCallback(nullptr);
    job.PostOnWake();
    job.SetCallback(nullptr);
    job.Wake();
    one.Settle();
    CHECK(begun == 1);
    CHECK(one.Log().CountOf(ReportCode::NullTask) == 2);
}

TEST_CASE("report NotRunning: a job is posted or signalled while no run is active",
          "[post][report]") {
    test::Runner runner(test::Options(1));
    bool begun = false;
    PostQueue queue(runner.scheduler);
    FunctionJob job(queue, [&](FunctionJob &) { begun = true; });
    job.Post();
    job.PostAfter(1ms);
    job.Signal();
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 3);
    CHECK(!job.ReceiveSignal());
    CHECK(runner.Run([&](TaskScheduler &) { job.Post(); }) == Status::Ok);
    CHECK(begun);
}

TEST_CASE("report BadOption: a job with an infinite time is not posted",
          "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    PostQueue queue(one.Scheduler());
    uint32_t begun = 0;
    FunctionJob job(queue, [&](FunctionJob &) { ++begun; });
    job.PostAt(Clock::time_point::max());
    job.PostAfter(Clock::duration::max());
    CHECK(one.Log().CountOf(ReportCode::BadOption) == 2);
    job.Post();
    one.Settle();
    CHECK(begun == 1);
    CHECK(one.Log().Count() == 2);
}

TEST_CASE("report BadOption: a job for a slot without an attached thread is not posted",
          "[post][report]") {
    test::Runner runner(test::Options(1));
    TaskOptions nobody;
    nobody.worker = 1;  // no thread is attached there
    uint32_t begun = 0;
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              PostQueue queue(scheduler, nobody);
              FunctionJob byThread(queue, [&](FunctionJob &) { ++begun; });
              FunctionJob byTask(queue, [&](FunctionJob &) { ++begun; });
              byThread.Post();
              byThread.Post();
              test::Batch post(1, [&](TaskScheduler &, uint32_t) { byTask.Post(); });
              scheduler.AddTasksAndWait(1, post.Tasks());
          }) == Status::Ok);
    CHECK(begun == 0);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 3);
    CHECK(runner.log.CountOf(ReportCode::DestroyedInUse) == 0);
}

TEST_CASE("report DestroyedInUse: a job is destroyed while it is posted",
          "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    std::string order;
    {
        PostQueue queue(one.Scheduler());
        const auto make = [&](char name) {
            return std::make_unique<FunctionJob>(queue,
                                                 [&order, name](FunctionJob &) { order += name; });
        };
        auto ready = make('r'), timed = make('t'), waiting = make('w'), stays = make('s');
        ready->Post();
        stays->Post();
        timed->PostOnWakeFor(kLong);
        waiting->PostOnWake();
        ready.reset();
        timed.reset();
        waiting.reset();
        one.Settle();
    }
    CHECK(order == "s");
    CHECK(one.Log().CountOf(ReportCode::DestroyedInUse) == 3);
}

TEST_CASE("PostQueue: ends though a posted job was destroyed and another one took its place",
          "[post][report][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    std::string order;
    {
        PostQueue queue(one.Scheduler());
        FunctionJob second(queue, [&](FunctionJob &) { order += '2'; });
        FunctionJob third(queue, [&](FunctionJob &) { order += '3'; });
        {
            FunctionJob first(queue, [&](FunctionJob &) { order += '1'; });
            first.Post();
        }
        second.Post();
        third.Post();
        one.Settle();
        CHECK(order == "23");
        {
            FunctionJob first(queue, [&](FunctionJob &) { order += '1'; });
            first.Post();
        }
        third.PostOnWakeFor(kLong);
        third.Wake();
        one.Settle();
    }
    CHECK(order == "233");
    CHECK(one.Log().CountOf(ReportCode::DestroyedInUse) == 2);
}

#if defined(WEFT_LINUX)  // other systems do not tell of a fork

TEST_CASE("report Forked: the destructor of a PostQueue in a child reports once, and does not wait",
          "[post][fork_mark]") {
    for (bool attached : {false, true}) {
        test::Runner runner(test::Options(1));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        if (attached) REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        std::optional<PostQueue> queue;
        queue.emplace(runner.scheduler);
        FunctionJob job(*queue, [](FunctionJob &) {});
        job.PostOnWakeFor(kLong);
        const test::ChildResult child = test::RunInChild([&] {
            test::EndAfter(20);
            queue.reset();
            _exit(runner.log.CountOf(ReportCode::Forked) == 1 && runner.log.Count() == 1 ? 0 : 2);
        });
        INFO(child.output << "attached " << attached);
        CHECK(child.exited);
        CHECK(child.code == 0);
        job.Wake();
        queue.reset();
        if (attached) runner.scheduler.DetachThread();
        runner.scheduler.Stop();
        CHECK(runner.log.Text() == "");
    }
}

#endif
