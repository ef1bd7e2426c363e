// For models of how long anything waits at most. In virtual time: tasks compute for so many
// microseconds, and a step takes a nanosecond.
#pragma once

#include "simulator/model_support.h"
#include "simulator/weak_memory.h"

namespace simulator {

inline constexpr uint64_t kUs = 1000;  // nanoseconds

inline SchedulerOptions FairOptions(uint32_t workers) {
    CountNanoseconds();
    SchedulerOptions options = Options(workers, 32, 4);
    options.idle = IdlePolicy::Sleep;  // who searches makes steps, and time pass
    return options;
}

inline TaskOptions Of(Priority priority) {
    return {priority, StackClass::Small, kAnyWorker, nullptr};
}

// When it was asked for, and how long it took to begin.
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

// How soon another thread sees a hint, memory orders do not say: with --weak a bound of time that
// rests on one is not checked.
inline void CheckSoon(bool isSoon, const char *what) {
    Check(isSoon || weak::g_orders != nullptr, what);
}

}  // namespace simulator
