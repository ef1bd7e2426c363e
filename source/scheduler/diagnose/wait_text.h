// The text of reports about waiting fibers.
#pragma once

#include "scheduler/diagnose/wait_graph.h"
#include "scheduler/state/reporting.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// A text in memory of the scheduler, with room for all waiters of a graph. What does not fit is
/// cut off.
class ReportText {
public:
    ReportText(const Memory &memory, const WaitGraph &graph) noexcept;
    ReportText(const Memory &memory, size_t bytes) noexcept;
    ~ReportText() { m_memory.DeleteArray(m_text, m_bytes); }
    ReportText(const ReportText &) = delete;
    ReportText &operator=(const ReportText &) = delete;

    void Add(const char *format, ...) noexcept WEFT_PRINTF_LIKE(2, 3);
    /// If there was no memory, the text says only that.
    const char *Get() const noexcept;

private:
    const Memory &m_memory;
    const size_t m_bytes;
    size_t m_used = 0;
    char *const m_text;
};

/// Returns how many fibers wait with another cause than Working.
uint32_t CountBlocked(const WaitGraph &graph) noexcept;

/// Adds these fibers to the text, those with the same cause together.
void AddWaiters(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept;

/// Adds the named tasks that run or are ready.
void AddRunning(ReportText &text, const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
