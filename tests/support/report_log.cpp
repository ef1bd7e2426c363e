// Records the reports of a scheduler.
#include "support/report_log.h"

namespace test {

void ReportLog::AttachTo(weft::SchedulerOptions &options) {
    options.onReport = Capture;
    options.user = this;
}

void ReportLog::Capture(const weft::Report &report, void *user) {
    ReportLog *log = static_cast<ReportLog *>(user);
    const std::lock_guard<std::mutex> lock(log->m_mutex);
    log->m_reports.push_back(
        {report.code, report.fatal, report.what, report.hint, report.task ? report.task : "-"});
}

size_t ReportLog::Count() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    return m_reports.size();
}

size_t ReportLog::CountOf(weft::ReportCode code) const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    size_t count = 0;
    for (const LoggedReport &report : m_reports) count += report.code == code;
    return count;
}

LoggedReport ReportLog::First(weft::ReportCode code) const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    for (const LoggedReport &report : m_reports) {
        if (report.code == code) return report;
    }
    return {code, false, "", "", ""};
}

std::string ReportLog::Text() const {
    const std::lock_guard<std::mutex> lock(m_mutex);
    std::string text;
    for (const LoggedReport &report : m_reports)
        text += report.task + ": " + report.what + ". " + report.hint + "\n";
    return text;
}

bool Names(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

}  // namespace test
