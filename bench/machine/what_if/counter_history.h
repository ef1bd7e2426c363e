// The values of a counter in a recorded frame. The recording tells how the counter changed, but not
// from which value.
#pragma once

#include "machine/what_if/recorded_work.h"

#include <vector>

namespace machine {

class CounterHistory {
public:
    explicit CounterHistory(uint32_t index) : m_index(index) {}

    /// The counter in FrameGraph::counters.
    uint32_t Index() const { return m_index; }

    void Change(int64_t ns, int64_t by) { m_changes.push_back({ns, by}); }
    /// Call it after the last Change.
    void Sort();

    /// Returns whether the changes tell what ended the wait: the counter was lowered before.
    bool Explains(const RecordedWait &wait) const;

    /// Draws conclusions from a wait for this counter about the value at the beginning.
    void Take(const RecordedWait &wait);

    /// Returns by how much the counter was above the tasks that it counted.
    uint32_t ValueAtBegin() const;

private:
    struct ChangeAt {
        int64_t ns;
        int64_t by;
    };
    int64_t SumUntil(int64_t ns) const;

    uint32_t m_index;
    std::vector<ChangeAt> m_changes;
    std::vector<int64_t> m_sums;  // after each change
    int64_t m_least = 0;          // the value at the beginning is at least this
    int64_t m_most = INT64_MAX;   // and at most this
};

}  // namespace machine
