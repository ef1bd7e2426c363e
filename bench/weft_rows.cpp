// weft on default options, but for the number of workers.
#include "rounds.h"

#include <weft/task_scheduler.h>

#include <memory>

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

// Runs `body(scheduler)` as the main task and returns the cost that it returns.
template <class Body>
double InMainTask(uint32_t workers, Body body) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    double cost = 0;
    auto main = [&](weft::TaskScheduler *running) { cost = body(running); };
    const weft::Task task = weft::TaskOf(main);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    return cost;
}

void WriteCell(weft::TaskScheduler *, void *cell) { *static_cast<uint8_t *>(cell) = 1; }

struct Cells {
    std::vector<uint8_t> values;
    std::vector<weft::Task> tasks;

    explicit Cells(uint32_t count) : values(count) {
        for (uint8_t &value : values) tasks.push_back({WriteCell, &value});
    }
    void Verify() const {
        for (uint8_t value : values) {
            if (value != 1) Wrong("a task did not run");
        }
    }
};

double Bulk(weft::TaskScheduler *scheduler, uint32_t count) {
    Cells cells(count);
    const uint32_t repeats = kBulk / count;
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < repeats; ++i) {
        weft::Counter counter;
        scheduler->AddTasks(count, cells.tasks.data(), &counter);
        scheduler->WaitForCounter(&counter);
    }
    const double cost = Since(begin) / (repeats * count);
    cells.Verify();
    return cost;
}

double OneByOne(weft::TaskScheduler *scheduler) {
    Cells cells(kBulk);
    const Clock::time_point begin = Clock::now();
    weft::Counter counter;
    for (const weft::Task &task : cells.tasks) scheduler->AddTask(task, &counter);
    scheduler->WaitForCounter(&counter);
    const double cost = Since(begin) / kBulk;
    cells.Verify();
    return cost;
}

struct Fibonacci {
    uint32_t n;
    uint64_t result;
};

template <bool kFused>
void RunFibonacci(weft::TaskScheduler *scheduler, void *arg) {
    Fibonacci &call = *static_cast<Fibonacci *>(arg);
    if (call.n < 2) {
        call.result = call.n;
        return;
    }
    Fibonacci calls[2] = {{call.n - 1, 0}, {call.n - 2, 0}};
    const weft::Task tasks[2] = {{RunFibonacci<kFused>, &calls[0]}, {RunFibonacci<kFused>, &calls[1]}};
    if (kFused) {
        scheduler->AddTasksAndWait(2, tasks);
    } else {
        weft::Counter counter;
        scheduler->AddTasks(2, tasks, &counter);
        scheduler->WaitForCounter(&counter);
    }
    call.result = calls[0].result + calls[1].result;
}

template <bool kFused>
double ForkJoin(weft::TaskScheduler *scheduler) {
    Fibonacci root{kFibonacci, 0};
    const Clock::time_point begin = Clock::now();
    RunFibonacci<kFused>(scheduler, &root);
    const double cost = Since(begin) / kFibonacciTasks;
    if (root.result != 6765) Wrong("fib(20)");
    return cost;
}

// Two tasks wait for each other in turn; the cost of one wait that suspends and is resumed.
double HandOver(weft::TaskScheduler *scheduler) {
    std::unique_ptr<weft::Counter> turns[2] = {std::make_unique<weft::Counter>(1), std::make_unique<weft::Counter>(1)};
    uint32_t passed = 0;
    const auto play = [&](weft::TaskScheduler *running, uint32_t me) {
        for (uint32_t i = 0; i < kHandOvers / 2; ++i) {
            if (me == 0) running->DecrementCounter(turns[1].get());
            running->WaitForCounter(turns[me].get());
            running->AddToCounter(turns[me].get());
            if (me == 1) running->DecrementCounter(turns[0].get());
            if (me == 0) ++passed;
        }
    };
    auto first = [&](weft::TaskScheduler *running) { play(running, 0); };
    auto second = [&](weft::TaskScheduler *running) { play(running, 1); };
    const weft::Task tasks[2] = {weft::TaskOf(first), weft::TaskOf(second)};
    const Clock::time_point begin = Clock::now();
    scheduler->AddTasksAndWait(2, tasks);
    const double cost = Since(begin) / kHandOvers;
    if (passed != kHandOvers / 2) Wrong("hand-over");
    return cost;
}

}  // namespace

void AddWeftRows(std::vector<Row> &rows, uint32_t workers) {
    const auto add = [&](const char *workload, auto body) {
        rows.push_back({workload, "weft", workers, "ns", [=] { return InMainTask(workers, body); }, {}});
    };
    for (uint32_t count : {1u, 8u, 64u, 1024u, kBulk}) {
        add(("bulk_" + std::to_string(count)).c_str(), [count](weft::TaskScheduler *s) { return Bulk(s, count); });
    }
    add("one_by_one", OneByOne);
    add("fork_join", ForkJoin<false>);
    add("fork_join_fused", ForkJoin<true>);
    add("hand_over", HandOver);
}

}  // namespace bench
