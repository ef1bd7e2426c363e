// The mistakes. Each function makes one.
#include "anti_patterns/mistakes.h"

#include <stdexcept>
#include <thread>

namespace anti_patterns {

using namespace weft;

namespace {

void Nothing(TaskScheduler *, void *) {}

void NullFunction(Log &log) {
    TaskScheduler(log.Options()).Run([](TaskScheduler *scheduler, void *) {
        scheduler->AddTask({nullptr, nullptr});
    });
}

void TinyStacks(Log &log) {
    SchedulerOptions options = log.Options();
    options.stackBytes = 1000;
    TaskScheduler(options).Run(Nothing);  // returns Status::BadOption
}

void Underflow(Log &log) {
    TaskScheduler(log.Options()).Run([](TaskScheduler *scheduler, void *) {
        Counter counter(1);
        scheduler->DecrementCounter(&counter, 2);
    });
}

void TwoSchedulers(Log &log) {
    TaskScheduler first(log.Options()), second(log.Options());
    if (first.Start() != Status::Ok || second.Start() != Status::Ok) return;
    Counter counter;
    first.IncrementCounter(&counter);
    second.AddTask({Nothing, nullptr}, &counter);  // refused: it is not added
    first.DecrementCounter(&counter);
}

#if defined(__cpp_exceptions)
void ThrowingTask(Log &log) {
    TaskScheduler(log.Options()).Run([](TaskScheduler *, void *) {
        throw std::runtime_error("nobody catches this");
    });
}
#endif

void WaitInHook(Log &log) {
    SchedulerOptions options = log.Options();
    options.trace.kinds = TraceHooks::Bit(TraceKind::TaskEnd);
    options.trace.event = [](const TraceEvent &, void *) { TaskScheduler::Current()->WaitIdle(); };
    TaskScheduler(options).Run(Nothing);
}

void NotRunning(Log &log) {
    TaskScheduler scheduler(log.Options());
    scheduler.AddTask({Nothing, nullptr});
}

void StopFromTask(Log &log) {
    TaskScheduler scheduler(log.Options());
    if (scheduler.Start() != Status::Ok) return;
    const Task stop{[](TaskScheduler *running, void *) { running->Stop(); }, nullptr};
    scheduler.AddTasksAndWait(1, &stop);
}

void EndsAttached(Log &log) {
    TaskScheduler scheduler(log.Options());
    if (scheduler.Start() != Status::Ok) return;
    std::thread([&] { scheduler.AttachThread(); }).join();
}

void WaitForArgument(TaskScheduler *scheduler, void *counter) {
    scheduler->WaitForCounter(static_cast<Counter *>(counter));
}

// Runs `main`. When weft has reported that every task waits for `event`, an external thread ends
// the wait.
void RunUntilHelped(Log &log, const SchedulerOptions &options, TaskFunction main) {
    Counter event(1);
    TaskScheduler scheduler(options);
    std::thread helper([&] {
        log.Await();
        scheduler.DecrementCounter(&event);
    });
    scheduler.Run(main, &event);
    helper.join();
}

void PoolTooSmall(Log &log) {
    SchedulerOptions options = log.Options();
    options.workers = 1;
    options.fibers = 4;
    RunUntilHelped(log, options, [](TaskScheduler *scheduler, void *event) {
        const std::vector<Task> tasks(20, Task{WaitForArgument, event});
        Counter counter;
        scheduler->AddTasks(20, tasks.data(), &counter);
        scheduler->WaitForCounter(&counter);
    });
}

void Stalled(Log &log) { RunUntilHelped(log, log.Options(), WaitForArgument); }

volatile uint32_t s_result = 0;  // keeps the compiler from removing the recursion

uint32_t Recurse(uint32_t depth) {
    volatile char room[1024];
    room[0] = static_cast<char>(depth);
    return depth == 0 ? 0 : Recurse(depth - 1) + static_cast<uint32_t>(room[0] & 1);
}

void OverflowStack(Log &) {
    SchedulerOptions options;
    options.workers = 1;
    options.reportStackOverflow = true;
    TaskScheduler(options).Run([](TaskScheduler *, void *) { s_result = Recurse(1000000); },
                               nullptr, {Priority::Normal, kAnyWorker, "recursion"});
}

}  // namespace

const std::vector<Mistake> &AllMistakes() {
    static const std::vector<Mistake> mistakes {
        {ReportCode::NullTask, "NullTask", NullFunction, false},
            {ReportCode::BadOption, "BadOption", TinyStacks, false},
            {ReportCode::CounterUnderflow, "CounterUnderflow", Underflow, false},
            {ReportCode::WrongScheduler, "WrongScheduler", TwoSchedulers, false},
#if defined(__cpp_exceptions)
            {ReportCode::TaskThrew, "TaskThrew", ThrowingTask, false},
#endif
            {ReportCode::InHook, "InHook", WaitInHook, false},
            {ReportCode::NotRunning, "NotRunning", NotRunning, false},
            {ReportCode::WrongThread, "WrongThread", StopFromTask, false},
            {ReportCode::LeftAttached, "LeftAttached", EndsAttached, false},
            {ReportCode::OutOfFibers, "OutOfFibers", PoolTooSmall, false},
            {ReportCode::Stalled, "Stalled", Stalled, false},
            {ReportCode::StackOverflow, "StackOverflow", OverflowStack, true},
    };
    return mistakes;
}

}  // namespace anti_patterns
