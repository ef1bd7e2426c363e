// Records the events of a run with weft's trace hooks.
#pragma once

#include <weft/hooks.h>

#include <memory>
#include <vector>

namespace frame {

struct Event {
    enum class Kind : uint8_t {
        FrameBegin,
        FrameEnd,
        Submit,  ///< right before all tasks of a stage are submitted
        Begin,   ///< a task begins on `fiber`
        End,
        Switch  ///< the worker switches to `fiber`
    };
    int64_t ns;
    Kind kind;
    uint32_t worker, fiber;
    const char *task;  ///< the name with which the task was submitted
};

/// Collects events. Each worker has a list of its own.
class Recorder {
public:
    /// `room` is the number of events for each worker that fit without an allocation during the
    /// run.
    Recorder(uint32_t workers, size_t room);

    /// Sets the hooks. The recorder must outlive the run.
    void AttachTo(weft::TraceHooks &hooks);

    /// Adds an event. Call it on the worker that it names.
    void Add(Event::Kind kind, uint32_t worker, uint32_t fiber, const char *task);

    /// Returns the events of all workers in the order of time. Do not call it during the run.
    std::vector<Event> Events() const;

private:
    struct alignas(64) List {
        std::vector<Event> events;
    };
    std::vector<List> m_lists;
};

}  // namespace frame
