// Measures how much stack the tasks of each name use, so that you can choose the size of stacks by
// figures.
//
//     static weft::StackMeter meter;
//     options.stackMeter = &meter;
//     ...                                    // the scheduler runs
//     meter.ForEach([](const weft::StackUse &use, void *) {
//         const char *name = use.task != nullptr ? use.task : "tasks without a name";
//         engine::Log("%s: %zu of %zu bytes", name, use.bytes, use.stackBytes);
//     });
//
// Before it measures a task, weft sets the part of the stack that the task can use to zero. After
// the task it looks for the lowest word that is not zero. A Recorder or a trace hook gets an event
// for each measurement (TraceKind::StackUse).
#pragma once

#include "weft/export.h"
#include "weft/task.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct StackMeterAccess;
}  // namespace internal

/// How much stack the tasks of one name have used.
struct StackUse {
    const char *task = nullptr;       ///< The name of the tasks. Null if they have none.
    TaskFunction function = nullptr;  ///< Of tasks without a name. Null for others.
    uint64_t measured = 0;            ///< How many of the tasks were measured.
    /// The most stack that one of them has used, at least kLeastBytes. Not counted: tasks that ran
    /// on its stack while it waited, and the frames of weft that call it. The figure may be up to
    /// 512 bytes too large.
    size_t bytes = 0;
    size_t stackBytes = 0;  ///< SchedulerOptions::stackBytes.
};

/// Measures how much stack the tasks of each name use. At most one scheduler may use it at a time.
/// A further run adds to its figures.
///
/// Names are compared by address, not by text. Tasks without a name are grouped by their function.
/// A task is not measured if it runs on the stack that the system gave to its thread. Do not use a
/// StackMeter under AddressSanitizer or valgrind. AddressSanitizer may keep variables outside of
/// the stack, so the figures are too small.
class WEFT_API StackMeter {
public:
    /// The most names and functions that it can hold. Tasks of further ones are not measured.
    static constexpr uint32_t kMaxNames = 256;
    /// The least figure: a task that uses less counts as if it used this many bytes.
    static constexpr size_t kLeastBytes = 1024;

    /// Measures the first 64 tasks of each name, and then one in `every` tasks. 1 = all tasks.
    explicit StackMeter(uint32_t every = 16) noexcept : m_every(every != 0 ? every : 1) {}
    StackMeter(const StackMeter &) = delete;
    StackMeter &operator=(const StackMeter &) = delete;

    /// Calls tell(use, user) for each name of which a task was measured, and for each function of
    /// tasks without a name. `tell` must not throw. Returns the number of these calls. Thread-safe.
    /// While tasks run, the figures may be slightly out of date.
    uint32_t ForEach(void (*tell)(const StackUse &use, void *user),
                     void *user = nullptr) const noexcept;

private:
    friend struct internal::StackMeterAccess;
    // All accesses are relaxed: the figures are only shown, and they publish no other data.
    struct Entry {
        std::atomic<uintptr_t> key{0};                // 0: the entry is free
        std::atomic<uint64_t> begun{0}, measured{0};  // numbers of tasks
        std::atomic<size_t> bytes{0};
    };
    const uint32_t m_every;
    std::atomic<size_t> m_stackBytes{0};
    Entry m_entries[kMaxNames];
};

}  // namespace weft
