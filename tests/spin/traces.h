// Helpers for the trace programs (tests/spin/*_trace.cpp). They run production sources under the
// simulator and print a number of different traces as C tables, which a model follows (follow.pml).
#pragma once

#include "simulator/virtual_threads.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace traces {

/// The trace of one run: each observed value that differs from the previous one.
class Trace {
public:
    /// From now on, until End, calls `observe` before each atomic operation.
    void Begin(std::function<uint32_t()> observe);
    void Note();  ///< observes once more, now
    void End();   ///< the rest of the run does not belong to the trace
    /// Called in `observe`: the value that it returns now is the last one. For a run that must not
    /// continue from here.
    void EndsHere() { m_endsHere = true; }

    bool HasEnded() const { return m_ended; }
    const std::vector<uint32_t> &Values() const { return m_values; }

private:
    std::function<uint32_t()> m_observe;
    std::vector<uint32_t> m_values;
    bool m_endsHere = false, m_ended = false;
};

/// Runs these as virtual threads, and joins them.
void RunAll(std::vector<std::function<void()>> &works);

/// The rest of main: PROGRAM RUNS [MUTANT [...]]. A schedule that fails ends the program. With a
/// mutant it may fail after the end of the trace; one that fails before is left out.
int Print(int argc, char **argv, const std::function<void(Trace &)> &run);

}  // namespace traces
