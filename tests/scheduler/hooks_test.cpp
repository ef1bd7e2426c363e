// The host's functions: memory, threads and traces, and what they may call.
#include "weft/hooks.h"

#include "support/child_process.h"
#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/quiet_run.h"
#include "support/thread_record.h"
#include "support/trace_log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Uses everything that takes memory: lanes, slabs, inboxes, blocks, waits of threads, attached
// threads.
void UseEverything(TaskScheduler &scheduler, std::atomic<uint32_t> &wrong) {
    test::Marks many(3000), pinned(40), own(600);
    test::Batch parent(1, [&](TaskScheduler &inside, uint32_t) {
        inside.AddTasksAndWait(600, own.Tasks(), test::kHigh);
        inside.AddTasksAndWait(40, pinned.Tasks(), test::PinnedTo(0));
    });
    Counter first(1), second;
    Counter *const both[2] = {&first, &second};
    scheduler.AddTasks(1, parent.Tasks(), &second);
    wrong.fetch_add(scheduler.WaitForAny(2, both) != 1);
    scheduler.AddTasksAndWait(3000, many.Tasks());  // more than 64 blocks at once
    std::thread guest([&] {
        test::Marks marks(50);
        wrong.fetch_add(scheduler.AttachThread() != Status::Ok);
        scheduler.AddTasksAndWait(50, marks.Tasks());
        scheduler.DetachThread();
        wrong.fetch_add(marks.Wrong());
    });
    guest.join();
    wrong.fetch_add(many.Wrong() + pinned.Wrong() + own.Wrong());
}

}  // namespace

// Of stacks and of reserve stacks.
constexpr uint32_t kReservations = 2;

TEST_CASE("memory hooks: all memory of weft comes from the host, and is released", "[hooks]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        for (bool reports : {false, true}) {
            INFO(test::Describe(life));
            test::HostMemory memory;
            SchedulerOptions options = test::Options(2, 20);
            options.reportStackOverflow = reports;
            memory.AttachTo(options.memory);
            const int64_t before = test::OutstandingAllocations();
            test::Runner runner(options);
            CHECK(memory.Calls() == 0);                // the constructor allocates nothing
            const test::FailingAllocation failing(0);  // weft's own allocator would fail
            for (int round = 0; round < 3; ++round) {
                std::atomic<uint32_t> wrong{0};
                std::atomic<size_t> bytes{0};
                REQUIRE(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                            UseEverything(scheduler, wrong);
                            bytes.store(memory.OutstandingBytes());
                        }) == Status::Ok);
                CHECK(wrong.load() == 0);
                CHECK(bytes.load() > 20 * options.stackBytes);
                CHECK(memory.OutstandingBytes() == 0);
                CHECK(memory.Reservations() == kReservations * (round + 1));
            }
            CHECK(memory.Wrong() == 0);
            CHECK(!failing.HasFailed());
            CHECK(test::OutstandingAllocations() == before);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("memory hooks: each pair is used without the other", "[hooks]") {
    for (bool stacks : {false, true}) {
        test::HostMemory memory;
        SchedulerOptions options = test::Options(2, 10);
        memory.AttachTo(options.memory, !stacks, stacks);
        test::Marks marks(100);
        CHECK(test::Runner(options).Run(test::RunsAll(marks)) == Status::Ok);
        CHECK(marks.Wrong() == 0);
        CHECK((memory.Reservations() != 0) == stacks);
        CHECK((memory.Allocations() != 0) == !stacks);
        CHECK(memory.OutstandingBytes() == 0);
        CHECK(memory.Wrong() == 0);
    }
}

TEST_CASE("memory hooks: tasks run on the host's pages, which can be reused after the run",
          "[hooks]") {
    test::HostMemory memory;
    memory.reusesStacks = true;
    SchedulerOptions options = test::Options(2, 10);
    memory.AttachTo(options.memory);
    test::Runner runner(options);
    for (uint32_t round = 0; round < 3; ++round) {
        std::atomic<uint32_t> elsewhere{0};
        test::Batch batch(50, [&](TaskScheduler &, uint32_t) {
            elsewhere.fetch_add(!memory.IsStack(__builtin_frame_address(0)));
        });
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(50, batch.Tasks());
            scheduler.AddTasksAndWait(50, batch.Tasks());
        }) == Status::Ok);
        CHECK(elsewhere.load() == 0);
        CHECK(memory.Reused() == kReservations * round);
        CHECK(memory.OutstandingBytes() == 0);
        CHECK(memory.Wrong() == 0);
    }
}

TEST_CASE("thread hooks: called at start and end of each thread of weft, with its index",
          "[hooks]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        for (uint32_t workers : {0u, 1u, 2u, 8u}) {
            if (workers == 0 && life == test::Life::Run) continue;
            INFO(test::Describe(life) << " with " << workers);
            test::ThreadRecord record;
            SchedulerOptions options = test::Options(workers);
            record.AttachTo(options.threads);
            std::atomic<uint32_t> wrong{0};
            const std::thread::id caller = std::this_thread::get_id();
            test::Batch batch(200, [&](TaskScheduler &scheduler, uint32_t) {
                const uint32_t self = scheduler.CurrentWorker();
                const std::lock_guard<std::mutex> lock(record.mutex);
                const auto found = record.started.find(self);
                if (life == test::Life::Run && self == 0) {
                    wrong.fetch_add(std::this_thread::get_id() != caller ||
                                    found != record.started.end());
                } else if (self < workers) {
                    wrong.fetch_add(found == record.started.end() ||
                                    found->second != std::this_thread::get_id());
                } else {
                    // Attached threads belong to the host.
                    wrong.fetch_add(found != record.started.end());
                }
                wrong.fetch_add(record.stops != 0);
            });
            test::HostMayStall(options, life, [&](TaskScheduler &scheduler) {
                wrong.fetch_add(scheduler.AttachThread() != Status::Ok);
                scheduler.AddTasksAndWait(200, batch.Tasks());
                scheduler.DetachThread();
                record.tasksDone.store(true);
            });
            const uint32_t expected = life == test::Life::Run ? workers - 1 : workers;
            CHECK(record.starts == expected);
            CHECK(record.stops == expected);
            CHECK(record.started.size() == expected);
            for (const auto &[worker, thread] : record.started)
                CHECK((worker < workers && thread != caller));
            CHECK((life == test::Life::Start || record.started.count(0) == 0));
            CHECK(record.wrong == 0);
            CHECK(wrong.load() == 0);
        }
    }
}

TEST_CASE("thread hooks: each of them can be used alone", "[hooks]") {
    for (bool start : {false, true}) {
        test::ThreadRecord record;
        record.tasksDone.store(true);
        SchedulerOptions options = test::Options(3);
        record.AttachTo(options.threads);
        (start ? options.threads.onStop : options.threads.onStart) = nullptr;
        test::RunQuietly(options, [](TaskScheduler &) {});
        CHECK(record.starts == (start ? 2 : 0));
        CHECK(record.stops == (start ? 0 : 2));
    }
}

static size_t CountNamed(const std::vector<test::LoggedEvent> &events, const std::string &task) {
    size_t count = 0;
    for (const test::LoggedEvent &logged : events) count += logged.task == task;
    return count;
}

TEST_CASE("trace hooks: their events are consistent in each configuration", "[hooks][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::TraceLog trace;
        const SchedulerOptions options = trace.In(test::Options(point));
        test::Runner runner(options);
        Counter gate(1);
        std::atomic<uint32_t> ran{0};
        test::Batch waiter(1, [&](TaskScheduler &scheduler, uint32_t) {
            ran.fetch_add(1);
            scheduler.WaitForCounter(&gate);
        });
        test::Batch throwing(4, [&](TaskScheduler &scheduler, uint32_t i) {
            scheduler.Yield();
            ran.fetch_add(i < 4);
#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
            if (i % 2 == 0) throw 1;
#endif
        });
        test::Batch opener = test::Lowers(gate);
        const auto host = [&](TaskScheduler &scheduler) {
            scheduler.AddTask(waiter[0], nullptr, test::Named("waits"));
            scheduler.AddTasks(1, opener.Tasks(), nullptr, test::Named("opens"));
            scheduler.AttachThread();
            scheduler.AddTasksAndWait(4, throwing.Tasks(), test::Named("throws"));
            scheduler.AddTasksAndWait(4, throwing.Tasks(), test::Named("throws too"));
            scheduler.DetachThread();
        };
        CHECK(test::WhileItRuns(runner, test::Life::Start, host) == Status::Ok);
        CHECK(ran.load() == 9);
        const std::vector<test::LoggedEvent> begun = trace.Events(test::Traced::TaskBegin);
        CHECK(CountNamed(begun, "waits") == 1);
        CHECK(CountNamed(begun, "throws") == 4);
        CHECK(CountNamed(begun, "throws too") == 4);
        CHECK(CountNamed(begun, "opens") == 1);
        CHECK(begun.size() == 10);
        CHECK(test::Inconsistencies(trace.Events()) == "");
        const uint32_t places = point.workers + options.maxAttached;
        for (const test::LoggedEvent &logged : begun)
            CHECK((logged.event.worker < places && logged.event.fiber < test::FibersOf(options)));
    }
}

TEST_CASE("trace hooks: events of a task name worker and fiber, submissions size, name and counter",
          "[hooks]") {
    test::TraceLog trace;
    uint32_t worker = 0, fiber = 0;
    Counter counter;
    test::Batch pinned(1, [&](TaskScheduler &scheduler, uint32_t) {
        worker = scheduler.CurrentWorker();
        fiber = scheduler.CurrentFiber();
    });
    const std::vector<Task> tasks(40, Task{[](TaskScheduler *, void *) {}, nullptr});
    CHECK(test::Runner(trace.In(test::Options(2))).Run([&](TaskScheduler &scheduler) {
        scheduler.AddTask(pinned[0], nullptr, test::PinnedTo(1, "there"));
        scheduler.AddTasks(40, tasks.data(), &counter, test::kHigh);
        scheduler.WaitForCounter(&counter);
        scheduler.AddTask(tasks[0]);
        scheduler.AddTasksAndWait(40, tasks.data(), test::Named("in place too"));
    }) == Status::Ok);
    const std::vector<test::LoggedEvent> submits = trace.Events(test::Traced::Submit);
    REQUIRE(submits.size() >= 4);
    CHECK((submits[0].event.count == 1 && submits[0].task == "there" &&
           submits[0].event.counter == nullptr));
    CHECK((submits[1].event.count == 40 && submits[1].task == "high" &&
           submits[1].event.counter == &counter));
    CHECK((submits[2].event.count == 1 && submits[2].task == "-"));
    uint32_t awaited = 0;  // sums up all submissions of this batch
    for (size_t i = 3; i < submits.size(); ++i)
        awaited += submits[i].task == "in place too" ? submits[i].event.count : 0;
    CHECK(awaited == 40);
    for (const test::LoggedEvent &logged : trace.Events()) {
        if (logged.kind == test::Traced::TaskBegin || logged.kind == test::Traced::TaskEnd) {
            if (logged.task == "there")
                CHECK((logged.event.worker == worker && logged.event.fiber == fiber));
        } else if (logged.kind == test::Traced::Wait || logged.kind == test::Traced::Resume) {
            CHECK((logged.event.counter == &counter ||
                   logged.event.counter == submits[3].event.counter));
            CHECK((logged.event.count == 0 && logged.task == "main"));
        }
    }
    CHECK(test::Inconsistencies(trace.Events()) == "");
}

TEST_CASE("trace hooks: each park has an unpark", "[hooks]") {
    for (uint32_t workers : {1u, 3u}) {
        test::TraceLog trace;
        const SchedulerOptions options = test::Options(workers, 10, IdlePolicy::Sleep);
        test::Marks marks(1);
        test::HostMayStall(trace.In(options), [&](TaskScheduler &scheduler) {
            CHECK(test::SpinUntil([&] { return trace.CountOf(test::Traced::Park) >= workers; }));
            const size_t before = trace.CountOf(test::Traced::Unpark);
            scheduler.AddTasksAndWait(1, marks.Tasks());
            CHECK(trace.CountOf(test::Traced::Unpark) > before);
        });
        CHECK(trace.CountOf(test::Traced::Park) == trace.CountOf(test::Traced::Unpark));
        CHECK(test::Inconsistencies(trace.Events()) == "");
    }
}

TEST_CASE("trace hooks: only events of the chosen kinds are told", "[hooks]") {
    for (int kind = -1; kind < test::kTracedKinds; ++kind) {
        test::TraceLog trace;
        // There is one worker, so the task has to wait.
        const SchedulerOptions options = test::Options(1, 10, IdlePolicy::Sleep);
        test::Runner runner(trace.In(options, kind >= 0 ? 1u << kind : 0));
        Counter gate(1);
        test::Batch opener = test::Lowers(gate);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTask(opener[0]);
            scheduler.WaitForCounter(&gate);
        }) == Status::Ok);
        for (const test::LoggedEvent &logged : trace.Events())
            CHECK(static_cast<int>(logged.kind) == kind);
        const bool parks = kind == static_cast<int>(test::Traced::Park) ||
                           kind == static_cast<int>(test::Traced::Unpark);
        if (kind >= 0 && !parks) CHECK(!trace.Events().empty());
    }
}

TEST_CASE("trace hooks: all of these events but FiberSwitch, Park and Unpark may submit",
          "[hooks]") {
    for (uint32_t workers : {1u, 3u}) {
        test::TraceLog trace;
        test::Runner runner(trace.In(test::Options(workers, 10, IdlePolicy::Sleep)));
        std::atomic<uint32_t> ran{0}, kinds{0};
        std::atomic<bool> done[test::kTracedKinds]{};
        test::Batch extra(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        trace.also = [&](test::Traced kind, const TraceEvent &event) {
            if (event.worker == kAnyWorker) return;  // an external thread may not submit
            if (done[static_cast<int>(kind)].exchange(true)) return;
            kinds.fetch_add(1);
            runner.scheduler.AddTask(extra[0]);
        };
        test::Batch parent(1, [&](TaskScheduler &inside, uint32_t) { inside.AddTask(extra[0]); });
        test::Marks nothing(1);
        CHECK(test::WhileItRuns(runner, test::Life::Run, [&](TaskScheduler &scheduler) {
                  scheduler.AddTasksAndWait(1, parent.Tasks());
                  // Two kinds may be missing: the main task has not been resumed, and perhaps no
                  // worker slept when the parent came.
                  CHECK(test::SpinUntil([&] { return kinds.load() >= test::kTracedKinds - 2; }));
                  CHECK(test::SpinUntil([&] {
                      scheduler.AddTasksAndWait(1, nothing.Tasks());
                      return done[static_cast<int>(test::Traced::Unpark)].load();
                  }));
              }) == Status::Ok);
        CHECK(kinds.load() == test::kTracedKinds);
        CHECK(ran.load() + runner.log.CountOf(ReportCode::InHook) == test::kTracedKinds + 1);
        CHECK(runner.log.CountOf(ReportCode::InHook) == 3);
        CHECK(runner.log.Count() == 3 + runner.log.CountOf(ReportCode::Stalled));
    }
}

TEST_CASE("report InHook: a trace hook adds child tasks; that has no effect", "[hooks]") {
    test::TraceLog trace;
    test::Runner runner(trace.In(test::Options(1, 10, IdlePolicy::Sleep)));
    uint32_t ran = 0, asked = 0;  // one worker, so never two hooks at once
    test::Batch child(1, [&](TaskScheduler &, uint32_t) { ++ran; });
    bool inside = false, kinds[test::kTracedKinds]{};
    trace.also = [&](test::Traced kind, const TraceEvent &) {
        if (!inside) return;
        ++asked;
        kinds[static_cast<int>(kind)] = true;
        runner.scheduler.AddChildTasks(1, child.Tasks());
    };
    Counter gate(1), counter;
    test::Batch opener = test::Lowers(gate);
    test::Batch parent(1, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.AddTask(opener[0]);
        scheduler.WaitForCounter(&gate);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        inside = true;
        scheduler.AddTasks(1, parent.Tasks(), &counter);
        scheduler.WaitForCounter(&counter);
        inside = false;
    }) == Status::Ok);
    for (int kind = 0; kind < static_cast<int>(test::Traced::Park); ++kind) CHECK(kinds[kind]);
    CHECK(ran == 0);
    test::CheckOnly(runner.log, ReportCode::InHook, asked);
}

TEST_CASE("report InHook: onReport adds child tasks; that has no effect", "[hooks]") {
    const test::ChildResult child = test::RunInChild([] {
        static TaskScheduler *running;
        static uint32_t reports = 0, ran = 0;
        SchedulerOptions options = test::Options(1);
        options.onReport = [](const Report &, void *) {
            const Task task{[](TaskScheduler *, void *) { ++ran; }, nullptr};
            if (++reports == 1) running->AddChildTasks(1, &task);
        };
        TaskScheduler scheduler(options);
        running = &scheduler;
        auto main = [](TaskScheduler *self) { self->WaitForCounter(nullptr); };
        const Task task = MakeTask(main);
        scheduler.Run(task.function, task.arg);
        if (reports != 1 || ran != 0) std::_Exit(2);
    });
    CHECK(child.code == 0);
    CHECK(test::Names(child.output, "AddChildTasks was called by a hook or by onReport"));
}
