// The state of a run with SchedulerOptions::order, in which a random generator makes choices of the
// scheduler. policy/ordered.h has the choices.
//
// Terms:
// - An order is the number in the options. Its low half is the seed of the generator. Its high half
//   is 0 (no limit), or the limit of the drawn choices, plus one.
// - A pick takes a task or fiber that runs next.
// - A choice has several possible results. The usual result is the one of a run without an order.
// - The first choices, up to the limit, are drawn. Each later one has the usual result. So an order
//   can be shortened: with a smaller limit, more choices have the usual result.
// - Time is virtual. Each pick and each read of the clock adds kTick. When a deadline falls due,
//   time jumps to it.
//
// Only one thread runs tasks, because there are no workers and one attached thread. So the same
// order gives the same run, unless tasks depend on something outside.
#pragma once

#include "platform/compiler.h"
#include "scheduler/state/scheduler.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weft::internal {

/// The number of runs with an order in this process. relaxed: the thread that begins a run reads it
/// again only later, and other threads do not take part.
inline std::atomic<uint32_t> orderedRuns{0};
/// A quick check for calls that do not know their scheduler's state.
inline bool AnyOrdered() noexcept { return orderedRuns.load(std::memory_order_relaxed) != 0; }

struct Order {
    static constexpr uint64_t kTick = 1'000;               // ns
    static constexpr uint64_t kStart = 3'600'000'000'000;  // the time at the start, in ns
    // A deadline that is further in the future falls due only when nothing else can run.
    static constexpr uint64_t kNear = 1'000'000'000;
    // A run that has picked so many pieces of work is taken for one that never ends.
    static constexpr uint64_t kMostPicks = 2'000'000;

    bool isGivenUp = false;  // the run has stalled or does not end, and the host continues
    bool tells = true;       // report a stall
    Fiber *host = nullptr;   // continues after a stall, see api/orders.cpp; null: none does
    uint64_t limit = 0;      // so many choices are drawn
    uint64_t choices = 0;    // the number of choices so far
    uint64_t picks = 0;
    uint64_t now = kStart;  // virtual time, in ns
    uint64_t settled = 0;   // deadlines up to this one are due; TellDue sets it to 0 again
    uint64_t state = 0;     // of the generator
    // Chances in 256, different for each seed: that a drawn choice has the usual result, that a
    // near deadline falls due before other work, and that a task which could go on lets other work
    // go first. Some bugs need many unusual choices, others need one among many usual ones.
    uint32_t usual = 0, early = 0, yields = 0;

    void Begin(uint64_t order) noexcept {
        limit = order >> 32 != 0 ? (order >> 32) - 1 : ~uint64_t{0};
        state = order & 0xffff'ffff;
        constexpr uint32_t kUsual[] = {0, 0, 128, 224};
        constexpr uint32_t kEarly[] = {4, 16, 64, 128};
        constexpr uint32_t kYields[] = {16, 64, 128, 128};
        usual = kUsual[Next() % 4];
        early = kEarly[Next() % 4];
        yields = kYields[Next() % 4];
    }

    /// Returns a number below `count`, which is at least 1. 0 is the usual result.
    uint64_t Choose(uint64_t count) noexcept {
        if (count == 1 || choices++ >= limit) return 0;
        const uint64_t drawn = Next();
        return drawn % 256 < usual ? 0 : (drawn >> 8) % count;
    }
    /// Returns true with this chance in 256. False is the usual result.
    bool Draw(uint32_t chance) noexcept { return choices++ < limit && Next() % 256 < chance; }

    uint64_t ReadClock() noexcept { return now += kTick; }
    /// Lets the deadline fall due.
    void PassTo(uint64_t deadline) noexcept { settled = now = std::max(now, deadline); }

private:
    // splitmix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
    // OOPSLA 2014.
    uint64_t Next() noexcept {
        uint64_t z = state += 0x9e37'79b9'7f4a'7c15;
        z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
        z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
        return z ^ (z >> 31);
    }
};

inline bool IsOrdered(const Scheduler &scheduler) noexcept {
    return WEFT_UNLIKELY(scheduler.order != nullptr);
}
/// Returns the time. With an order it is virtual.
inline uint64_t TimeOf(Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) ? scheduler.order->ReadClock() : env::Now();
}
/// Returns true if the run has been given up. Tasks that are left never run again.
inline bool IsGivenUp(const Scheduler &scheduler) noexcept {
    return IsOrdered(scheduler) && scheduler.order->isGivenUp;
}

}  // namespace weft::internal
