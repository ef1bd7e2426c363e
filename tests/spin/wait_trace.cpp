// wait_trace RUNS: traces for wait.pml: the values of a counter's word. The threads are those of
// the model within its default bounds. The waiters only register and do not continue.
#include "core/counters.h"
#include "platform/env.h"
#include "spin/traces.h"

namespace {

using namespace weft::internal;

constexpr uint32_t kFibers = 2, kDecrements = 2, kAdders = 1;

// The word, packed as in wait.pml.
uint32_t Pack(CounterWord word) {
    return word.Count() * 8 + (word.Head() != 0 ? 4 : 0) + (word.IsLocked() ? 2 : 0) +
           (word.IsEager() ? 1 : 0);
}

void Waiter(Counters &counters, CounterStorage &word, uint32_t fiber, uint32_t target) {
    if (CounterWord{word.load(kAcquire)}.Count() > target)
        counters.Register(word, fiber, target, weft::Priority::Normal);
}

void Lower(Counters &counters, CounterStorage &word) {
    if (counters.LowerPlain(word, 1)) return;
    simulator::Check(counters.Lower(word, 1, kNoCache, [](uint32_t) {}) == CounterResult::Ok,
                     "a decrement was refused");
}

void Run(traces::Trace &trace) {
    Counters counters;
    simulator::Check(counters.Acquire(kFibers, 0), "no memory");
    CounterStorage word(uint64_t{kDecrements + kAdders} << 32);
    trace.Begin([&] { return Pack({word.Peek()}); });

    std::vector<std::function<void()>> works;
    works.push_back([&] { Waiter(counters, word, 0, 0); });
    const uint32_t target = 1 + simulator::Random(2);
    works.push_back([&, target] { Waiter(counters, word, 1, target); });
    for (uint32_t i = 0; i < kDecrements; ++i) works.push_back([&] { Lower(counters, word); });
    works.push_back([&] {
        simulator::Check(counters.Add(word, 1) == CounterResult::Ok, "an addition was refused");
        Lower(counters, word);
        Lower(counters, word);
    });
    works.push_back([&] { counters.Remove(word, 1); });
    traces::RunAll(works);
    trace.End();
}

}  // namespace

int main(int argc, char **argv) { return traces::Print(argc, argv, Run); }
