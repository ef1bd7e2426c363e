// Memory hooks of the host that call weft. Each call must be reported, and must have no effect.
#include "weft/blocking/blocking_calls.h"
#include "weft/data/cancellation.h"
#include "weft/data/worker_local.h"
#include "weft/deferred.h"
#include "weft/frame/frame_pipeline.h"
#include "weft/hooks.h"
#include "weft/post/post_queue.h"
#include "weft/post/posted_job.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/wait_group.h"
#include "weft/time.h"

#include "support/child_process.h"
#include "support/pages.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

namespace {

enum Function : uint32_t { kAllocate = 1, kRelease = 2, kReserveStacks = 4, kReleaseStacks = 8 };

// A host whose memory hooks run a function once, each time that it is armed.
class MeddlingHost {
public:
    explicit MeddlingHost(SchedulerOptions &options) {
        MemoryHooks &hooks = options.memory;
        hooks.user = this;
        hooks.allocate = [](size_t bytes, size_t alignment, void *user) {
            static_cast<MeddlingHost *>(user)->Meddle(kAllocate);
            return test::AllocateAligned(bytes, alignment);
        };
        hooks.release = [](void *memory, size_t, size_t, void *user) {
            static_cast<MeddlingHost *>(user)->Meddle(kRelease);
            test::FreeAligned(memory);
        };
        hooks.reserveStacks = [](size_t bytes, void *user) {
            static_cast<MeddlingHost *>(user)->Meddle(kReserveStacks);
            return test::MapPages(bytes);
        };
        hooks.releaseStacks = [](void *memory, size_t bytes, void *user) {
            static_cast<MeddlingHost *>(user)->Meddle(kReleaseStacks);
            test::UnmapPages(memory, bytes);
        };
    }

    void Arm(std::function<void()> meddling, uint32_t functions = kAllocate) {
        m_meddling = std::move(meddling);
        m_armed.store(functions);
    }
    /// True if the function has returned. What it did is then visible.
    bool WasCalled() const { return m_armed.load() == 0; }
    /// Afterwards no hook is inside the function, and none will call it.
    void Disarm() {
        test::SpinUntil([&] {
            uint32_t armed = m_armed.load();
            return armed != kBusy && m_armed.compare_exchange_strong(armed, 0);
        });
    }

private:
    static constexpr uint32_t kBusy = 16;
    void Meddle(uint32_t function) {
        uint32_t armed = m_armed.load();
        if ((armed & function) == 0 || !m_armed.compare_exchange_strong(armed, kBusy)) return;
        m_meddling();
        m_armed.store(0);
    }

    std::function<void()> m_meddling;
    std::atomic<uint32_t> m_armed{0};
};

// While an object of this class lives, no other worker takes what the caller submits. So the queues
// have to grow.
class OthersBusy {
public:
    explicit OthersBusy(TaskScheduler &scheduler)
        : m_scheduler(scheduler),
          m_batch(scheduler.WorkerCount() - (scheduler.CurrentWorker() != kAnyWorker),
                  [this](TaskScheduler &, uint32_t) {
                      m_begun.fetch_add(1);
                      test::SpinUntil([this] { return m_isOver.load(); });
                  }) {
        scheduler.AddTasks(m_batch.Count(), m_batch.Tasks(), &m_counter);
        test::SpinUntil([this] { return m_begun.load() == m_batch.Count(); });
    }
    ~OthersBusy() {
        m_isOver.store(true);
        m_scheduler.WaitForCounter(&m_counter);
    }
    OthersBusy(const OthersBusy &) = delete;
    OthersBusy &operator=(const OthersBusy &) = delete;

private:
    TaskScheduler &m_scheduler;
    std::atomic<uint32_t> m_begun{0};
    std::atomic<bool> m_isOver{false};
    Counter m_counter;
    test::Batch m_batch;
};

// Submits more tasks than the deques and the slab of a worker have room for at first, one by one
// and in slices. From an external thread, it needs more blocks than there are at first.
constexpr uint32_t kMany = 3000;
void SubmitMany(TaskScheduler &scheduler, test::Marks &marks, Counter &counter,
                bool othersAreBusy = false) {
    std::optional<OthersBusy> busy;
    if (!othersAreBusy) busy.emplace(scheduler);
    for (uint32_t i = 0; i < kMany / 2; ++i) scheduler.AddTask(marks[i], &counter);
    scheduler.AddTasks(kMany / 2, marks.Tasks() + kMany / 2, &counter);
}

Task Raises(uint32_t &count) {
    return {[](TaskScheduler *, void *arg) { ++*static_cast<uint32_t *>(arg); }, &count};
}

// Makes every call that submits or changes counters. Each must be reported once. Returns the number
// of wrong results.
constexpr uint32_t kWaysToSubmit = 9;
uint32_t SubmitInEveryWay(TaskScheduler &scheduler, Counter &one, uint32_t &ran) {
    const Task task = Raises(ran), tasks[3] = {task, task, task};
    uint32_t wrong = 0;
    scheduler.AddTask(task, &one);
    scheduler.AddTask(task);
    scheduler.AddTasks(3, tasks, &one);
    wrong += scheduler.IncrementCounter(&one);
    scheduler.DecrementCounter(&one);
    wrong += AddTaskAfter(scheduler, &one, 1, task, &one);
    wrong += AddTaskAt(scheduler, Now(), task, &one);
    scheduler.SetActiveWorkers(1);
    scheduler.SetRunsLow(0, true);
    return wrong;
}

// Makes every call that waits, also for values that are reached already.
constexpr uint32_t kWaysToWait = 14;
uint32_t WaitInEveryWay(TaskScheduler &scheduler, Counter &one, uint32_t &ran) {
    const Task task = Raises(ran);
    Counter *const counters[1] = {&one};
    const Clock::time_point late = Now() + std::chrono::hours(100);
    CancelSource source(scheduler);
    uint32_t wrong = 0;
    scheduler.AddTasksAndWait(1, &task);
    scheduler.WaitForCounter(&one);
    scheduler.WaitForCounter(&one, 1);
    scheduler.WaitForAll(1, counters);
    wrong += scheduler.WaitForAny(1, counters) != 1;
    scheduler.WaitIdle();
    scheduler.Yield();
    wrong += scheduler.RunPinnedTasks() != 0;
    scheduler.SetPriority(Priority::High);
    wrong += WaitForCounterUntil(scheduler, &one, late);
    wrong += WaitForAnyUntil(scheduler, 1, counters, late) != 1;
    wrong += WaitForCounterOrCancel(scheduler, &one, source.Token());
    wrong += SleepUntilOrCancel(scheduler, late, source.Token());
    source.Cancel();
    wrong += source.IsCancelled();
    return wrong;
}

// Makes every call by which a thread begins or ends something.
constexpr uint32_t kWaysToBegin = 5;
uint32_t BeginInEveryWay(TaskScheduler &scheduler) {
    uint32_t wrong = 0;
    wrong += scheduler.AttachThread() != Status::NotRunning;
    scheduler.DetachThread();
    scheduler.Stop();
    wrong += scheduler.Start() != Status::NotRunning;
    wrong += scheduler.Run([](TaskScheduler *, void *) {}) != Status::NotRunning;
    return wrong;
}

// Calls `body` in a task, or on another thread.
Status RunIn(bool isTask, test::Runner &runner, const std::function<void(TaskScheduler &)> &body) {
    return isTask ? runner.Run(body) : test::WhileItRuns(runner, test::Life::Start, body);
}

}  // namespace

TEST_CASE(
    "report InHook: a memory hook that submits or lowers while a queue grows; it has no effect",
    "[hooks][memory_hook]") {
    for (const bool isTask : {true, false}) {
        const test::ChildResult child = test::RunInChild([=] {
            test::EndAfter(20);
            SchedulerOptions options = test::Options(isTask ? 1 : 2);
            MeddlingHost host(options);
            test::Runner runner(options);
            test::Marks marks(kMany);
            uint32_t wrong = 0, ran = 0, meddled = 0;
            Counter one(1);
            const auto meddle = [&] {
                wrong += SubmitInEveryWay(runner.scheduler, one, ran);
                ++meddled;
            };
            const auto submit = [&](TaskScheduler &scheduler) {
                Counter counter;
                {
                    const OthersBusy busy(scheduler);
                    for (uint32_t i = 0; i < kMany; ++i) {
                        if (host.WasCalled()) host.Arm(meddle);  // again after each growth
                        if (i < kMany / 2) scheduler.AddTask(marks[i], &counter);
                        if (i == kMany / 2)
                            scheduler.AddTasks(kMany / 2, marks.Tasks() + i, &counter);
                    }
                }
                scheduler.WaitForCounter(&counter);
                host.Disarm();
            };
            RunIn(isTask, runner, submit);
            if (meddled < 3) std::_Exit(2);
            if (marks.Wrong() != 0) std::_Exit(3);
            if (wrong != 0 || ran != 0 || one.Value() != 1) std::_Exit(4);
            if (runner.log.CountOf(ReportCode::InHook) != kWaysToSubmit * meddled) std::_Exit(5);
            if (!test::Names(runner.log.First(ReportCode::InHook).what,
                             "AddTasks was called by a memory hook"))
                std::_Exit(6);
            if (test::Faults(runner.log).find("fall below") != std::string::npos) std::_Exit(7);
        });
        INFO((isTask ? "a task" : "another thread"));
        CHECK(child.signal == 0);
        CHECK(child.code == 0);
    }
}

TEST_CASE("report InHook: a memory hook that waits; it has no effect", "[hooks][memory_hook]") {
    for (const bool isTask : {true, false}) {
        const test::ChildResult child = test::RunInChild([=] {
            test::EndAfter(20);
            SchedulerOptions options = test::Options(2);
            MeddlingHost host(options);
            test::Runner runner(options);
            test::Marks marks(kMany);
            uint32_t wrong = 0, ran = 0;
            Counter one(1);
            const auto submit = [&](TaskScheduler &scheduler) {
                host.Arm([&] { wrong += WaitInEveryWay(scheduler, one, ran); });
                Counter counter;
                SubmitMany(scheduler, marks, counter);
                scheduler.WaitForCounter(&counter);
            };
            RunIn(isTask, runner, submit);
            if (!host.WasCalled() || marks.Wrong() != 0) std::_Exit(2);
            if (wrong != 0 || ran != 0 || one.Value() != 1) std::_Exit(3);
            if (runner.log.CountOf(ReportCode::InHook) != kWaysToWait) std::_Exit(4);
        });
        INFO((isTask ? "a task" : "another thread"));
        CHECK(child.signal == 0);
        CHECK(child.code == 0);
    }
}

TEST_CASE("report InHook: a memory hook that uses another scheduler; it has no effect",
          "[hooks][memory_hook]") {
    const test::ChildResult child = test::RunInChild([=] {
        test::EndAfter(20);
        SchedulerOptions options = test::Options(2);
        MeddlingHost host(options);
        test::Runner runner(options), other(test::Options(1));
        test::Marks marks(kMany), after(10);
        uint32_t wrong = 0, ran = 0;
        Counter one(1);
        if (other.scheduler.Start() != Status::Ok) std::_Exit(1);
        runner.Run([&](TaskScheduler &scheduler) {
            host.Arm([&] {
                wrong += SubmitInEveryWay(other.scheduler, one, ran);
                wrong += WaitInEveryWay(other.scheduler, one, ran);
                wrong += BeginInEveryWay(other.scheduler);
            });
            Counter counter;
            SubmitMany(scheduler, marks, counter);
            scheduler.WaitForCounter(&counter);
        });
        if (!host.WasCalled() || marks.Wrong() != 0) std::_Exit(2);
        if (wrong != 0 || ran != 0 || one.Value() != 1) std::_Exit(3);
        if (other.log.CountOf(ReportCode::InHook) != kWaysToSubmit + kWaysToWait + kWaysToBegin)
            std::_Exit(4);
        other.scheduler.AddTasksAndWait(10, after.Tasks());  // it still works
        other.scheduler.Stop();
        if (after.Wrong() != 0 || runner.log.CountOf(ReportCode::InHook) != 0) std::_Exit(5);
    });
    CHECK(child.signal == 0);
    CHECK(child.code == 0);
}

TEST_CASE("report InHook: each of the four memory hooks, before and after the run",
          "[hooks][memory_hook]") {
    for (const test::Life life : {test::Life::Run, test::Life::Start}) {
        for (const uint32_t function : {kAllocate, kRelease, kReserveStacks, kReleaseStacks}) {
            SchedulerOptions options = test::Options(2, 10);
            MeddlingHost host(options);
            test::Runner runner(options);
            uint32_t wrong = 0, ran = 0;
            Counter one(1);
            host.Arm(
                [&] {
                    wrong += SubmitInEveryWay(runner.scheduler, one, ran);
                    wrong += WaitInEveryWay(runner.scheduler, one, ran);
                    wrong += BeginInEveryWay(runner.scheduler);
                },
                function);
            test::Marks marks(20);
            CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                      scheduler.AddTasksAndWait(20, marks.Tasks());
                  }) == Status::Ok);
            INFO(test::Describe(life) << ", function " << function);
            CHECK(host.WasCalled());
            CHECK(marks.Wrong() == 0);
            CHECK(wrong + ran == 0);
            CHECK(one.Value() == 1);
            CHECK(runner.log.CountOf(ReportCode::InHook) ==
                  kWaysToSubmit + kWaysToWait + kWaysToBegin);
        }
    }
}

TEST_CASE(
    "report InHook: a memory hook that posts, has calls made or runs frames; it has no effect",
    "[hooks][memory_hook]") {
    SchedulerOptions options = test::Options(2);
    MeddlingHost host(options);
    test::Runner runner(options);
    test::Marks marks(kMany);
    constexpr uint32_t kCalls = 8;  // by the hook
    std::atomic<uint32_t> wrong{0}, posted{0};
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        static std::atomic<uint32_t> *s_posted;
        s_posted = &posted;
        PostQueue queue(scheduler);
        PostedJob job(queue, [](TaskScheduler *, PostedJob *) { s_posted->fetch_add(1); });
        BlockingCalls calls(scheduler);
        const FrameStage stage{[](TaskScheduler *, const FrameParams &, void *arg) {
                                   ++*static_cast<uint32_t *>(arg);
                               },
                               &ran};
        FramePipeline frames(options, 1, &stage, 1);
        WaitGroup group(scheduler);
        host.Arm([&] {
            job.Post();
            job.PostAfter(1ms);
            job.Wake();
            job.Signal();
            wrong.fetch_add(job.ReceiveSignal());
            group.Add();
            group.Done();
            BlockingCall call([](void *arg) { ++*static_cast<uint32_t *>(arg); }, &ran);
            Counter counter;
            wrong.fetch_add(calls.Submit(call, &counter) != Status::NotRunning);
            wrong.fetch_add(frames.Run(&scheduler, 1) != Status::NotRunning);
        });
        Counter counter;
        SubmitMany(scheduler, marks, counter);
        scheduler.WaitForCounter(&counter);
        wrong.fetch_add(!host.WasCalled());
        CHECK(runner.log.CountOf(ReportCode::InHook) == kCalls);
        CHECK(group.IsDone());
        wrong.fetch_add(ran + posted.load());
        // All of them must still work.
        job.Post();
        wrong.fetch_add(frames.Run(&scheduler, 3) != Status::Ok);
        calls.Run([&] { ++ran; });
        wrong.fetch_add(!test::YieldUntil(scheduler, [&] { return posted.load() == 1; }));
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    CHECK(ran == 4);
    CHECK(posted.load() == 1);
    CHECK(marks.Wrong() == 0);
    CHECK(runner.log.CountOf(ReportCode::InHook) == kCalls);
}

TEST_CASE("memory hooks: queries give the same answers as in the task", "[hooks][memory_hook]") {
    for (const bool isTask : {true, false}) {
        SchedulerOptions options = test::Options(2);
        MeddlingHost host(options);
        test::Runner runner(options);
        test::Marks marks(kMany);
        std::atomic<uint32_t> wrong{0};
        WorkerLocal<int> local(runner.scheduler, test::Options(2));
        Counter one(1);
        const auto submit = [&](TaskScheduler &scheduler) {
            const uint32_t worker = scheduler.CurrentWorker(), fiber = scheduler.CurrentFiber();
            const int *const place = local.Get();
            const TaskScheduler *const current = TaskScheduler::Current();
            host.Arm([&, worker, fiber, place, current] {
                wrong.fetch_add(scheduler.CurrentWorker() != worker);
                wrong.fetch_add(scheduler.CurrentFiber() != fiber);
                wrong.fetch_add(local.Get() != place);
                wrong.fetch_add(TaskScheduler::Current() != current);
                wrong.fetch_add(scheduler.WorkerCount() != 2);
                wrong.fetch_add(one.Value() != 1);
                wrong.fetch_add(scheduler.PollCounter(&one) || !scheduler.PollCounter(&one, 1));
                scheduler.PrepareToBlock();
                SleepFor(scheduler, 1us);
            });
            Counter counter;
            SubmitMany(scheduler, marks, counter);
            wrong.fetch_add(!host.WasCalled() || scheduler.CurrentWorker() != worker);
            scheduler.WaitForCounter(&counter);
        };
        if (isTask) {
            auto main = [&](TaskScheduler *scheduler) { submit(*scheduler); };
            const Task task = MakeTask(main);
            runner.scheduler.Run(task.function, task.arg, {Priority::Normal, 0, "main"});
        } else {
            CHECK(test::WhileItRuns(runner, test::Life::Start, submit) == Status::Ok);
        }
        INFO((isTask ? "a task" : "another thread"));
        CHECK(wrong.load() == 0);
        CHECK(marks.Wrong() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

// onReport is called inside the hook. So the same calls are refused there.
TEST_CASE("report InHook: onReport in a memory hook may not use the scheduler",
          "[hooks][memory_hook]") {
    const test::ChildResult child = test::RunInChild([] {
        test::EndAfter(20);
        static TaskScheduler *running;
        static std::atomic<uint32_t> reports{0}, ran{0};
        static Counter one(1);
        SchedulerOptions options = test::Options(2);
        MeddlingHost host(options);
        options.onReport = [](const Report &report, void *) {
            if (report.code != ReportCode::InHook || reports.fetch_add(1) > 0) return;
            const Task task{[](TaskScheduler *, void *) { ran.fetch_add(1); }, nullptr};
            running->AddTask(task);
            running->WaitForCounter(&one);
            running->DecrementCounter(&one);
        };
        TaskScheduler scheduler(options);
        running = &scheduler;
        scheduler.Start();
        test::Marks marks(kMany);
        host.Arm([&] { scheduler.WaitIdle(); });
        Counter counter;
        SubmitMany(scheduler, marks, counter);
        scheduler.WaitForCounter(&counter);
        scheduler.Stop();
        if (reports.load() != 1 || ran.load() != 0 || one.Value() != 1 || marks.Wrong() != 0)
            std::_Exit(2);
    });
    CHECK(child.signal == 0);
    CHECK(child.code == 0);
    CHECK(test::Names(child.output, "DecrementCounter was called by a memory hook"));
}

TEST_CASE("report InHook: locks in a memory hook still exclude others and wake waiters",
          "[hooks][memory_hook][sync]") {
    SchedulerOptions options = test::Options(2);
    MeddlingHost host(options);
    test::Runner runner(options);
    test::Marks marks(kMany);
    std::atomic<uint32_t> wrong{0}, passed{0};
    std::atomic<bool> isIn{false};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        Event event(scheduler);
        ConditionVariable changed(scheduler);
        int plain = 0;
        test::Batch others(2, [&](TaskScheduler &self, uint32_t i) {
            if (i == 0) {
                event.Wait();
            } else {
                // The hook finds the lock free. This task wants it while the hook holds it.
                test::SpinUntil([&] { return isIn.load(); });
                const std::lock_guard<Mutex> lock(mutex);
                ++plain;
            }
            passed.fetch_add(1);
            (void)self;
        });
        Counter counter;
        scheduler.AddTasks(2, others.Tasks(), &counter);
        host.Arm([&] {
            std::unique_lock<Mutex> lock(mutex);
            isIn.store(true);
            test::Linger(2000);
            changed.wait(lock);  // it must be refused, because no notification comes
            ++plain;
            lock.unlock();
            event.Set();
        });
        SubmitMany(scheduler, marks, counter, true);
        scheduler.WaitForCounter(&counter);
        wrong.fetch_add(!host.WasCalled() || plain != 2);
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    CHECK(passed.load() == 2);
    CHECK(marks.Wrong() == 0);
    CHECK(runner.log.CountOf(ReportCode::InHook) != 0);
}
