// Rows of weft/deferred.h and weft/data/result.h.
//
// after_200: 200 tasks, and 200 more once these have finished. "launcher" is a deferred task that
// submits the second batch; "AddTasksAfter" submits it in one call before the first one has ended.
//
// result: a task computes one value for another task, from the submission to the return of the
// wait. std::async starts a thread for each value, whatever the number of workers is.
//
// result_for_thread: a task of weft computes one value for an external thread, which waits for a
// Result or for the future of a promise.
#include "run_weft.h"
#include "workloads.h"

#include <weft/data/result.h>
#include <weft/deferred.h>

#include <future>

namespace bench {

namespace {

constexpr uint32_t kTasks = 200;

std::vector<weft::Task> TasksOf(Cells &cells) {
    std::vector<weft::Task> tasks;
    const auto write = [](weft::TaskScheduler *, void *cell) { WriteCell(cell); };
    for (uint32_t i = 0; i < cells.Count(); ++i) tasks.push_back({write, cells.At(i)});
    return tasks;
}

// Returns the cost of each of the 400 tasks.
template <class Submit>
double After(uint32_t workers, Submit submit) {
    Cells first(kTasks), second(kTasks);
    const std::vector<weft::Task> before = TasksOf(first), after = TasksOf(second);
    double cost = 0;
    RunsOnWeft::Run(workers, [&] {
        cost = PerTaskHere(200, 2 * kTasks, [&] {
            weft::Counter counter, done;
            RunsOnWeft::s_running->AddTasks(kTasks, before.data(), &counter);
            submit(counter, after, done);
            RunsOnWeft::s_running->WaitForCounter(&done);
        });
    });
    first.Verify();
    second.Verify();
    return cost;
}

double WithLauncher(uint32_t workers) {
    return After(workers, [](weft::Counter &counter, const std::vector<weft::Task> &after,
                             weft::Counter &done) {
        auto launch = [&](weft::TaskScheduler *scheduler) {
            scheduler->AddTasks(kTasks, after.data(), &done);
        };
        weft::AddTaskAfter(*RunsOnWeft::s_running, &counter, 0, weft::MakeTask(launch), &done);
        RunsOnWeft::s_running->WaitForCounter(&done);  // `launch` lives until then
    });
}

double WithBatch(uint32_t workers) {
    return After(workers, [](weft::Counter &counter, const std::vector<weft::Task> &after,
                             weft::Counter &done) {
        weft::AddTasksAfter(*RunsOnWeft::s_running, &counter, 0, kTasks, after.data(), &done);
    });
}

double OneResult(uint32_t workers) {
    double cost = 0;
    RunsOnWeft::Run(workers, [&] {
        uint64_t sum = 0;
        cost = PerTaskHere(20000, 1, [&] {
            weft::Result<uint64_t> result;
            weft::AddTaskWhen(
                *RunsOnWeft::s_running, [sum] { return sum + 1; }, result);
            sum = result.Get(*RunsOnWeft::s_running);
        });
        if (sum != 20001) Wrong("a result");
    });
    return cost;
}

double OneAsync(uint32_t) {
    uint64_t sum = 0;
    const double cost = PerTaskHere(
        500, 1, [&] { sum = std::async(std::launch::async, [sum] { return sum + 1; }).get(); });
    if (sum != 501) Wrong("a future");
    return cost;
}

// An external thread waits for a value of a task. `Once` submits the task and waits.
template <class Once>
double FromThread(uint32_t workers, Once once) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    uint64_t sum = 0;
    const double cost = PerTaskHere(2000, 1, [&] { sum = once(scheduler, sum); });
    scheduler.Stop();
    if (sum != 2001) Wrong("a value for a thread");
    return cost;
}

double ResultForThread(uint32_t workers) {
    return FromThread(workers, [](weft::TaskScheduler &scheduler, uint64_t sum) {
        weft::Result<uint64_t> result;
        weft::AddTaskWhen(
            scheduler, [sum] { return sum + 1; }, result);
        return result.Get(scheduler);
    });
}

double PromiseForThread(uint32_t workers) {
    return FromThread(workers, [](weft::TaskScheduler &scheduler, uint64_t sum) {
        std::promise<uint64_t> promise;
        std::future<uint64_t> future = promise.get_future();
        weft::AddTask(scheduler,
                      [sum, moved = std::move(promise)]() mutable { moved.set_value(sum + 1); });
        return future.get();
    });
}

}  // namespace

void AddResultRows(std::vector<Row> &rows, uint32_t workers) {
    const auto add = [&](const char *workload, const char *system, auto measure) {
        rows.push_back({workload, system, workers, "ns", [=] { return measure(workers); }, {}});
    };
    add("after_200", "weft", WithBatch);
    add("after_200", "launcher task", WithLauncher);
    add("result", "weft", OneResult);
    add("result", "std::async", OneAsync);
    add("result_for_thread", "weft", ResultForThread);
    add("result_for_thread", "std::promise", PromiseForThread);
}

}  // namespace bench
