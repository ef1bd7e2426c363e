// Collects what the trace hooks tell, in its order.
#pragma once

#include "weft/options.h"

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace test {

enum class Traced : uint8_t { TaskBegin, TaskEnd, FiberSwitch, Submit, Wait, Resume, Park, Unpark };
inline constexpr int kTracedKinds = 8;

struct LoggedEvent {
    Traced kind;
    weft::TraceEvent event;
    std::string task;  ///< "-" if there was none
};

/// One worker's events are in their order; those of several as they took the lock.
class TraceLog {
public:
    void AttachTo(weft::SchedulerOptions &options);

    std::vector<LoggedEvent> Events() const;
    /// Those of one kind.
    std::vector<LoggedEvent> Events(Traced kind) const;
    size_t CountOf(Traced kind) const { return Events(kind).size(); }
    void Clear();

    /// Called in each hook, after the event was noted.
    std::function<void(Traced kind, const weft::TraceEvent &event)> also;

private:
    template <Traced kKind>
    static void Capture(const weft::TraceEvent &event, void *user);
    mutable std::mutex m_mutex;
    std::vector<LoggedEvent> m_events;
};

/// What is wrong with the order of events, one a line; empty if nothing is: per fiber, taskBegin
/// and taskEnd nest with the same name, and each wait is followed by its resume; per worker, each
/// fiberSwitch leaves the fiber that the last one went to, all events are of that fiber, and park
/// and unpark take turns.
std::string Inconsistencies(const std::vector<LoggedEvent> &events);

}  // namespace test
