// Collects a scheduler's reports, from any thread.
#pragma once

#include "weft/options.h"

#include <mutex>
#include <string>
#include <vector>

namespace test {

struct LoggedReport {
    weft::ReportCode code;
    bool fatal;
    std::string what;
    std::string hint;
    std::string task;  ///< "-" if there was none
};

class ReportLog {
public:
    /// Makes `options` report to this log.
    void AttachTo(weft::SchedulerOptions &options);

    size_t Count() const;
    size_t CountOf(weft::ReportCode code) const;
    /// The first report with this code. Its texts are empty if there is none.
    LoggedReport First(weft::ReportCode code) const;
    /// All reports, one a line. Empty if there are none.
    std::string Text() const;

private:
    static void Capture(const weft::Report &report, void *user);
    mutable std::mutex m_mutex;
    std::vector<LoggedReport> m_reports;
};

/// Whether `text` contains `part`.
bool Names(const std::string &text, const std::string &part);

}  // namespace test
