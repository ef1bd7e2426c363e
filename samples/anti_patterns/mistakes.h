// The mistakes that weft reports, each in its smallest form.
#pragma once

#include <weft/task_scheduler.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace anti_patterns {

/// Collects reports.
class Log {
public:
    /// Returns options for a scheduler with one worker that reports to this log.
    weft::SchedulerOptions Options() {
        weft::SchedulerOptions options;
        options.workers = 1;
        options.onReport = [](const weft::Report &report, void *log) {
            static_cast<Log *>(log)->Add(report);
        };
        options.user = this;
        return options;
    }
    /// Blocks until there is a report.
    void Await() {
        std::unique_lock<std::mutex> lock(m_mutex);
        m_added.wait(lock, [&] { return !m_codes.empty(); });
    }
    /// Returns "what. hint" if there is exactly one report and it has this code. Otherwise returns
    /// an empty text. Call it when no thread can report any more.
    std::string TextOf(weft::ReportCode code) const {
        return m_codes.size() == 1 && m_codes[0] == code ? m_text : std::string();
    }

private:
    void Add(const weft::Report &report) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_codes.push_back(report.code);
        m_text = std::string(report.what) + ". " + report.hint;
        m_added.notify_all();
    }
    std::mutex m_mutex;
    std::condition_variable m_added;
    std::vector<weft::ReportCode> m_codes;
    std::string m_text;
};

struct Mistake {
    weft::ReportCode code;  ///< the code of its report
    const char *codeName;
    void (*make)(Log &log);
    bool fatal;  ///< ends the process; needs a child process, reports to stderr
};

const std::vector<Mistake> &AllMistakes();

}  // namespace anti_patterns
