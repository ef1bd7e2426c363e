// What the trace programs (tests/spin/*_trace.cpp) share: so many different runs of production
// sources under the simulator's scheduler, printed as C tables of the values that were observed,
// for a model to follow (follow.pml).
#pragma once

#include "simulator/virtual_threads.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace traces {

/// What was observed in one run: each value that differs from the one before.
class Trace {
public:
    /// From now on `observe` is asked before every atomic operation, up to End.
    void Begin(std::function<uint32_t()> observe);
    void Note();  ///< in addition, now
    void End();   ///< what comes after it is no part of the trace
    /// From `observe`: what it returns now is the last value. For a run that must not go on from
    /// here.
    void EndsHere() { m_endsHere = true; }

    bool HasEnded() const { return m_ended; }
    const std::vector<uint32_t> &Values() const { return m_values; }

private:
    std::function<uint32_t()> m_observe;
    std::vector<uint32_t> m_values;
    bool m_endsHere = false, m_ended = false;
};

/// Starts these as virtual threads, and joins them.
void RunAll(std::vector<std::function<void()>> &works);

/// The rest of main: PROGRAM RUNS [MUTANT [...]]. A schedule that fails ends it; a mutant's may
/// fail once the trace has ended.
int Print(int argc, char **argv, const std::function<void(Trace &)> &run);

}  // namespace traces
