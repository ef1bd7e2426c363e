#include "platform/fork_mark.h"

#include "platform/sanitizers.h"
#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/deferred.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

#if defined(WEFT_LINUX)  // other systems do not tell of a fork

TEST_CASE("fork mark: set in children forked after Acquire, and in their children", "[fork_mark]") {
    env::ForkMark mark;
    CHECK(!mark.IsForked());  // the mark has not been acquired yet
    int value = 0;
    mark.Acquire(&value);
    CHECK(*mark.Place() == &value);
    CHECK(!mark.IsForked());
    const test::ChildResult child = test::RunInChild([&] {
        int code = mark.IsForked() && *mark.Place() == nullptr ? 1 : 0;
        const pid_t grandchild = fork();
        if (grandchild == 0) _exit(mark.IsForked() ? 2 : 0);
        int status = 0;
        waitpid(grandchild, &status, 0);
        code += WEXITSTATUS(status);
        env::ForkMark own;
        own.Acquire(&value);
        if (!own.IsForked()) code += 4;
        _exit(code);
    });
    CHECK(child.exited);
    CHECK(child.code == 7);
    CHECK(!mark.IsForked());  // the parent is unaffected
    mark.Release();
    CHECK(!mark.IsForked());
    mark.Release();  // harmless
}

namespace {

// Forks also where other threads run. The child has none of them.
test::ChildResult ForkHere(const std::function<void()> &body) { return test::RunInChild(body); }

void Nothing(TaskScheduler *, void *) {}

// ThreadSanitizer does not support threads and fibers in the child of a process with several
// threads.
#if defined(WEFT_TSAN)
constexpr bool kChildGoesOn = false;
#else
constexpr bool kChildGoesOn = true;
#endif

}  // namespace

TEST_CASE("fork in a task: the child may exit or run its own scheduler, and the parent continues",
          "[fork_mark]") {
    test::Runner runner(test::Options(2));
    test::ChildResult exits, own;
    test::Marks marks(50);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        exits = ForkHere([] { _exit(3); });
        if (kChildGoesOn) {
            own = ForkHere([] {
                test::Runner inner(test::Options(2));
                test::Marks inside(50);
                const Status status = inner.Run(
                    [&](TaskScheduler &child) { child.AddTasksAndWait(50, inside.Tasks()); });
                _exit(status == Status::Ok && inside.Wrong() == 0 && inner.log.Text().empty() ? 4
                                                                                              : 5);
            });
        }
        scheduler.AddTasksAndWait(50, marks.Tasks());
    }) == Status::Ok);
    CHECK(exits.code == 3);
    if (kChildGoesOn) CHECK(own.code == 4);
    CHECK(marks.Wrong() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE(
    "report Forked: a child that continues as a worker is reported and ends, the parent continues",
    "[fork_mark]") {
    if (!kChildGoesOn) return;
    for (uint32_t workers : {1u, 2u}) {
        for (IdlePolicy idle : {IdlePolicy::Balanced, IdlePolicy::Spin, IdlePolicy::Sleep}) {
            for (bool waits : {false, true}) {
                const test::ChildResult parent = test::RunInChild([=] {
                    TaskScheduler scheduler(test::Options(workers, 10, idle));
                    pid_t child = -1;
                    int status = 0;
                    test::Marks marks(50);
                    auto main = [&](TaskScheduler *running) {
                        Counter counter(1);
                        child = fork();
                        if (child == 0) alarm(30);
                        if (child == 0 && waits) running->WaitForCounter(&counter);
                        // The child continues as a worker that looks for work.
                        if (child == 0) return;
                        waitpid(child, &status, 0);
                        running->AddTasksAndWait(50, marks.Tasks());
                    };
                    const Task task = MakeTask(main);
                    if (scheduler.Run(task.function, task.arg) != Status::Ok) _exit(2);
                    _exit(child > 0 && marks.Wrong() == 0 && WIFSIGNALED(status) &&
                                  WTERMSIG(status) == SIGABRT
                              ? 0
                              : 1);
                });
                INFO(parent.output << workers << " workers, policy " << static_cast<int>(idle)
                                   << ", waits " << waits);
                CHECK(parent.exited);
                CHECK(parent.code == 0);
                CHECK(test::Names(parent.output, "weft: fatal: "));
                CHECK(test::Names(parent.output,
                                  "a task forked, and went on as a worker in the child process"));
                CHECK(test::Names(parent.output, "make a new TaskScheduler"));
            }
        }
    }
}

TEST_CASE("report Forked: calls in the child of an external thread are reported and have no effect",
          "[fork_mark]") {
    test::Runner runner(test::Options(2));
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    test::Marks marks(50);
    runner.scheduler.AddTasksAndWait(50, marks.Tasks());
    const test::ChildResult child = ForkHere([&] {
        TaskScheduler &scheduler = runner.scheduler;
        const Task task{Nothing, nullptr};
        Counter counter(1), none;
        Counter *const both[2] = {&counter, &counter};
        scheduler.AddTasks(1, &task, &none);
        scheduler.AddTasksAndWait(1, &task);
        scheduler.WaitForCounter(&counter);
        scheduler.WaitForAll(1, both);
        if (scheduler.WaitForAny(2, both) != 2) _exit(2);
        scheduler.IncrementCounter(&counter);
        scheduler.DecrementCounter(&counter);
        scheduler.WaitIdle();
        scheduler.SetActiveWorkers(1);
        if (scheduler.AttachThread() != Status::NotRunning) _exit(3);
        scheduler.Stop();
        if (counter.Value() != 1 || none.Value() != 0) _exit(4);
        if (runner.log.CountOf(ReportCode::Forked) != 11 || runner.log.Count() != 11) _exit(5);
        for (const char *call :
             {"AddTasks", "AddTasksAndWait", "WaitForCounter", "WaitForAny", "IncrementCounter",
              "DecrementCounter", "WaitIdle", "SetActiveWorkers", "AttachThread", "Stop"}) {
            if (!test::Names(runner.log.Text(),
                             std::string(call) + " was called in a forked child process"))
                _exit(6);
        }
        _exit(0);
    });
    CHECK(child.exited);
    CHECK(child.code == 0);
    runner.scheduler.AddTasksAndWait(50, marks.Tasks());  // the parent is unaffected
    runner.scheduler.Stop();
    CHECK(marks.Wrong(2) == 0);
    CHECK(runner.log.Text() == "");
}

namespace {

// Makes all calls on a thread that was a worker when it forked. Returns how many were not refused
// as Forked, plus the number of tasks that ran. The queued tasks belong to the parent, so none may
// run here.
uint32_t CallEverything(TaskScheduler &scheduler, const test::ReportLog &log,
                        const std::function<uint32_t()> &ran) {
    const Task task{Nothing, nullptr};
    Counter counter(1), none;
    Counter *const both[2] = {&counter, &counter};
    const uint32_t before = ran(), worker = scheduler.CurrentWorker();
    const size_t reported = log.Count();
    uint32_t wrong = 0;
    scheduler.AddTask(task, &none);
    scheduler.AddTasks(1, &task, &none);
    scheduler.AddTasksAndWait(1, &task);
    scheduler.WaitForCounter(&counter);
    wrong += scheduler.WaitForAny(2, both) != 2;
    wrong += WaitForCounterFor(scheduler, &counter, std::chrono::seconds(100));
    wrong += AddTaskAfter(scheduler, &counter, 0, task, &none) ||
             AddTaskAt(scheduler, Now(), task, &none);
    wrong += scheduler.IncrementCounter(&counter);
    scheduler.DecrementCounter(&counter);
    scheduler.WaitIdle();
    scheduler.SetActiveWorkers(1);
    wrong += scheduler.RunPinnedTasks() != 0;
    scheduler.Yield();
    wrong += scheduler.AttachThread() != Status::NotRunning;
    scheduler.DetachThread();
    wrong += scheduler.PollCounter(&counter) || counter.Value() != 1 || none.Value() != 0;
    wrong += scheduler.CurrentWorker() != worker || TaskScheduler::Current() != &scheduler;
    wrong += log.Count() - reported != 16 || log.CountOf(ReportCode::Forked) - reported != 16;
    for (const char *call :
         {"AddTasks", "AddTasksAndWait", "WaitForCounter", "WaitForAny", "WaitForCounterUntil",
          "AddTaskAfter", "AddTaskAt", "IncrementCounter", "DecrementCounter", "WaitIdle",
          "SetActiveWorkers", "RunPinnedTasks", "Yield", "AttachThread", "DetachThread"}) {
        wrong +=
            !test::Names(log.Text(), std::string(call) + " was called in a forked child process");
    }
    return wrong + (ran() - before);
}

}  // namespace

TEST_CASE("report Forked: calls in the child of an attached thread are reported and run no task",
          "[fork_mark]") {
    if (!kChildGoesOn) return;
    for (uint32_t workers : {0u, 1u}) {
        for (bool pinned : {false, true}) {
            const test::ChildResult parent = test::RunInChild([=] {
                test::Runner runner(test::Options(workers));
                TaskScheduler &scheduler = runner.scheduler;
                if (scheduler.Start() != Status::Ok || scheduler.AttachThread() != Status::Ok)
                    _exit(2);
                std::atomic<uint32_t> ran{0};
                std::atomic<bool> mayEnd{false};
                test::Batch busy(workers, [&](TaskScheduler &, uint32_t) {
                    ran.fetch_add(1);
                    test::SpinUntil([&] { return mayEnd.load(); });
                });
                test::Batch queued(10, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
                scheduler.AddTasks(workers, busy.Tasks());
                if (!test::SpinUntil([&] { return ran.load() == workers; })) _exit(3);
                Counter counter;
                TaskOptions options;
                if (pinned) options.worker = scheduler.CurrentWorker();
                scheduler.AddTasks(10, queued.Tasks(), &counter, options);
                const pid_t child = fork();
                if (child == 0) {
                    alarm(30);
                    _exit(static_cast<int>(
                        CallEverything(scheduler, runner.log, [&] { return ran.load(); })));
                }
                int status = 0;
                waitpid(child, &status, 0);
                mayEnd.store(true);
                scheduler.WaitForCounter(&counter);
                scheduler.DetachThread();
                scheduler.Stop();
                const bool isWhole = ran.load() == workers + 10 && runner.log.Text().empty();
                _exit(!WIFEXITED(status)         ? 100
                      : WEXITSTATUS(status) != 0 ? WEXITSTATUS(status)
                      : isWhole                  ? 0
                                                 : 101);
            });
            INFO(parent.output << workers << " workers, pinned " << pinned);
            CHECK(parent.exited);
            CHECK(parent.code == 0);
        }
    }
}

TEST_CASE("report Forked: calls in the child of a task are reported, and no other task runs there",
          "[fork_mark]") {
    if (!kChildGoesOn) return;
    for (uint32_t tasks : {2u, 16u, 255u}) {  // single entries, or a slice
        for (bool waits : {false, true}) {
            const test::ChildResult parent = test::RunInChild([=] {
                SchedulerOptions options = test::Options(1);
                options.onReport = nullptr;
                TaskScheduler scheduler(options);
                std::atomic<uint32_t> ran{0};
                std::atomic<bool> isChild{false};
                pid_t child = -1;
                int status = 0;
                test::Batch batch(tasks, [&](TaskScheduler &running, uint32_t) {
                    if (isChild.load()) _exit(90);  // this task belongs to the parent
                    if (ran.fetch_add(1) != tasks / 2) return;
                    child = fork();
                    if (child != 0) {
                        waitpid(child, &status, 0);
                        return;
                    }
                    alarm(30);
                    isChild.store(true);
                    if (waits) {
                        Counter counter(1);
                        running.WaitForCounter(&counter);
                    }
                });
                auto main = [&](TaskScheduler *running) {
                    running->AddTasksAndWait(tasks, batch.Tasks());
                };
                if (scheduler.Run(MakeTask(main).function, &main) != Status::Ok) _exit(2);
                if (child <= 0 || ran.load() != tasks) _exit(3);
                _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : WEXITSTATUS(status));
            });
            INFO(parent.output << tasks << " tasks, waits " << waits);
            CHECK(parent.exited);
            CHECK(parent.code == 0);
            CHECK(test::Names(parent.output,
                              "weft: fatal: a task forked, and went on as a worker in the child"));
            CHECK(waits == test::Names(parent.output,
                                       "WaitForCounter was called in a forked child process"));
        }
    }
}

TEST_CASE("fork: if an attached thread ends in the child, it runs no task", "[fork_mark]") {
    if (!kChildGoesOn) return;
    const test::ChildResult parent = test::RunInChild([] {
        test::Runner runner(test::Options(0));
        if (runner.scheduler.Start() != Status::Ok) _exit(2);
        std::atomic<uint32_t> ran{0};
        pid_t child = -1;
        int status = 0;
        test::Batch batch(3, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        std::thread attached([&] {
            if (runner.scheduler.AttachThread() != Status::Ok) _exit(3);
            TaskOptions here;
            here.worker = runner.scheduler.CurrentWorker();
            runner.scheduler.AddTasks(3, batch.Tasks(), nullptr, here);
            child = fork();
            if (child == 0) {
                alarm(30);
                // This destructor must run after weft's. The destructors of keys run in the order
                // in which the keys were made.
                static pthread_key_t key;
                pthread_key_create(&key, [](void *arg) {
                    const auto *count = static_cast<std::atomic<uint32_t> *>(arg);
                    _exit(static_cast<int>(count->load()));
                });
                pthread_setspecific(key, &ran);
                return;
            }
            waitpid(child, &status, 0);
            runner.scheduler.DetachThread();
        });
        attached.join();
        runner.scheduler.Stop();
        if (ran.load() != 3 || !runner.log.Text().empty()) _exit(4);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
    });
    INFO(parent.output);
    CHECK(parent.exited);
    CHECK(parent.code == 0);
}

TEST_CASE("report Forked: Stop and the destructor return in a child", "[fork_mark]") {
    for (bool stop : {false, true}) {
        const test::ChildResult parent = test::RunInChild([=] {
            auto scheduler = std::make_unique<TaskScheduler>(test::Options(2));
            if (scheduler->Start() != Status::Ok) _exit(2);
            const pid_t child = fork();
            if (child == 0) {
                alarm(30);
                if (stop) scheduler->Stop();
                scheduler.reset();
                _exit(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            scheduler->Stop();
            _exit(WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1);
        });
        CHECK(parent.exited);
        CHECK(parent.code == 0);
        const std::string what = " was called in a forked child process";
        CHECK(
            test::Names(parent.output, (stop ? "Stop" : "the destructor of TaskScheduler") + what));
        CHECK(parent.output.find(what) == parent.output.rfind(what));
        CHECK(test::Names(parent.output, "Stop") == stop);
    }
}

#endif
