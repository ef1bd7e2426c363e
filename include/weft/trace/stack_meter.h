// Measures how much stack the tasks of each name use, so that you can choose stack classes and
// sizes by figures.
//
//     static weft::StackMeter meter;
//     options.stackMeter = &meter;
//     ...                                    // the scheduler runs
//     meter.ForEach([](const weft::StackUse &use, void *) {
//         engine::Log("%s: %zu of %zu bytes", use.task, use.bytes, use.stackBytes);
//     });
//
// Before a task that it measures, weft sets the touched part of the stack below to zero; after the
// task it looks for the lowest byte that is not zero. That takes about a microsecond. With a
// Recorder or a trace hook each measurement is an event, too (TraceKind::StackUse).
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/task.h"

#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct StackMeterAccess;
}  // namespace internal

/// How much stack the tasks of one name have used.
struct StackUse {
    const char *task = nullptr;       ///< The name of the tasks. Null: they have none.
    TaskFunction function = nullptr;  ///< The function of tasks without a name.
    uint64_t measured = 0;            ///< How many of the tasks were measured.
    /// The most that one of them has used, at least kLeastBytes. Not counted: tasks that ran on top
    /// of it while it waited, and the frames of weft below it (less than 1 KiB).
    size_t bytes = 0;
    StackClass stack = StackClass::Small;  ///< The stack class of the tasks.
    /// The size of this class: SchedulerOptions::smallStackBytes or largeStackBytes.
    size_t stackBytes = 0;
};

/// Measures the stacks of tasks, by their names. At most one scheduler uses it at a time.
///
/// Tasks on a thread's own stack are not measured. AddressSanitizer keeps variables elsewhere, so
/// the figures are too small there.
class WEFT_API StackMeter {
public:
    /// Names that it can hold. Tasks with other names are not measured.
    static constexpr uint32_t kMaxNames = 256;
    /// Tasks that use less count as this many bytes.
    static constexpr size_t kLeastBytes = 1024;

    /// Of each name it measures the first 64 tasks, and later about one of `every` tasks. 1 = all.
    explicit StackMeter(uint32_t every = 16) noexcept : m_every(every != 0 ? every : 1) {}
    StackMeter(const StackMeter &) = delete;
    StackMeter &operator=(const StackMeter &) = delete;

    /// Calls tell(use, user) for each name, and returns their number. Thread-safe. While tasks run,
    /// the figures may be a little older. `tell` must not throw.
    uint32_t ForEach(void (*tell)(const StackUse &use, void *user),
                     void *user = nullptr) const noexcept;

private:
    friend struct internal::StackMeterAccess;
    // All relaxed: the figures are only shown.
    struct Entry {
        WEFT_ATOMIC<uintptr_t> key{0};                // 0: free
        WEFT_ATOMIC<uint64_t> begun{0}, measured{0};  // tasks
        WEFT_ATOMIC<size_t> bytes{0};
        WEFT_ATOMIC<StackClass> stack{StackClass::Small};
    };
    const uint32_t m_every;
    WEFT_ATOMIC<size_t> m_stackBytes[2]{};  // of the stack classes
    Entry m_entries[kMaxNames];
};

}  // namespace weft
