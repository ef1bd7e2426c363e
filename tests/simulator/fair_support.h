// Helpers for models that measure how long something takes. Time is virtual: tasks compute for a
// number of microseconds, and a step takes a nanosecond.
#pragma once

#include "simulator/model_support.h"
#include "simulator/weak_memory.h"

namespace simulator {

inline constexpr uint64_t kUs = 1000;  // nanoseconds

// A worker rests for so long at most before it steals again, if its loot was not tiny.
inline constexpr uint64_t kThiefRests = 4 * kUs;

inline SchedulerOptions FairOptions(uint32_t workers) {
    CountNanoseconds();
    SchedulerOptions options = Options(workers, 36);
    options.idle = IdlePolicy::Sleep;  // a search takes steps, and so virtual time
    return options;
}

// Submits `count` tasks that are the same, as one batch or one by one.
template <class F>
void AddMany(TaskScheduler *scheduler, bool isBatch, uint32_t count, F &callable,
             Counter *counter) {
    if (isBatch) return AddBatch(scheduler, count, callable, counter);
    while (count-- != 0) scheduler->AddTask(MakeTask(callable), counter);
}

// Computes and yields in turn until `over`.
inline void YieldUntil(const bool &over, TaskScheduler *scheduler, uint64_t microseconds) {
    while (!over) {
        Compute(microseconds);
        scheduler->Yield();
    }
}

// Measures how long it takes from a request (Ask) until its task begins (Begin).
struct Event {
    uint64_t asked = 0;
    uint64_t late = ~uint64_t{0};
    bool over = false;
    void Ask() { asked = weft::env::Now(); }
    void Begin() {
        late = weft::env::Now() - asked;
        over = true;
    }
};

// Checks a bound of time that depends on a hint to another thread. Memory orders do not bound when
// a hint becomes visible, so this is not checked with --weak.
inline void CheckSoon(bool isSoon, const char *what) {
    Check(isSoon || weak::g_orders != nullptr, what);
}

}  // namespace simulator
