// What happened in a run, by weft's trace hooks.
#pragma once

#include <weft/hooks.h>

#include <memory>
#include <vector>

namespace frame {

struct Event {
    enum class Kind : uint8_t {
        FrameBegin,
        FrameEnd,
        Submit,  ///< of all tasks of a stage; right before it
        Begin,   ///< of a task, on `fiber`
        End,
        Switch  ///< the worker goes on with `fiber`
    };
    int64_t ns;
    Kind kind;
    uint32_t worker, fiber;
    const char *task;  ///< the name that it was submitted with
};

/// Collects events; each worker in a list of its own.
class Recorder {
public:
    /// `room`: for so many events of each worker no list has to grow during the run.
    Recorder(uint32_t workers, size_t room);

    /// Outlives the run.
    void AttachTo(weft::TraceHooks &hooks);

    /// On the worker that it names.
    void Add(Event::Kind kind, uint32_t worker, uint32_t fiber, const char *task);

    /// Of all workers, the earliest first. Not during the run.
    std::vector<Event> Events() const;

private:
    struct alignas(64) List {
        std::vector<Event> events;
    };
    std::vector<List> m_lists;
};

}  // namespace frame
