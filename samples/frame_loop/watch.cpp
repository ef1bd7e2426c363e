// Implements watch.h.
#include "watch.h"

#include "format.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace frame_loop {
namespace {

bool IsTerminal() {
#if defined(_WIN32)
    return _isatty(1) != 0;
#else
    return isatty(STDOUT_FILENO) != 0;
#endif
}

// The tasks that wait, by name: "render 1, world 1".
std::string WaitingTasks(weft::TaskScheduler &scheduler) {
    std::map<std::string, int> byName;
    const auto tell = [](const weft::WaiterInfo &waiter, void *user) {
        auto &names = *static_cast<std::map<std::string, int> *>(user);
        ++names[waiter.task != nullptr ? waiter.task : "(no name)"];
    };
    weft::DescribeWaiters(scheduler, tell, &byName);
    std::string text;
    for (const auto &[name, count] : byName)
        text += (text.empty() ? "" : ", ") + name + Format(" %d", count);
    return text.empty() ? "none" : text;
}

}  // namespace

std::string WatchText::Row(const std::string &name, const weft::WorkerStatistics &now,
                           const weft::WorkerStatistics &before) const {
    const auto rate = [&](uint64_t weft::WorkerStatistics::*count) {
        return static_cast<double>(now.*count - before.*count) / m_seconds;
    };
    return Format("%-9s %10.0f %10.0f %10.0f %10.0f %10.0f %10.0f\n", name.c_str(),
                  rate(&weft::WorkerStatistics::finished),
                  rate(&weft::WorkerStatistics::inlineRuns),
                  rate(&weft::WorkerStatistics::suspensions), rate(&weft::WorkerStatistics::steals),
                  rate(&weft::WorkerStatistics::sleeps), rate(&weft::WorkerStatistics::wakes));
}

std::string WatchText::Next(uint64_t frames, int64_t ns) {
    const weft::Statistics now = weft::GetStatistics(m_scheduler);
    m_workers.resize(now.workers);
    m_seconds = static_cast<double>(std::max<int64_t>(ns - m_ns, 1)) / 1e9;
    std::string text = Format("frame %-8" PRIu64 " %.0f frames a second\n", frames,
                              static_cast<double>(frames - m_frames) / m_seconds);
    text += Format("tasks %" PRIu64 " pending; fibers %u of %u (at most %u)\n", now.pendingTasks,
                   now.fibersInUse, now.fibers, now.fibersTouched);
    text += "waiting   " + WaitingTasks(m_scheduler) + "\n";
    text += Format("%-9s %10s %10s %10s %10s %10s %10s\n", "a second", "tasks", "inline", "waits",
                   "steals", "sleeps", "wakes");
    for (uint32_t i = 0; i < now.workers; ++i) {
        const weft::WorkerStatistics worker = weft::GetWorkerStatistics(m_scheduler, i);
        text += Row("worker " + std::to_string(i), worker, m_workers[i]);
        m_workers[i] = worker;
    }
    text += Row("all", now.total, m_total);
    m_total = now.total;
    m_frames = frames;
    m_ns = ns;
    return text;
}

void Watch::Show(uint64_t frames, int64_t ns) {
    constexpr int64_t kEveryNs = 500'000'000;
    if (ns - m_shownNs < kEveryNs) return;
    m_shownNs = ns;
    const std::string text = m_text.Next(frames, ns);
    // In a terminal: up to the first line of the text before, and delete from there.
    if (m_lines != 0 && IsTerminal()) std::printf("\x1b[%zuA\x1b[J", m_lines);
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    m_lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace frame_loop
