// Virtual threads under a seeded scheduler. A schedule depends on its seed only.
//
// Odd seeds use probabilistic concurrency testing (S. Burckhardt et al., "A randomized scheduler
// with probabilistic guarantees of finding bugs", ASPLOS 2010): each thread has a random priority,
// and the highest one runs. At 1 to 7 random steps, within the first 32 to 4,096, the running
// thread gets the lowest priority. Even seeds are random walks. A thread that pauses or has run for
// long also gets the lowest priority, so that spin loops end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace simulator {

/// Virtual threads in one schedule, at most.
inline constexpr uint32_t kMaxThreads = 40;

/// The result of one schedule.
struct Outcome {
    std::string failure;  ///< empty: none
    uint64_t steps = 0;
    uint64_t hash = 0;  ///< of all choices: which thread continued at which step
    uint32_t threads = 0;
};

/// Runs `body` as virtual thread 0 until it and all threads that it has started have ended. `seed`
/// must not be 0.
Outcome Explore(uint64_t seed, const std::function<void()> &body);

/// Ends the running schedule with a failure. Called by virtual threads.
[[noreturn]] void Fail(const char *message);

inline void Check(bool condition, const char *message) {
    if (!condition) Fail(message);
}

/// From now on an atomic operation on this memory ends the schedule with a failure. The last 32
/// such ranges of a schedule count.
void MarkDead(const void *address, size_t bytes);

/// Calls `observer` before each atomic operation in the rest of this schedule. So it sees each
/// value that an atomic variable takes.
void Observe(std::function<void()> observer);

/// The address that the observed operation is about to access, or null. Called by observers.
const void *Accessed();

/// Only `count` more threads can be started in this schedule.
void LimitThreads(uint32_t count);

/// Restarts the tick counter, as after a suspend of the machine. The clock (Now) continues.
void RestartTicks();

/// A step takes a nanosecond from here to the end of the schedule. For models that measure
/// durations. Call it first.
void CountNanoseconds();

/// The calling thread computes for so long. Meanwhile the other threads continue, as if each had
/// its own processor.
void Compute(uint64_t microseconds);

/// From now on each step is printed before it happens: its number, the thread, the access, and the
/// place in the program.
void PrintSteps(bool printed);

/// The number of atomic operations that the calling virtual thread has made so far.
uint64_t OwnSteps();

/// The running virtual thread, and whether it is the only one so far.
uint32_t CurrentThread();
bool IsAlone();

/// Adds a choice other than the next thread to the hash of the schedule.
void NoteChoice(uint32_t choice);

/// A random number below `below`, from the schedule's seed.
uint32_t Random(uint32_t below);

}  // namespace simulator
