#include "weft/data/task_group.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "sync/mix.h"
#include "weft/closure.h"
#include "weft/deferred.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("TaskGroup: tasks that have not begun are skipped after Cancel",
          "[task_group][one_worker]") {
    for (const uint32_t count : {1u, 3u, 16u, 17u, 100u, 3000u}) {
        INFO(count);
        test::Runner runner(test::Options(1));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler);
            uint32_t ran = 0;
            const test::Batch tasks(count, [&](TaskScheduler &, uint32_t) {
                if (++ran == (count + 1) / 2) group.Cancel();
            });
            group.AddTasks(count, tasks.Tasks());
            CHECK(group.Wait() == GroupResult::Cancelled);
            CHECK(ran == (count + 1) / 2);
            CHECK(group.SkippedCount() == count / 2);
            CHECK((group.IsCancelled() && group.IsZero() && group.Value() == 0));
            group.AddTask(tasks[0]);  // the group is cancelled for good
            CHECK(group.Wait() == GroupResult::Cancelled);
            CHECK(ran == (count + 1) / 2);
        }) == Status::Ok);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaskGroup: a group that is not cancelled runs all tasks, and tasks of others run too",
          "[task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        test::Marks marks(300), others(300);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler), cancelled(scheduler);
            cancelled.Cancel();
            Counter counter;
            cancelled.AddTasks(300, others.Tasks());
            group.AddTasks(300, marks.Tasks());
            scheduler.AddTasks(300, others.Tasks(), &counter);
            wrong += group.Wait() != GroupResult::Finished;
            wrong += cancelled.Wait() != GroupResult::Cancelled;
            wrong += group.SkippedCount() != 0 || cancelled.SkippedCount() != 300;
            scheduler.WaitForCounter(&counter);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(marks.Wrong() == 0);
        CHECK(others.Wrong() == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaskGroup: each task runs or is skipped while a thread cancels", "[task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  for (uint32_t round = 0; round < 10; ++round) {
                      TaskGroup group(scheduler);
                      std::atomic<uint32_t> ran{0}, waited{0};
                      const test::Batch tasks(100, [&](TaskScheduler &running, uint32_t i) {
                          if (i % 10 == 0) running.Yield();
                          if (i % 25 == 0 && !group.IsCancelled())
                              waited += SleepUntilOrCancel(running, Clock::time_point::max(),
                                                           group.Token());
                          ++ran;
                      });
                      test::Threads threads(1, [&](uint32_t) {
                          group.AddTasks(50, tasks.Tasks() + 50);
                          group.Cancel();
                      });
                      group.AddTasks(50, tasks.Tasks());
                      threads.Join();
                      wrong += group.Wait() != GroupResult::Cancelled;
                      wrong += ran + group.SkippedCount() != 100 || waited != 0;
                  }
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("TaskGroup: child tasks of a group's tasks belong to the group", "[task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler);
            std::atomic<uint32_t> children{0};
            const test::Batch child(20, [&](TaskScheduler &, uint32_t) { ++children; });
            const test::Batch parents(4, [&](TaskScheduler &running, uint32_t i) {
                running.AddChildTasks(20, child.Tasks());
                if (i % 2 == 0) running.Yield();
            });
            group.AddTasks(4, parents.Tasks());
            wrong += group.Wait() != GroupResult::Finished || children != 80;
            auto late = [&](TaskScheduler *running) {
                group.Cancel();
                running->AddChildTasks(20, child.Tasks());
                running->AddChildTasks(1, child.Tasks());
            };
            group.AddTask(MakeTask(late));
            wrong += group.Wait() != GroupResult::Cancelled || children != 80;
            wrong += group.SkippedCount() != 21;
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaskGroup: a parent cancels the groups below it, and no others", "[task_group]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup top(scheduler);
        TaskGroup left(scheduler, &top), right(scheduler, &top);
        TaskGroup leftOfLeft(scheduler, &left), rightOfLeft(scheduler, &left);
        auto removed = std::make_unique<TaskGroup>(scheduler, &left);
        TaskGroup below(scheduler, &rightOfLeft);
        removed.reset();
        const auto cancelled = [&] {
            std::string which;
            for (TaskGroup *group : {&top, &left, &right, &leftOfLeft, &rightOfLeft, &below})
                which += group->IsCancelled() ? 'c' : '-';
            return which;
        };
        leftOfLeft.Cancel();
        CHECK(cancelled() == "---c--");
        left.Cancel();
        CHECK(cancelled() == "-c-ccc");
        TaskGroup late(scheduler, &below);
        CHECK(late.IsCancelled());
        top.Cancel();
        CHECK(cancelled() == "cccccc");
    }) == Status::Ok);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("TaskGroup: a parent cancels a child group that belongs to another scheduler",
          "[task_group][one_worker]") {
    test::Runner runner(test::Options(1));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    test::OneThread other;
    REQUIRE(other.IsFit());
    {
        Counter gate(1);
        uint32_t ran = 0;
        test::Batch waits(1, [&](TaskScheduler &, uint32_t) { ++ran; });
        TaskGroup parent(runner.scheduler), child(other.Scheduler(), &parent);
        TaskOptions inChild;
        inChild.taskGroup = &child;
        CHECK(AddTaskAfter(other.Scheduler(), &gate, 0, waits[0], nullptr, inChild));
        parent.Cancel();
        CHECK(child.IsCancelled());
        other.Settle();
        CHECK(child.IsZero());  // the task does not wait for the gate any longer
        other.Scheduler().DecrementCounter(&gate);
        CHECK(child.Wait() == GroupResult::Cancelled);
        CHECK(child.SkippedCount() == 1);
        CHECK(ran == 0);
    }
    runner.scheduler.Stop();
    CHECK(runner.log.Text() == "");
    CHECK(other.Log().Text() == "");
}

TEST_CASE("TaskGroup: a chain of 20,000 groups is cancelled without recursion", "[task_group]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::vector<std::unique_ptr<TaskGroup>> chain;
        for (uint32_t i = 0; i < 20000; ++i)
            chain.push_back(
                std::make_unique<TaskGroup>(scheduler, i == 0 ? nullptr : chain.back().get()));
        auto cancel = [&](TaskScheduler *) { chain.front()->Cancel(); };
        const Task onTask = MakeTask(cancel);
        scheduler.AddTasksAndWait(1, &onTask);
        CHECK(chain.back()->IsCancelled());
        while (!chain.empty()) chain.pop_back();
    }) == Status::Ok);
}

TEST_CASE("TaskGroup: a task that waits with a child group's token ends with the parent",
          "[task_group]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup top(scheduler);
        TaskGroup child(scheduler, &top);
        bool slept = true;
        auto sleep = [&](TaskScheduler *running) {
            slept = SleepUntilOrCancel(*running, Clock::time_point::max(), child.Token());
        };
        child.AddTask(MakeTask(sleep));
        scheduler.Yield();
        top.Cancel();
        CHECK(child.Wait() == GroupResult::Cancelled);
        CHECK((!slept || child.SkippedCount() == 1));
    }) == Status::Ok);
    CHECK(runner.log.Text() == "");
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("TaskGroup: the first exception is kept and cancels the group", "[task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::string what;
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler);
            std::atomic<uint32_t> ran{0}, thrown{0};
            const test::Batch tasks(200, [&](TaskScheduler &, uint32_t i) {
                ++ran;
                if (i % 2 == 0) throw std::runtime_error("number " + std::to_string(thrown++));
            });
            group.AddTasks(100, tasks.Tasks());
            group.AddTask(tasks[100]);
            wrong += group.Wait() != GroupResult::Failed;
            wrong += ran + group.SkippedCount() != 101;
            try {
                group.WaitAndRethrow();
                ++wrong;
            } catch (const std::runtime_error &error) {
                what = error.what();
            }
            wrong += group.FirstException() == nullptr || !group.IsCancelled();
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(what.substr(0, 7) == "number ");
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaskGroup: of two exceptions on one worker the first one is kept",
          "[task_group][one_worker]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup group(scheduler);
        auto second = [&](TaskScheduler *) { throw 2; };
        auto first = [&](TaskScheduler *) {
            group.AddTask(MakeTask(second));
            throw 1;
        };
        group.AddTask(MakeTask(first));
        int caught = 0;
        try {
            group.WaitAndRethrow();
        } catch (int value) {
            caught = value;
        }
        CHECK(caught == 1);
        CHECK(group.SkippedCount() == 1);
    }) == Status::Ok);
    CHECK(runner.log.Text() == "");
}
#endif

TEST_CASE("TaskGroup: deferred, timed and pinned tasks and closures can belong to a group",
          "[task_group]") {
    for (const bool cancels : {false, true}) {
        INFO(cancels);
        test::Runner runner(test::Options(2));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            TaskGroup group(scheduler);
            TaskOptions options;
            options.taskGroup = &group;
            std::atomic<uint32_t> ran{0};
            auto run = [&](TaskScheduler *) { ++ran; };
            const Task task = MakeTask(run);
            Counter gate(1);
            if (cancels) group.Cancel();
            CHECK(AddTaskAfter(scheduler, &gate, 0, task, nullptr, options));
            CHECK(AddTaskAt(scheduler, Now() + std::chrono::microseconds(50), task, nullptr,
                            options));
            CHECK(AddTask(
                scheduler, [&](TaskScheduler *) { ++ran; }, nullptr, options));
            scheduler.AddTask(task, nullptr, options);
            options.priority = Priority::High;
            options.worker = 1;
            scheduler.AddTask(task, nullptr, options);
            const Task many[3] = {task, task, task};
            scheduler.AddTasks(3, many, nullptr, options);
            scheduler.DecrementCounter(&gate);
            CHECK(group.Wait() == (cancels ? GroupResult::Cancelled : GroupResult::Finished));
            CHECK(ran == (cancels ? 0 : 8));
            CHECK(group.SkippedCount() == (cancels ? 8 : 0));
        }) == Status::Ok);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("TaskGroup: closures that are skipped are destroyed, and their blocks are used again",
          "[task_group]") {
    test::Runner runner(test::Options(1));
    const auto kept = std::make_shared<uint32_t>(0);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t round = 0; round < 500; ++round) {
            TaskGroup group(scheduler);
            TaskOptions options;
            options.taskGroup = &group;
            for (uint32_t i = 0; i < 10; ++i)
                CHECK(AddTask(
                    scheduler, [kept] { ++*kept; }, nullptr, options));
            group.Cancel();
            CHECK(group.Wait() == GroupResult::Cancelled);
            CHECK(group.SkippedCount() == 10);
            CHECK(kept.use_count() == 1);
        }
    }) == Status::Ok);
    CHECK(*kept == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("TaskGroup: a skipped task whose argument is a part of a closure is no closure",
          "[task_group]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0, closures = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        const auto job = [&ran](TaskScheduler *) { ++ran; };
        for (uint32_t round = 0; round < 100; ++round) {
            const auto outer = [job, &closures](TaskScheduler *running) mutable {
                TaskGroup group(*running);
                group.AddTask(MakeTask(job));  // at the begin of the closure's block
                group.Cancel();
                closures += group.Wait() == GroupResult::Cancelled;
            };
            CHECK(AddTask(scheduler, outer, &counter));
        }
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(ran == 0);
    CHECK(closures == 100);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("TaskGroup: a report during Cancel may cancel the same groups", "[task_group][report]") {
    struct Tree {
        TaskGroup *top = nullptr;
        uint32_t reports = 0;
    } tree;
    SchedulerOptions options = test::Options(1);
    options.user = &tree;
    options.onReport = [](const Report &, void *user) {
        Tree &its = *static_cast<Tree *>(user);
        if (++its.reports < 10) its.top->Cancel();
    };
    TaskScheduler scheduler(options);  // it does not run, so that each decrement is reported
    TaskGroup top(scheduler), child(scheduler, &top), below(scheduler, &child);
    tree.top = &top;
    top.Cancel();
    CHECK(tree.reports == 1);  // the reports during a report go to stderr
    CHECK((child.IsCancelled() && below.IsCancelled()));
    TaskGroup late(scheduler, &child);
    CHECK(late.IsCancelled());
    CHECK(tree.reports == 1);
}

TEST_CASE("TaskGroup: child groups come and go while their parent is cancelled",
          "[task_group][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> late{0};
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  for (uint32_t round = 0; round < 10; ++round) {
                      TaskGroup top(scheduler);
                      const test::Batch nothing(1, [](TaskScheduler &, uint32_t) {});
                      test::Threads threads(3, [&](uint32_t thread) {
                          if (thread == 0) return top.Cancel();
                          for (uint32_t i = 0; i < 20; ++i) {
                              TaskGroup child(scheduler, &top);
                              TaskGroup below(scheduler, &child);
                              below.AddTask(nothing[0]);
                              below.Wait();
                          }
                      });
                      threads.Join();
                      late += !TaskGroup(scheduler, &top).IsCancelled();
                  }
              }) == Status::Ok);
        CHECK(late == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("TaskGroup: a wait may end at a deadline", "[task_group]") {
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup group(scheduler);
        Counter gate(1);
        TaskOptions options;
        options.taskGroup = &group;
        test::Marks marks(1);
        CHECK(AddTaskAfter(scheduler, &gate, 0, marks[0], nullptr, options));
        CHECK(group.WaitUntil(Now() + std::chrono::microseconds(100)) == GroupResult::TimedOut);
        scheduler.DecrementCounter(&gate);
        CHECK(group.WaitUntil(Clock::time_point::max()) == GroupResult::Finished);
    }) == Status::Ok);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("TaskGroup: a group and a counter, or a call that counts its tasks itself, is refused",
          "[task_group][report]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup group(scheduler);
        TaskOptions options;
        options.taskGroup = &group;
        Counter counter;
        auto run = [&](TaskScheduler *) { ++ran; };
        const Task task = MakeTask(run);
        size_t refused = 0;
        const auto isRefused = [&] {
            return runner.log.CountOf(ReportCode::BadOption) == ++refused && counter.IsZero() &&
                   group.IsZero();
        };
        scheduler.AddTask(task, &counter, options);
        CHECK(isRefused());
        options.worker = 0;
        scheduler.AddTask(task, &counter, options);
        CHECK(isRefused());
        options.worker = kAnyWorker;
        CHECK(!AddTaskAt(scheduler, Now(), task, &counter, options));
        CHECK(isRefused());
        scheduler.AddTasksAndWait(1, &task, options);
        CHECK(isRefused());
    }) == Status::Ok);
    CHECK(ran == 0);
    TaskGroup group(runner.scheduler);
    TaskOptions ofGroup;
    ofGroup.taskGroup = &group;
    const auto nothing = [](TaskScheduler *, void *) {};
    CHECK(runner.scheduler.Run(nothing, nullptr, ofGroup) == Status::BadOption);
}

TEST_CASE("TaskGroup: a group that is destroyed too early is reported and waits",
          "[task_group][report]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const test::Batch tasks(3, [&](TaskScheduler &, uint32_t) { ++ran; });
        {
            TaskGroup group(scheduler);
            group.AddTasks(3, tasks.Tasks());
        }
        CHECK(ran == 3);
    }) == Status::Ok);
    CHECK(test::Names(runner.log.First(ReportCode::DestroyedInUse).what,
                      "3 of its tasks were pending"));
}

TEST_CASE("TaskGroup: a group that is destroyed before its child group is fatal",
          "[task_group][report]") {
    const test::ChildResult child = test::RunInChild([] {
        SchedulerOptions options;
        options.onReport = [](const Report &report, void *) {
            std::fprintf(stderr, "fatal %d: %s\n", report.fatal, report.what);
        };
        TaskScheduler scheduler(options);
        auto parent = std::make_unique<TaskGroup>(scheduler);
        TaskGroup below(scheduler, parent.get());
        parent.reset();
    });
    CHECK(child.Died());
    CHECK(test::Names(child.output, "fatal 1: a TaskGroup was destroyed before its child group"));
}

TEST_CASE("TaskGroup: a skipped task begins and ends in a trace", "[task_group][hooks]") {
    test::TraceLog log;
    SchedulerOptions options = test::Options(1);
    log.AttachTo(options);
    test::Runner runner(options);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        TaskGroup group(scheduler);
        group.Cancel();
        test::Marks marks(20);
        group.AddTasks(20, marks.Tasks());
        CHECK(group.Wait() == GroupResult::Cancelled);
        CHECK(marks.Wrong(0) == 0);
    }) == Status::Ok);
    // and the main task
    CHECK(log.CountOf(TraceKind::TaskBegin) == 21);
    CHECK(log.CountOf(TraceKind::TaskEnd) == 21);
}
