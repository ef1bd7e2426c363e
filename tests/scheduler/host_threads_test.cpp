#include "weft/task_scheduler.h"

#include "platform/floating_point.h"
#include "support/control_words.h"
#include "support/quiet_run.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

SchedulerOptions HostOptions(uint32_t workers) {
    SchedulerOptions options = test::Options(workers);
    options.hostThreads = true;
    return options;
}

// Threads of the host: thread i runs worker `first` + i.
class Workers {
public:
    Workers(TaskScheduler &scheduler, uint32_t first, uint32_t count)
        : m_first(first), m_ids(count), m_results(count), m_threads(count, [&](uint32_t i) {
              m_ids[i] = std::this_thread::get_id();
              m_results[i] = scheduler.RunWorker(m_first + i);
          }) {}

    // Call it after the end of the run.
    bool AllReturnedOk() {
        m_threads.Join();
        bool ok = true;
        for (const Status result : m_results) ok &= result == Status::Ok;
        return ok;
    }
    std::thread::id IdOf(uint32_t worker) const { return m_ids[worker - m_first]; }

private:
    const uint32_t m_first;
    std::vector<std::thread::id> m_ids;
    std::vector<Status> m_results;
    test::Threads m_threads;
};

using test::PinnedTo;

}  // namespace

TEST_CASE("host threads: each worker runs on the thread that called RunWorker", "[host_threads]") {
    for (const uint32_t count : {1u, 2u, 3u, 8u}) {
        for (const test::Life life : {test::Life::Start, test::Life::Run}) {
            INFO(count << " workers, " << test::Describe(life));
            test::Runner runner(HostOptions(count));
            const uint32_t first = life == test::Life::Run ? 1 : 0;
            std::vector<std::thread::id> ranOn(count);
            std::vector<uint32_t> ranAs(count);
            test::Batch pinned(count, [&](TaskScheduler &scheduler, uint32_t i) {
                ranOn[i] = std::this_thread::get_id();
                ranAs[i] = scheduler.CurrentWorker();
            });
            test::Marks marks(200);
            const auto submit = [&](TaskScheduler &scheduler) {
                Counter counter;
                for (uint32_t i = 0; i < count; ++i)
                    scheduler.AddTask(pinned[i], &counter, PinnedTo(i));
                scheduler.AddTasks(marks.Count(), marks.Tasks(), &counter);
                scheduler.WaitForCounter(&counter);
            };
            std::unique_ptr<Workers> workers;
            if (life == test::Life::Start) {
                REQUIRE(runner.scheduler.Start() == Status::Ok);
                workers = std::make_unique<Workers>(runner.scheduler, first, count);
                submit(runner.scheduler);
                runner.scheduler.Stop();
            } else {
                REQUIRE(runner.Run([&](TaskScheduler &scheduler) {
                    workers = std::make_unique<Workers>(scheduler, first, count - first);
                    submit(scheduler);
                }) == Status::Ok);
            }
            CHECK(workers->AllReturnedOk());
            CHECK(marks.Wrong() == 0);
            for (uint32_t i = first; i < count; ++i) {
                INFO("worker " << i);
                CHECK(ranAs[i] == i);
                CHECK(ranOn[i] == workers->IdOf(i));
            }
            if (first == 1) CHECK(ranOn[0] == std::this_thread::get_id());
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("host threads: a task that is pinned to a worker waits for its thread",
          "[host_threads]") {
    test::Started runner(HostOptions(2));
    Workers first(runner.scheduler, 0, 1);
    uint32_t ranAs = kAnyWorker;
    test::Batch pinned(
        1, [&](TaskScheduler &scheduler, uint32_t) { ranAs = scheduler.CurrentWorker(); });
    Counter counter;
    runner.scheduler.AddTask(pinned[0], &counter, PinnedTo(1));
    test::Marks marks(50);
    runner.scheduler.AddTasksAndWait(marks.Count(), marks.Tasks());  // on worker 0
    CHECK(marks.Wrong() == 0);
    CHECK(!runner.scheduler.PollCounter(&counter));
    Workers second(runner.scheduler, 1, 1);
    runner.scheduler.WaitForCounter(&counter);
    CHECK(ranAs == 1);
    runner.scheduler.Stop();
    CHECK(first.AllReturnedOk());
    CHECK(second.AllReturnedOk());
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("host threads: Stop runs the tasks if no thread has come", "[host_threads]") {
    test::Runner runner(HostOptions(3));
    for (uint32_t round = 0; round < 3; ++round) {
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        std::atomic<uint32_t> wrong{0};
        const std::thread::id self = std::this_thread::get_id();
        test::Batch batch(100, [&](TaskScheduler &scheduler, uint32_t) {
            wrong += std::this_thread::get_id() != self || scheduler.CurrentWorker() != 0;
        });
        Counter counter;
        runner.scheduler.AddTasks(batch.Count(), batch.Tasks(), &counter);
        CHECK(!counter.IsZero());
        runner.scheduler.Stop();
        CHECK(counter.IsZero());
        CHECK(wrong == 0);
        CHECK(TaskScheduler::Current() == nullptr);
    }
    CHECK(runner.log.Text() == "");
}

TEST_CASE("host threads: a stall is reported while a worker has no thread", "[host_threads]") {
    SchedulerOptions options = HostOptions(2);
    options.stallMilliseconds = 1;
    test::Started runner(options);
    Workers first(runner.scheduler, 0, 1);
    Counter never(1), done;
    test::Batch waits = test::WaitsFor(never);
    runner.scheduler.AddTask(waits[0], &done);
    CHECK(test::SpinUntil([&] { return runner.log.CountOf(ReportCode::Stalled) != 0; }));
    runner.scheduler.DecrementCounter(&never);
    runner.scheduler.WaitForCounter(&done);
    runner.scheduler.Stop();
    CHECK(first.AllReturnedOk());
}

#if defined(WEFT_TEST_CONTROL_WORDS)
TEST_CASE("host threads: hooks, control words and the caller's own state", "[host_threads]") {
    SchedulerOptions options = HostOptions(1);
    std::vector<std::string> calls;
    options.threads.user = &calls;
    options.threads.onStart = [](uint32_t index, void *user) {
        static_cast<std::vector<std::string> *>(user)->push_back("start " + std::to_string(index));
    };
    options.threads.onStop = [](uint32_t index, void *user) {
        static_cast<std::vector<std::string> *>(user)->push_back("stop " + std::to_string(index));
    };
    test::Started runner(options);
    const uint64_t ofStarter = internal::FloatingPointControl();
    uint64_t inTask = 0, before = 0, after = 0;
    Status result = Status::NotRunning;
    test::Threads thread(1, [&](uint32_t) {
        internal::SetFloatingPointControl(ofStarter | test::kToZero);
        before = internal::FloatingPointControl();
        result = runner.scheduler.RunWorker(0);
        after = internal::FloatingPointControl();
    });
    test::Batch batch(
        1, [&](TaskScheduler &, uint32_t) { inTask = internal::FloatingPointControl(); });
    runner.scheduler.AddTasksAndWait(1, batch.Tasks());
    runner.scheduler.Stop();
    thread.Join();
    CHECK(result == Status::Ok);
    CHECK(inTask == ofStarter);  // as on threads of weft
    CHECK(before != ofStarter);
    CHECK(after == before);
    CHECK(calls == std::vector<std::string>{"start 0", "stop 0"});
    CHECK(runner.log.Text() == "");
}
#endif

TEST_CASE("host threads: without workers an attached thread or Stop runs the tasks",
          "[host_threads]") {
    test::Started runner(HostOptions(0));
    CHECK(runner.scheduler.WorkerCount() == 0);
    CHECK(runner.scheduler.RunWorker(0) == Status::BadOption);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "there are 0 workers"));
    CHECK(runner.log.Count() == 1);
    const std::thread::id self = std::this_thread::get_id();
    uint32_t here = 0, elsewhere = 0;
    test::Batch batch(50, [&](TaskScheduler &, uint32_t) {
        ++(std::this_thread::get_id() == self ? here : elsewhere);
    });
    REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
    runner.scheduler.AddTasksAndWait(batch.Count(), batch.Tasks());
    CHECK(here == 50);
    runner.scheduler.DetachThread();
    Counter left;
    runner.scheduler.AddTasks(batch.Count(), batch.Tasks(), &left);
    CHECK(here == 50);
    runner.scheduler.Stop();
    CHECK(left.IsZero());
    CHECK(here == 100);
    CHECK(elsewhere == 0);
    CHECK(runner.log.Count() == 1);
    CHECK(runner.Run([](TaskScheduler &) {}) == Status::BadOption);  // Run needs a worker
}

TEST_CASE("host threads: a task of another scheduler may run a worker", "[host_threads]") {
    test::Runner outer(test::Options(1)), inner(HostOptions(1));
    REQUIRE(inner.scheduler.Start() == Status::Ok);
    test::Marks marks(20);
    test::Threads stopper(1, [&](uint32_t) {
        inner.scheduler.AddTasksAndWait(marks.Count(), marks.Tasks());
        inner.scheduler.Stop();
    });
    Status result = Status::NotRunning;
    bool same = false;
    CHECK(outer.Run([&](TaskScheduler &scheduler) {
        result = inner.scheduler.RunWorker(0);
        same = TaskScheduler::Current() == &scheduler && scheduler.CurrentWorker() == 0;
        test::Marks more(20);
        scheduler.AddTasksAndWait(more.Count(), more.Tasks());
        same = same && more.Wrong() == 0;
    }) == Status::Ok);
    stopper.Join();
    // Stop may have come first, and have taken the worker
    CHECK((result == Status::Ok || result == Status::NotRunning));
    CHECK(same);
    CHECK(marks.Wrong() == 0);
}

TEST_CASE("report BadOption: RunWorker without hostThreads, out of range, twice, by a task",
          "[host_threads][reports]") {
    test::Runner plain(test::Options(2));
    CHECK(plain.scheduler.RunWorker(0) == Status::NotRunning);
    CHECK(plain.log.Text() == "");
    REQUIRE(plain.scheduler.Start() == Status::Ok);
    CHECK(plain.scheduler.RunWorker(0) == Status::BadOption);
    CHECK(test::Names(plain.log.First(ReportCode::BadOption).hint, "hostThreads"));
    plain.scheduler.Stop();

    test::Started runner(HostOptions(2));
    CHECK(runner.scheduler.RunWorker(2) == Status::BadOption);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "there are 2 workers"));
    CHECK(runner.scheduler.RunWorker(kAnyWorker) == Status::BadOption);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
    Workers workers(runner.scheduler, 0, 2);
    Status inTask = Status::Ok;
    test::Batch batch(2, [&](TaskScheduler &scheduler, uint32_t i) {
        if (i == 1) inTask = scheduler.RunWorker(0);
    });
    for (uint32_t i = 0; i < 2; ++i) {
        Counter counter;
        runner.scheduler.AddTask(batch[i], &counter, PinnedTo(i));  // so both threads have come
        runner.scheduler.WaitForCounter(&counter);
    }
    CHECK(inTask == Status::AlreadyRunning);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 3);
    CHECK(runner.scheduler.RunWorker(1) == Status::AlreadyRunning);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 4);
    runner.scheduler.Stop();
    CHECK(workers.AllReturnedOk());
    CHECK(runner.scheduler.RunWorker(0) == Status::NotRunning);
    CHECK(runner.log.Count() == 4);
}
