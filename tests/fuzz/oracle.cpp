// Compares the reports with the expected ones.
#include "fuzz/oracle.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fuzz {

using namespace weft;

void Finding(const char *what, const char *detail) {
    std::fprintf(stderr, "finding: %s %s\n", what, detail);
    std::abort();
}

void Oracle::AttachTo(SchedulerOptions &options) {
    options.onReport = OnReport;
    options.user = this;
}

// Not inlined: the caller may continue on another thread after a call.
__attribute__((noinline)) Oracle::Watch *Oracle::Exchange(Watch *watch) {
    thread_local Watch *t_watch = nullptr;
    asm volatile("");
    return std::exchange(t_watch, watch);
}

void Oracle::Leave(const Watch &watch, Watch *outer) {
    Require(watch.count == 1, "a mistake was not reported");
    // A hook's mistake may lie inside another mistake. Hooks stay on their thread.
    if (outer != nullptr) Exchange(outer);
}

void Oracle::OnReport(const Report &report, void *user) {
    Oracle &self = *static_cast<Oracle *>(user);
    Require(report.what != nullptr && *report.what != 0, "a report does not say what is wrong");
    Require(report.hint != nullptr && *report.hint != 0, "a report has no hint");
    Watch *const watch = Exchange(nullptr);  // a second report of the same mistake finds null
    if (watch != nullptr && watch->code == report.code) {
        ++watch->count;
        return;
    }
    Exchange(watch);
    switch (report.code) {
        case ReportCode::TaskThrew:
            self.m_threw.fetch_add(1);
            break;
        case ReportCode::LeftAttached:
            self.m_left.fetch_add(1);
            break;
        case ReportCode::FloatingPointState:
            self.m_bent.fetch_add(1);
            break;
        case ReportCode::Stalled:     // a thread will end these waits
        case ReportCode::EndDelayed:  // the threads had no processor for a second
            break;
        case ReportCode::NoWorkers:
            Require(self.mayLackWorkers.load(), report.what);
            break;
        default:
            Finding("unexpected report:", report.what);
    }
}

void Oracle::CheckCounts() {
    Require(m_threw.load() == willThrow.load(), "not every task that threw was reported once");
    Require(m_left.load() == willLeave.load(),
            "not every thread that ended while attached was reported once");
    Require(m_bent.load() == willBend.load(),
            "not every task that bent the rounding mode was reported once");
}

}  // namespace fuzz
