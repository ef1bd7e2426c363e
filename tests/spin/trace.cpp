// trace RUNS: prints C tables of the values that a counter's word has in so many different runs of the production sources
// under the simulator's scheduler, for wait.pml to follow. The threads are those of the model, within its default bounds.
#include "mechanisms/counter_waiting.h"
#include "platform/env.h"
#include "simulator/virtual_threads.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

namespace {

using namespace weft::internal;

constexpr uint32_t kFibers = 2, kDecrements = 2, kAdders = 1;

using Values = std::vector<uint32_t>;

// As wait.pml packs it: the scheduler's tag is left out.
uint32_t Pack(CounterWord word) {
    return word.Count() * 64 + word.Head() * 4 + (word.IsSorting() ? 2 : 0) + (word.IsEager() ? 1 : 0);
}

void Waiter(CounterWaiting &waiting, CounterStorage &word, uint32_t fiber, uint32_t target) {
    if (!CounterWord{word.load(kAcquire)}.Satisfies(target)) waiting.Register(word, fiber, target);
}

void Decrement(CounterWaiting &waiting, CounterStorage &word) {
    if (waiting.TryDecrement(word, 1)) return;
    uint32_t woken = 0;
    simulator::Check(waiting.Decrement(word, 1, woken) == CounterResult::Ok, "a decrement was refused");
    while (woken != 0) waiting.NextOwner(woken);
}

// One run, with the values that the word has one after the other.
void Run(Values &values) {
    CounterWaiting waiting;
    simulator::Check(waiting.Acquire(kFibers, 1), "no memory");
    CounterStorage word(uint64_t{kDecrements + kAdders} << 32);
    const auto note = [&] {
        const uint32_t now = Pack({word.Peek()});
        if (values.empty() || values.back() != now) values.push_back(now);
    };
    simulator::Observe(note);

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
    std::vector<weft::env::Thread> threads(works.size());
    for (size_t i = 0; i < works.size(); ++i) {
        threads[i].Start([](void *work) { (*static_cast<std::function<void()> *>(work))(); }, &works[i], 0);
    }
    for (weft::env::Thread &thread : threads) thread.Join();
    note();
    simulator::Observe(nullptr);
}

void Print(const std::set<Values> &traces) {
    size_t longest = 0;
    for (const Values &trace : traces) longest = trace.size() > longest ? trace.size() : longest;
    std::printf("#define TRACE_COUNT %zu\nstatic const int lengths[] = {", traces.size());
    for (const Values &trace : traces) std::printf("%zu, ", trace.size());
    std::printf("};\nstatic const short traces[][%zu] = {\n", longest);
    for (const Values &trace : traces) {
        std::printf("    {");
        for (const uint32_t value : trace) std::printf("%u, ", value);
        std::printf("},\n");
    }
    std::printf("};\n");
}

}  // namespace

int main(int argc, char **argv) {
    const size_t runs = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
    std::set<Values> traces;
    for (uint64_t seed = 1; traces.size() < runs && seed < runs * 1000; ++seed) {
        Values values;
        const simulator::Outcome outcome = simulator::Explore(seed, [&] { Run(values); });
        if (!outcome.failure.empty()) {
            std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.failure.c_str());
            return 1;
        }
        traces.insert(values);
    }
    Print(traces);
}
