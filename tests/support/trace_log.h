// Collects the calls of the trace hooks, in order.
#pragma once

#include "weft/options.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace test {

using Traced = weft::TraceKind;
/// TraceLog records the first kinds: from TaskBegin to Unpark.
inline constexpr int kTracedKinds = 8;

struct LoggedEvent {
    Traced kind;
    weft::TraceEvent event;
    std::string task;  ///< "-" if there was none
};

/// The events of one worker are in their order. Events of several workers are in the order in which
/// they took the lock.
class TraceLog {
public:
    /// `kinds`: see TraceHooks::kinds.
    void AttachTo(weft::SchedulerOptions &options, uint32_t kinds = (1u << kTracedKinds) - 1);
    /// Returns `options` with this log.
    weft::SchedulerOptions In(weft::SchedulerOptions options,
                              uint32_t kinds = (1u << kTracedKinds) - 1) {
        AttachTo(options, kinds);
        return options;
    }

    std::vector<LoggedEvent> Events() const;
    /// The events of one kind.
    std::vector<LoggedEvent> Events(Traced kind) const;
    size_t CountOf(Traced kind) const { return Events(kind).size(); }
    void Clear();

    /// Called in each hook, after the event has been recorded.
    std::function<void(Traced kind, const weft::TraceEvent &event)> also;

private:
    static void Capture(const weft::TraceEvent &event, void *user);
    mutable std::mutex m_mutex;
    std::vector<LoggedEvent> m_events;
};

/// Returns what is wrong with the order of events, one finding a line; empty if nothing is. For
/// each fiber, TaskBegin and TaskEnd must nest with the same name, and each wait must be followed
/// by its Resume. For each worker, each FiberSwitch must leave the fiber to which the last one
/// went, all events must be of that fiber, and park and unpark must alternate.
std::string Inconsistencies(const std::vector<LoggedEvent> &events);

}  // namespace test
