// A machine in virtual time: the scheduler's own sources on up to 128 virtual cores, one thread each, and a clock for
// every core. Nothing here depends on the machine that runs it, nor on chance: equal programs give equal figures.
//
// The core with the earliest clock goes on, up to its next atomic operation. What that costs follows from a model of a
// coherent cache: an operation on a line that the core holds already, a read-modify-write more, and a line that another
// core has written, or has to lose, a transfer; transfers of one line to write it wait for each other. Memory that is not atomic costs nothing.
//
// The cores may lie in several cache domains: then a transfer costs more if a core of another domain takes part. Some cores may be slow:
// all that they do takes longer, but for transfers and wake-ups.
#pragma once

#include <cstdint>
#include <functional>

namespace machine {

/// Nanoseconds.
struct Costs {
    double operation = 1;  ///< an atomic operation, with the instructions around it
    double update = 2;     ///< a read-modify-write, on top of that
    double transfer = 80;  ///< a cache line that comes from another core, or is taken from others
    double hold = 10;      ///< for which a core keeps a line that it has fetched to write
    double wake = 1500;    ///< for who wakes a sleeping core
    double wakeUp = 4000;  ///< from then until that core goes on
    double pause = 15;     ///< one turn of a spin loop

    uint32_t domainCores = 0;  ///< so many cores after each other share a cache; 0: all do
    double farTransfer = 120;  ///< a cache line from another domain, or taken from one there
    uint32_t firstSlow = ~0u;  ///< this core and the later ones are slow
    double slowness = 2;       ///< a slow core takes so many times as long

    /// How many fast cores do as much as the first `cores` ones.
    double Speed(uint32_t cores) const {
        const uint32_t fast = cores < firstSlow ? cores : firstSlow;
        return fast + (cores - fast) / slowness;
    }
};

/// What all cores did.
struct Counts {
    uint64_t operations = 0;
    uint64_t updates = 0;
    uint64_t transfers = 0;
    uint64_t wakes = 0;

    Counts operator-(const Counts &other) const {
        return {operations - other.operations, updates - other.updates, transfers - other.transfers,
                wakes - other.wakes};
    }
};

/// Runs `body` on core 0 until it and all threads that it starts have ended; each thread has the first core that has none,
/// or whose thread was joined. Aborts if all sleep.
void Run(const Costs &costs, const std::function<void()> &body);

// From the body and what it calls only.

/// The calling core computes for so long.
void Work(double nanoseconds);

/// The calling core's clock, in nanoseconds.
double Now();

Counts Total();

/// Nobody holds lines of this memory any more.
void Forget(const void *memory, size_t bytes);

}  // namespace machine
