// wait_trace RUNS: traces for wait.pml: the values of a counter's word. The threads are those of
// the model within its default bounds. The waiters only register and do not continue.
#include "core/counter_waiting.h"
#include "platform/env.h"
#include "spin/traces.h"

namespace {

using namespace weft::internal;

constexpr uint32_t kFibers = 2, kDecrements = 2, kAdders = 1;

// The word, packed as in wait.pml, without the scheduler's tag.
uint32_t Pack(CounterWord word) {
    return word.Count() * 64 + word.Head() * 4 + (word.IsSorting() ? 2 : 0) +
           (word.IsEager() ? 1 : 0);
}

void Waiter(CounterWaiting &waiting, CounterStorage &word, uint32_t fiber, uint32_t target) {
    if (!CounterWord{word.load(kAcquire)}.Satisfies(target)) waiting.Register(word, fiber, target);
}

void Decrement(CounterWaiting &waiting, CounterStorage &word) {
    if (waiting.TryDecrement(word, 1)) return;
    uint32_t woken = 0;
    simulator::Check(waiting.Decrement(word, 1, woken) == CounterResult::Ok,
                     "a decrement was refused");
    while (woken != 0) waiting.NextOwner(woken);
}

void Run(traces::Trace &trace) {
    CounterWaiting waiting;
    simulator::Check(waiting.Acquire(kFibers, 1), "no memory");
    CounterStorage word(uint64_t{kDecrements + kAdders} << 32);
    trace.Begin([&] { return Pack({word.Peek()}); });

    std::vector<std::function<void()>> works;
    works.push_back([&] { Waiter(waiting, word, 0, 0); });
    const uint32_t target = 1 + simulator::Random(2);
    works.push_back([&, target] { Waiter(waiting, word, 1, target); });
    for (uint32_t i = 0; i < kDecrements; ++i) works.push_back([&] { Decrement(waiting, word); });
    works.push_back([&] {
        simulator::Check(waiting.Add(word, 1) == CounterResult::Ok, "an addition was refused");
        Decrement(waiting, word);
        Decrement(waiting, word);
    });
    traces::RunAll(works);
    trace.End();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
