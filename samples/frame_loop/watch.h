// A text that shows what the scheduler does, for a terminal.
#pragma once

#include <weft/inspect.h>

#include <cstdint>
#include <string>
#include <vector>

namespace frame_loop {

/// Makes the text from the counts of a scheduler (weft/inspect.h). The rates are those since the
/// text before it.
class WatchText {
public:
    explicit WatchText(weft::TaskScheduler &scheduler) : m_scheduler(scheduler) {}

    /// `frames`: how many have been shown. `ns`: the time. Call it while the scheduler runs.
    std::string Next(uint64_t frames, int64_t ns);

private:
    std::string Row(const std::string &name, const weft::WorkerStatistics &now,
                    const weft::WorkerStatistics &before) const;

    weft::TaskScheduler &m_scheduler;
    std::vector<weft::WorkerStatistics> m_workers;
    weft::WorkerStatistics m_total;
    uint64_t m_frames = 0;
    int64_t m_ns = 0;
    double m_seconds = 1;  // between the last two texts
};

/// Shows the text at most twice a second: in a terminal in the place of the text before it.
class Watch {
public:
    explicit Watch(weft::TaskScheduler &scheduler) : m_text(scheduler) {}
    void Show(uint64_t frames, int64_t ns);

private:
    WatchText m_text;
    int64_t m_shownNs = 0;
    size_t m_lines = 0;
};

}  // namespace frame_loop
