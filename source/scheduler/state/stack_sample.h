// Measures how much of a fiber's stack a task uses, for SchedulerOptions::stackMeter: everything
// below the task is set to zero before it begins, and is looked through when it has ended.
#pragma once

#include "core/stack_meter_access.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// The measurement of one task. It lies in the frame of the code that calls the task. Only the
/// thread that runs the fiber uses it.
class StackSample {
public:
    /// A task begins on the fiber, the caller's. Measures it if it is its turn. `bottom`: the
    /// lowest byte of the stack; null for a thread's own stack, which is not measured. `inner`: the
    /// fiber's innermost measurement, null if there is none; it is interrupted until End.
    void Begin(StackMeter &meter, char *bottom, StackSample *&inner, const char *name,
               TaskFunction function) noexcept;

    /// The task has ended. Returns how many bytes it has used; 0 if it was not measured.
    size_t End(char *bottom, StackSample *&inner) noexcept;

private:
    void Look(char *bottom) noexcept;

    StackMeterAccess::Entry *m_entry = nullptr;  // null: the task is not measured
    StackSample *m_outer = nullptr;              // of the task on top of which this one runs
    const char *m_top = nullptr;                 // where the task's frames begin
    const char *m_lowest = nullptr;              // that the task has used so far
};

}  // namespace weft::internal
