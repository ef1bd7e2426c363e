// Models of the counter alone. Virtual threads call it directly, without a scheduler.
#include "core/counter_waiting.h"
#include "simulator/crew.h"
#include "simulator/models.h"
#include "simulator/weak_memory.h"

#include <algorithm>

namespace simulator {

namespace {

using namespace weft::internal;

// Threads register waiters with random targets, decrement the counter and add to it. An observer
// sees each value of the count. A waiter must be notified exactly once if its target was reached
// while it was registered, and otherwise not before the end.
void Counters() {
    constexpr uint32_t kWaiters = 4;
    CounterWaiting waiting;
    Check(waiting.Acquire(kWaiters, 1), "no memory");
    CounterStorage word(uint64_t{5} << 32);
    uint32_t target[kWaiters], lowest[kWaiters], woken[kWaiters] = {};
    bool registered[kWaiters] = {};

    Observe([&] {
        const uint32_t count = CounterWord{word.Peek()}.Count();
        for (uint32_t i = 0; i < kWaiters; ++i) {
            if (registered[i]) lowest[i] = std::min(lowest[i], count);
        }
    });
    const auto wait = [&](uint32_t waiter) {
        target[waiter] = Random(4);
        // Values from before the registration do not count. Register itself checks the value that
        // its CAS replaces.
        lowest[waiter] = ~0u;
        registered[waiter] = true;
        if (waiting.Register(word, waiter, target[waiter]) ==
            CounterWaiting::Registration::Satisfied) {
            registered[waiter] = false;
            ++woken[waiter];
            // With weak memory, Register may have used a value from before the registration.
            if (weak::g_orders != nullptr) lowest[waiter] = ~0u;
        }
    };
    const auto lower = [&](uint32_t n) {
        uint32_t list = 0;
        Check(waiting.Decrement(word, n, list) == CounterResult::Ok, "a decrement was refused");
        while (list != 0) {
            const uint32_t waiter = waiting.NextOwner(list);
            Check(++woken[waiter] == 1, "a waiter was woken twice");
        }
    };
    wait(0);
    wait(1);
    Crew crew;
    crew.Start([&] {
        lower(2);
        lower(1);
    });
    crew.Start([&] {
        lower(1);
        const uint32_t n = 1 + Random(2);
        Check(waiting.TryAdd(word, n) || waiting.Add(word, n) == CounterResult::Ok,
              "an addition was refused");
        lower(1);
    });
    crew.Start([&] {
        wait(2);
        wait(3);
    });
    crew.RunAll();
    const CounterWord left{word.load(kRelaxed)};
    Check(!left.IsSorting(), "the counter stays busy");
    for (uint32_t i = 0; i < 2; ++i) {  // registered before anything else happened
        if (lowest[i] <= target[i])
            Check(woken[i] == 1, "lost wake-up: a passed value was missed");
        else
            Check(woken[i] == 0, "woken before the counter reached the target");
    }
    for (uint32_t i = 2; i < kWaiters; ++i) {
        if (left.Count() <= target[i]) Check(woken[i] == 1, "lost wake-up in wait");
        if (lowest[i] > target[i] && lowest[i] != ~0u)
            Check(woken[i] == 0, "woken before the counter reached the target");
    }
    if (left.Count() != 0) lower(left.Count());
    for (uint32_t count : woken) Check(count == 1, "not every waiter was woken at zero");
}

// The waiter for zero frees the counter at once. Shows an access to the counter after the decrement
// that reached zero.
void CounterLifetime() {
    CounterWaiting waiting;
    Check(waiting.Acquire(2, 1), "no memory");
    CounterStorage word(uint64_t{3} << 32);
    bool dead = false;
    const auto die = [&] {
        Check(!dead, "two waiters for zero");
        dead = true;
        MarkDead(&word, sizeof word);
    };
    const auto lower = [&](uint32_t n) {
        uint32_t list = 0;
        Check(waiting.Decrement(word, n, list) == CounterResult::Ok, "a decrement was refused");
        while (list != 0) {
            if (waiting.NextOwner(list) == 0) die();
        }
    };
    Check(waiting.Register(word, 1, 1 + Random(2)) == CounterWaiting::Registration::Waiting,
          "satisfied too early");
    Crew crew;
    crew.Start([&] { lower(1); });
    crew.Start([&] { lower(1); });
    crew.Start([&] { lower(1); });
    crew.Start([&] {
        if (waiting.Register(word, 0, 0) == CounterWaiting::Registration::Satisfied) die();
    });
    crew.RunAll();
    Check(dead, "lost wake-up in wait");
}

}  // namespace

std::vector<Model> CounterModels() {
    return {
        {"counter", "waiters with targets, decrements, additions", Counters},
        {"counter_lifetime", "a counter that is destroyed at zero", CounterLifetime},
    };
}

}  // namespace simulator
