// Models of the counter alone. Virtual threads call it directly, without a scheduler.
#include "core/counters.h"
#include "simulator/crew.h"
#include "simulator/models.h"
#include "simulator/weak_memory.h"

#include <algorithm>

namespace simulator {

namespace {

using namespace weft::internal;
using weft::Priority;
using Registration = Counters::Registration;

// A counter and some waiters. An observer sees each value of the count.
template <uint32_t kWaiters>
struct Waiters {
    struct Waiter {
        uint32_t target = 0;
        uint32_t lowest = ~0u;  // the lowest count since it was registered
        uint32_t woken = 0;
        bool isRegistered = false;
        bool isRemoved = false;
    };

    explicit Waiters(uint32_t count) : word(uint64_t{count} << 32) {
        Check(counters.Acquire(kWaiters, 1), "no memory");
        Observe([this] { Look(); });
    }
    void Look() {
        const CounterWord now{word.Peek()};
        for (Waiter &waiter : all) {
            if (waiter.isRegistered) waiter.lowest = std::min(waiter.lowest, now.Count());
        }
    }

    void Wait(uint32_t index, uint32_t target) {
        Waiter &waiter = all[index];
        waiter.target = target;
        // Values from before the registration do not count. Register itself checks the value that
        // its CAS replaces.
        waiter.lowest = ~0u;
        waiter.isRegistered = true;
        if (counters.Register(word, index, target, Priority::Normal) == Registration::Satisfied) {
            waiter.isRegistered = false;
            ++waiter.woken;
            // With weak memory, Register may have used a value from before the registration.
            if (weak::g_orders != nullptr) waiter.lowest = ~0u;
        }
    }
    void Lower(uint32_t n) {
        const auto ready = [this](uint32_t index) {
            Check(++all[index].woken == 1 && !all[index].isRemoved, "a waiter was woken twice");
        };
        Check(counters.Lower(word, n, weft::internal::kNoCache, ready) == CounterResult::Ok,
              "a decrement was refused");
    }
    void Raise(uint32_t n) {
        Check(counters.Add(word, n) == CounterResult::Ok, "an addition was refused");
    }
    void Remove(uint32_t index) {
        if (!counters.Remove(word, index)) return;
        Check(all[index].woken == 0 && !all[index].isRemoved, "a waiter was removed and woken");
        all[index].isRemoved = true;
    }

    // `atFirst` of them were registered before anything else happened. At the end the counter is
    // lowered to zero.
    void CheckAll(uint32_t atFirst) {
        const CounterWord left{word.load(kRelaxed)};
        Check(!left.IsLocked(), "the counter stays locked");
        for (uint32_t i = 0; i < kWaiters; ++i) {
            const Waiter &waiter = all[i];
            if (waiter.isRemoved) continue;
            const bool wasReached = waiter.lowest <= waiter.target;
            if (i < atFirst ? wasReached : left.Count() <= waiter.target)
                Check(waiter.woken == 1, "lost wake-up: a passed value was missed");
            if (!wasReached && waiter.lowest != ~0u)
                Check(waiter.woken == 0, "woken before the counter reached the target");
        }
        if (left.Count() != 0) Lower(left.Count());
        for (const Waiter &waiter : all)
            Check(waiter.woken + waiter.isRemoved == 1, "not every waiter was woken at zero");
        Check(CounterWord{word.load(kRelaxed)}.WithTag(0).bits == 0, "the word is not clean");
    }

    Counters counters;
    CounterStorage word;
    Waiter all[kWaiters];
};

// Threads register waiters with random targets, decrement the counter and add to it. A waiter must
// be notified exactly once if its target was reached while it was registered, and otherwise not
// before the end.
void CounterValues() {
    Waiters<4> waiters(5);
    waiters.Wait(0, Random(4));
    waiters.Wait(1, Random(4));
    Crew crew;
    crew.Start([&] {
        waiters.Lower(2);
        waiters.Lower(1);
    });
    crew.Start([&] {
        waiters.Lower(1);
        waiters.Raise(1 + Random(2));
        waiters.Lower(1);
    });
    crew.Start([&] {
        waiters.Wait(2, Random(4));
        waiters.Wait(3, Random(4));
    });
    crew.RunAll();
    waiters.CheckAll(2);
}

// A thread takes waiters off the list, as at a deadline, while others decrement the counter and
// register more. Each waiter is either removed or woken, and the others stay on the list.
void CounterRemoves() {
    Waiters<5> waiters(4);
    for (uint32_t i = 0; i < 3; ++i) waiters.Wait(i, Random(3));
    const uint32_t first = Random(3), second = Random(4);
    Crew crew;
    crew.Start([&] {
        waiters.Remove(first);
        if (second != first && second != 3) waiters.Remove(second);
    });
    crew.Start([&] {
        waiters.Lower(1);
        waiters.Raise(1);
        waiters.Lower(1);
    });
    crew.Start([&] {
        waiters.Lower(1);
        waiters.Lower(1);
    });
    crew.Start([&] {
        waiters.Wait(3, Random(3));
        waiters.Wait(4, 0);
    });
    crew.RunAll();
    waiters.CheckAll(3);
}

// The word says how high the highest waiter is, or higher, as long as the waiter is on the list.
void CounterBoost() {
    constexpr uint32_t kWaiters = 4;
    Counters counters;
    Check(counters.Acquire(kWaiters, 1), "no memory");
    CounterStorage word(uint64_t{3} << 32);
    bool isOn[kWaiters] = {};
    const auto priorityOf = [](uint32_t waiter) { return static_cast<Priority>(waiter % 3); };
    Observe([&] {
        for (uint32_t i = 0; i < kWaiters; ++i) {
            if (isOn[i])
                Check(CounterWord{word.Peek()}.HighestWaiter() <= priorityOf(i),
                      "the word hides a waiter's priority");
        }
    });
    const auto wait = [&](uint32_t i, uint32_t target) {
        isOn[i] = counters.Register(word, i, target, priorityOf(i)) == Registration::Waiting &&
                  i + 1 != kWaiters;  // the last one may be removed meanwhile
    };
    wait(0, 0);
    wait(1, Random(2));
    wait(3, Random(2));
    Crew crew;
    crew.Start([&] { counters.Remove(word, 3); });
    crew.Start([&] { wait(2, Random(2)); });
    crew.Start([&] { counters.Remove(word, 3); });
    crew.RunAll();
    // The list is taken by the CAS, before the owners are told.
    std::fill_n(isOn, kWaiters, false);
    counters.Lower(word, 1, weft::internal::kNoCache, [](uint32_t) {});
}

// The waiter for zero frees the counter at once. Shows an access to the counter after the decrement
// that reached zero.
void CounterLifetime() {
    Counters counters;
    Check(counters.Acquire(2, 1), "no memory");
    CounterStorage word(uint64_t{3} << 32);
    bool dead = false;
    const auto die = [&] {
        Check(!dead, "two waiters for zero");
        dead = true;
        MarkDead(&word, sizeof word);
    };
    const auto lower = [&] {
        const auto ready = [&](uint32_t owner) {
            if (owner == 0) die();
        };
        Check(counters.Lower(word, 1, weft::internal::kNoCache, ready) == CounterResult::Ok,
              "a decrement was refused");
    };
    Check(counters.Register(word, 1, 1 + Random(2), Priority::Normal) == Registration::Waiting,
          "satisfied too early");
    Crew crew;
    for (int i = 0; i < 3; ++i) crew.Start(lower);
    crew.Start([&] {
        if (counters.Register(word, 0, 0, Priority::Normal) == Registration::Satisfied) die();
    });
    crew.RunAll();
    Check(dead, "lost wake-up in wait");
}

}  // namespace

std::vector<Model> CounterModels() {
    return {
        {"counter", "waiters with targets, decrements, additions", CounterValues},
        {"counter_remove", "waiters are taken off while the counter is lowered", CounterRemoves},
        {"counter_boost", "the word's priority of the waiters", CounterBoost},
        {"counter_lifetime", "a counter that is destroyed at zero", CounterLifetime},
    };
}

}  // namespace simulator
