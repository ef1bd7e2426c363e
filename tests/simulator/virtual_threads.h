// Virtual threads under a seeded scheduler.
//
// A schedule is a function of its seed alone. Every other seed follows probabilistic concurrency
// testing (S. Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding
// bugs", ASPLOS 2010): every thread has a random priority, the highest runs, and at 1 to 7 random
// steps, within the first 32 to 4,096, the running one becomes the lowest. The others are random
// walks. A thread that pauses, or that ran for long, also becomes the lowest: spin loops are fair
// in the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace simulator {

/// That one schedule may have.
inline constexpr uint32_t kMaxThreads = 40;

/// What one schedule did.
struct Outcome {
    std::string failure;  ///< empty: none
    uint64_t steps = 0;
    uint64_t hash = 0;  ///< of all choices: which thread went on at which step
    uint32_t threads = 0;
};

/// Runs `body` as virtual thread 0 until it and all threads that it starts have ended. `seed` 0 is
/// not allowed.
Outcome Explore(uint64_t seed, const std::function<void()> &body);

/// Ends the running schedule with a failure. From a virtual thread.
[[noreturn]] void Fail(const char *message);

inline void Check(bool condition, const char *message) {
    if (!condition) Fail(message);
}

/// From now on nobody may touch this memory with an atomic operation; up to 32 ranges a schedule.
void MarkDead(const void *address, size_t bytes);

/// Calls `observer` before every atomic operation of the rest of this schedule: it sees every value
/// that there ever is.
void Observe(std::function<void()> observer);

/// For observers: what that operation is about to touch; null if there is none.
const void *Accessed();

/// Only so many more threads can be started in this schedule.
void LimitThreads(uint32_t count);

/// The ticks begin anew, as after the machine was suspended; the clock goes on.
void RestartTicks();

/// A step takes a nanosecond, from here to the end of the schedule. For models of how long
/// something takes; first of all.
void CountNanoseconds();

/// The calling thread computes for so long. Others go on meanwhile, as on processors of their own.
void Compute(uint64_t microseconds);

/// From now on each step is printed when it is about to happen: its number, the thread, the access,
/// the place in the program.
void PrintSteps(bool printed);

/// Atomic operations that the calling virtual thread has made so far.
uint64_t OwnSteps();

/// The running virtual thread, and whether it is the only one so far.
uint32_t CurrentThread();
bool IsAlone();

/// A choice that was not one of threads makes the schedule another one.
void NoteChoice(uint32_t choice);

/// Random numbers of the schedule's seed.
uint32_t Random(uint32_t below);

}  // namespace simulator
