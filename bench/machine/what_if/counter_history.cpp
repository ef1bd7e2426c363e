// Implements counter_history.h.
#include "machine/what_if/counter_history.h"

#include <algorithm>

namespace machine {

void CounterHistory::Sort() {
    std::stable_sort(m_changes.begin(), m_changes.end(), [](const ChangeAt &a, const ChangeAt &b) {
        return a.ns != b.ns ? a.ns < b.ns : a.by > b.by;
    });
    int64_t sum = 0;
    for (const ChangeAt &change : m_changes) m_sums.push_back(sum += change.by);
}

int64_t CounterHistory::SumUntil(int64_t ns) const {
    const auto after =
        std::upper_bound(m_changes.begin(), m_changes.end(), ns,
                         [](int64_t at, const ChangeAt &change) { return at < change.ns; });
    return after == m_changes.begin() ? 0
                                      : m_sums[static_cast<size_t>(after - m_changes.begin()) - 1];
}

bool CounterHistory::Explains(const RecordedWait &wait) const {
    return std::any_of(m_changes.begin(), m_changes.end(), [&](const ChangeAt &change) {
        return change.by < 0 && change.ns <= wait.ready;
    });
}

// A worker lowers the counter a little after the event that a task has ended. So at the beginning
// of a wait the counter may be higher than it seems, but not at its end.
void CounterHistory::Take(const RecordedWait &wait) {
    m_most = std::min(m_most, wait.target - SumUntil(wait.ready));
    if (wait.suspends) m_least = std::max(m_least, wait.target + 1 - SumUntil(wait.begin));
}

uint32_t CounterHistory::ValueAtBegin() const {
    int64_t value = std::min(m_least, m_most);
    for (const int64_t sum : m_sums) value = std::max(value, -sum);
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX));
}

}  // namespace machine
