#include "machine/runs.h"

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
constexpr uint64_t kFibonacciTasks = 1972;  // calls that fib(15) makes below the first one

void Producers() {
    const Task producer{[](TaskScheduler *scheduler, void *counter) {
                            static const std::vector<Task> tasks(1000, Task{Empty, nullptr});
                            scheduler->AddTasks(1000, tasks.data(), static_cast<Counter *>(counter));
                        },
                        nullptr};
    Counter counter;
    const std::vector<Task> tasks(10, Task{producer.function, &counter});
    s_scheduler->AddTasks(10, tasks.data(), &counter);
    s_scheduler->WaitForCounter(&counter);
}

void HandOver() {
    constexpr uint32_t kTurns = 1000;
    struct Player {
        Counter *own, *other;
        bool first;
    };
    Counter turns[2] = {Counter(1), Counter(1)};
    Player players[2] = {{&turns[0], &turns[1], true}, {&turns[1], &turns[0], false}};
    const TaskFunction play = [](TaskScheduler *scheduler, void *arg) {
        const Player *player = static_cast<Player *>(arg);
        for (uint32_t i = 0; i < kTurns / 2; ++i) {
            if (player->first) scheduler->DecrementCounter(player->other);
            scheduler->WaitForCounter(player->own);
            scheduler->AddToCounter(player->own);
            if (!player->first) scheduler->DecrementCounter(player->other);
        }
    };
    const Task tasks[2] = {{play, &players[0]}, {play, &players[1]}};
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
        {"fork_join", kFibonacciTasks, [] { Fibonacci<false>(s_scheduler, reinterpret_cast<void *>(kFibonacci)); },
         true},
        {"fork_join_fused", kFibonacciTasks, [] { Fibonacci<true>(s_scheduler, reinterpret_cast<void *>(kFibonacci)); },
         false},
        {"producers_consumers", 10000, Producers, false},
        {"hand_over", 1000, HandOver, false},
    };
}

Result Measure(const Costs &costs, uint32_t workers, const Workload &workload) {
    Result result{};
    Run(costs, [&] {
        SchedulerOptions options;
        options.workers = workers;
        TaskScheduler scheduler(options);
        s_scheduler = &scheduler;
        auto main = [&](TaskScheduler *) {
            for (int warmUp = 0; warmUp < 2; ++warmUp) workload.repeat();
            const Counts before = Total();
            const double begin = Now();
            workload.repeat();
            result = {Total() - before, Now() - begin};
        };
        const Task task = TaskOf(main);
        if (scheduler.Run(task.function, task.arg) != Status::Ok) {
            std::fprintf(stderr, "machine: Run failed\n");
            std::abort();
        }
    });
    return result;
}

}  // namespace machine
