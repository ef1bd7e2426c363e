// Models of weft/data/result.h.
#include "simulator/sync_support.h"
#include "weft/data/result.h"

#include <functional>

namespace simulator {

namespace {

// Two tasks and a thread set a result, and two tasks and the thread wait for it. Exactly one of
// them may set it. All waits must return this value and see what its setter wrote before. Then the
// result is destroyed. Shows lost wake-ups and accesses after the destruction.
void ResultWait() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<Result<uint32_t>> result;
        Cell written[3];
        uint32_t winners = 0, ended = 0;
        const auto set = [&](uint32_t index) {
            written[index].Set(1);
            winners += result->TrySet(scheduler, index) ? 1 : 0;
        };
        const auto see = [&] {
            const uint32_t index = result->Get(scheduler);
            Check(index < 3 && written[index].Get() == 1,
                  "a wait does not see what the setter wrote");
            ++ended;
        };
        auto setFirst = [&](TaskScheduler *) { set(0); };
        auto setSecond = [&](TaskScheduler *) { set(1); };
        auto wait = [&](TaskScheduler *) { see(); };
        auto waitInTime = [&](TaskScheduler *running) {
            result->WaitFor(*running, Soon());
            see();
        };
        RunningThread thread([&] {
            set(2);
            see();
        });
        Counter counter;
        const Task tasks[4] = {MakeTask(wait), MakeTask(waitInTime), MakeTask(setFirst),
                               MakeTask(setSecond)};
        scheduler.AddTasks(4, tasks, &counter);
        scheduler.WaitForCounter(&counter);
        thread.Join();
        Check(ended == 3 && winners == 1, "a wait did not end, or two set the result");
        result.Die();
    });
}

// A task and a thread set the two inputs of a task, one of them perhaps as an exception. A waiter
// destroys all of them as soon as the output is known. The task must not begin early, must run at
// most once, and must not use an input or the output afterwards.
void ResultFlow() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<Result<uint32_t>> inputs[2], output;
        Cell written[2];
        uint32_t called = 0, ended = 0;
        const bool fails = Random(3) == 0;
        // The inputs may be gone when their setters return, but not before the setters have been
        // called.
        const auto set = [&](uint32_t index) {
            written[index].Set(1);
            if (fails && index == 1) {
                inputs[1]->SetException(scheduler, std::make_exception_ptr(1u));
            } else {
                inputs[index]->Set(scheduler, index + 1);
            }
        };
        auto add = [&](uint32_t &a, uint32_t &b) {
            Check(written[0].Get() == 1 && written[1].Get() == 1, "the task began too early");
            ++called;
            return 10 * a + b;
        };
        auto first = [&](TaskScheduler *) { set(0); };
        auto wait = [&](TaskScheduler *running) {
            uint32_t value = 0;
            try {
                value = output->Get(*running);
            } catch (uint32_t thrown) {
                value = 100 + thrown;
            }
            Check(value == (fails ? 101u : 12u), "the output is wrong");
            for (Mortal<Result<uint32_t>> &input : inputs) {
                input->Reset();
                input.Die();
            }
            output->Reset();
            output.Die();
            ++ended;
        };
        RunningThread thread([&] { set(1); });
        Counter counter;
        const Task tasks[2] = {MakeTask(first), MakeTask(wait)};
        const uint32_t before = Random(2);  // whether the first input is set before or after
        scheduler.AddTasks(before, tasks, &counter);
        Check(AddTaskWhen(scheduler, std::ref(add), *output, *inputs[0], *inputs[1]),
              "AddTaskWhen failed");
        scheduler.AddTasks(2 - before, tasks + before, &counter);
        scheduler.WaitForCounter(&counter);
        thread.Join();
        Check(ended == 1 && called == (fails ? 0u : 1u), "the task ran twice or never");
    });
}

}  // namespace

std::vector<Model> ResultModels() {
    return {
        {"result_wait", "two tasks and a thread set a result; others wait for it and destroy it",
         ResultWait},
        {"result_flow", "a task with two inputs; its waiter destroys them", ResultFlow},
    };
}

}  // namespace simulator
