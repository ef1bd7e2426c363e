// A machine in virtual time. It runs the sources of the scheduler on up to 128 virtual cores. Each
// core has one thread and a clock. Results do not depend on the real machine or on chance: equal
// programs give equal figures.
//
// The core with the earliest clock runs until its next atomic operation. A model of a coherent
// cache gives its cost: `operation` for each one, and `update` more for a read-modify-write. A
// `transfer` is added if the core must fetch the line from another core, or must take copies away
// from other cores in order to write. A core that fetches a line to write it keeps it for `hold`;
// other transfers of the line wait until then. Memory that is not atomic costs nothing.
//
// The cores may lie in several cache domains. A transfer between two domains costs more. Some cores
// may be slow: everything takes longer on them, except transfers and the time until a woken core
// continues (`wakeUp`).
#pragma once

#include <cstdint>
#include <functional>

namespace machine {

/// The costs of the model, in nanoseconds.
struct Costs {
    double operation = 1;  ///< an atomic operation, with the instructions around it
    double update = 2;     ///< a read-modify-write, on top of that
    double transfer = 80;  ///< a cache line that comes from another core, or is taken from others
    double hold = 10;      ///< how long a core keeps a line that it has fetched to write
    double wake = 1500;    ///< cost for the core that wakes another
    double wakeUp = 4000;  ///< from the end of `wake` until the woken core continues
    double pause = 15;     ///< one turn of a spin loop

    uint32_t domainCores = 0;  ///< consecutive cores that share a cache (a domain); 0: all
    double farTransfer = 120;  ///< a cache line from another domain, or taken from one there
    uint32_t firstSlow = ~0u;  ///< this core and all later ones are slow
    double slowness = 2;       ///< factor by which a slow core takes longer

    /// The speed of the first `cores` cores together, in fast cores.
    double Speed(uint32_t cores) const {
        const uint32_t fast = cores < firstSlow ? cores : firstSlow;
        return fast + (cores - fast) / slowness;
    }
};

/// Numbers of what all cores did.
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

/// Runs `body` on core 0. Returns when it and all threads that it has started have ended. A new
/// thread gets the first core that has no thread, or whose thread has been joined. Aborts if all
/// cores sleep.
void Run(const Costs &costs, const std::function<void()> &body);

// Call the following only from `body`, or from code and threads that it starts.

/// The calling core computes for this time.
void Work(double nanoseconds);

/// The calling core's clock, in nanoseconds.
double Now();

Counts Total();

/// Removes these lines from all caches. The next access to each of them costs no transfer.
void Forget(const void *memory, size_t bytes);

}  // namespace machine
