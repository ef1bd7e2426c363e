// Measures how much of a fiber's stack a task uses, for SchedulerOptions::stackMeter.
//
// Stacks grow towards lower addresses. Before the task begins, the stack below the current frame is
// set to zero. After the task, the lowest word that is not zero shows how much stack it has used.
#pragma once

#include "core/stack_meter_access.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// The measurement of one task. The object lies in the frame of the function that calls the task.
/// Only the thread that runs the fiber uses it.
class StackSample {
public:
    /// Call it right before a task, on the fiber of the task. Begins to measure the task, if the
    /// meter chooses it.
    ///
    /// `bottom`: the lowest byte of the fiber's stack. Null for a thread's own stack: then the
    /// task is not measured. `inner`: Fiber::sample. Until End it points to this object. If the
    /// task runs on top of another one, the measurement of that one pauses until End.
    void Begin(StackMeter &meter, char *bottom, StackSample *&inner, const char *name,
               TaskFunction function) noexcept;

    /// Call it right after the task. Returns how many bytes of stack it has used, or 0 if it was
    /// not measured.
    size_t End(char *bottom, StackSample *&inner) noexcept;

private:
    void Look(char *bottom) noexcept;

    StackMeterAccess::Entry *m_entry = nullptr;  // null: the task is not measured
    StackSample *m_outer = nullptr;              // of the task on top of which this one runs
    const char *m_top = nullptr;                 // the task's frames begin here or lower
    const char *m_lowest = nullptr;              // the lowest word known to be used
};

}  // namespace weft::internal
