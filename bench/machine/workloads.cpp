// Defines the workloads, and measures them in virtual time.
#include "machine/runs.h"

#include "hand_over.h"
#include "weft/task_scheduler.h"

#include <cstdio>
#include <cstdlib>

namespace machine {

using namespace weft;

namespace {

TaskScheduler *s_scheduler = nullptr;

void Empty(TaskScheduler *, void *) {}

void Bulk(uint32_t count) {
    const std::vector<Task> tasks(count, Task{Empty, nullptr});
    Counter counter;
    s_scheduler->AddTasks(count, tasks.data(), &counter);
    s_scheduler->WaitForCounter(&counter);
}

void OneByOne(uint32_t count) {
    Counter counter;
    for (uint32_t i = 0; i < count; ++i) s_scheduler->AddTask({Empty, nullptr}, &counter);
    s_scheduler->WaitForCounter(&counter);
}

template <bool kFused>
void Fibonacci(TaskScheduler *scheduler, void *arg) {
    const uintptr_t n = reinterpret_cast<uintptr_t>(arg);
    if (n < 2) return;
    const Task tasks[2] = {{Fibonacci<kFused>, reinterpret_cast<void *>(n - 1)},
                           {Fibonacci<kFused>, reinterpret_cast<void *>(n - 2)}};
    if (kFused) {
        scheduler->AddTasksAndWait(2, tasks);
        return;
    }
    Counter counter;
    scheduler->AddTasks(2, tasks, &counter);
    scheduler->WaitForCounter(&counter);
}
constexpr uintptr_t kFibonacci = 15;
constexpr uint64_t kFibonacciTasks = 1972;  // recursive calls that fib(15) makes

void Producers() {
    const Task producer{[](TaskScheduler *scheduler, void *counter) {
                            static const std::vector<Task> tasks(1000, Task{Empty, nullptr});
                            scheduler->AddTasks(1000, tasks.data(),
                                                static_cast<Counter *>(counter));
                        },
                        nullptr};
    Counter counter;
    const std::vector<Task> tasks(10, Task{producer.function, &counter});
    s_scheduler->AddTasks(10, tasks.data(), &counter);
    s_scheduler->WaitForCounter(&counter);
}

void HandOver() {
    constexpr uint32_t kTurns = 1000;
    alignas(128) Counter turns[2] = {Counter(1), Counter(1)};  // always on one cache line
    bench::Player players[2] = {{&turns[0], &turns[1], kTurns / 2, true},
                                {&turns[1], &turns[0], kTurns / 2, false}};
    const Task tasks[2] = {{bench::Player::Play, &players[0]}, {bench::Player::Play, &players[1]}};
    Counter counter;
    s_scheduler->AddTasks(2, tasks, &counter);
    s_scheduler->WaitForCounter(&counter);
}

}  // namespace

std::vector<Workload> Workloads() {
    return {
        {"bulk_1", 1, [] { Bulk(1); }, false},
        {"bulk_8", 8, [] { Bulk(8); }, false},
        {"bulk_64", 64, [] { Bulk(64); }, false},
        {"bulk_1000", 1000, [] { Bulk(1000); }, true},
        {"bulk_65536", 65536, [] { Bulk(65536); }, true},
        {"one_by_one", 65536, [] { OneByOne(65536); }, false},
        {"fork_join", kFibonacciTasks,
         [] { Fibonacci<false>(s_scheduler, reinterpret_cast<void *>(kFibonacci)); }, true},
        {"fork_join_fused", kFibonacciTasks,
         [] { Fibonacci<true>(s_scheduler, reinterpret_cast<void *>(kFibonacci)); }, false},
        {"producers_consumers", 10000, Producers, false},
        {"hand_over", 1000, HandOver, false},
    };
}

void RunMain(const Costs &costs, uint32_t workers, const std::function<void(TaskScheduler *)> &body,
             uint32_t groups) {
    Run(costs, [&] {
        SchedulerOptions options;
        options.workers = workers;
        const std::vector<WorkerGroup> equal(groups, WorkerGroup{nullptr, workers / groups});
        if (groups != 1) options.groups = equal.data();
        if (groups != 1) options.groupCount = groups;
        TaskScheduler scheduler(options);
        const Task task = MakeTask(body);
        if (scheduler.Run(task.function, task.arg) != Status::Ok) {
            std::fprintf(stderr, "machine: Run failed\n");
            std::abort();
        }
    });
}

Result Measure(const Costs &costs, uint32_t workers, const Workload &workload) {
    Result result{};
    RunMain(costs, workers, [&](TaskScheduler *scheduler) {
        s_scheduler = scheduler;
        for (int warmUp = 0; warmUp < 2; ++warmUp) workload.repeat();
        const Counts before = Total();
        const double begin = Now();
        workload.repeat();
        result = {Total() - before, Now() - begin};
    });
    return result;
}

}  // namespace machine
