// A trial: a process that runs a scenario three times, without failures, with failures, and without
// failures again.
#pragma once

#include "faults/interposed.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace faults {

inline constexpr uint32_t BitOf(weft::Status status) { return 1u << static_cast<uint32_t>(status); }
inline constexpr uint32_t BitOf(weft::ReportCode code) { return 1u << static_cast<uint32_t>(code); }

/// The result of a trial, in memory that it shares with the watching process. So it outlives an
/// abort.
struct Record {
    Calls calls;
    std::atomic<uint32_t> statuses;      // of the round with failures, as bits
    std::atomic<uint32_t> reports;       // of the round with failures, as bits
    std::atomic<uint32_t> reportNumber;  // number of reports
    std::atomic<bool> armed;
    std::atomic<bool> fatal;       // a fatal report was made
    std::atomic<bool> hasFinding;  // `finding` is set
    char finding[400];             // the first finding
    char fatalWhat[200];           // the text of the fatal report
};

/// What a failure may cause, and what it must cause.
struct Expected {
    uint32_t statuses =
        BitOf(weft::Status::Ok);  // results that Run, Start and AttachThread may return
    uint32_t reports = 0;         // reports that may be made
    // A failure must cause another status than Ok, or one of these reports.
    bool mustShow = false;
};

struct Scenario;

class Trial {
public:
    Trial(const Scenario &scenario, Record &record);

    /// Runs the whole trial. If `plan` is null, no round has failures.
    void Run(const Plan *plan, const Expected &expected);

    weft::TaskScheduler &First() { return *m_schedulers[0]; }
    weft::TaskScheduler &Second() { return *m_schedulers[1]; }

    // For rounds. Thread-safe.

    /// Notes what Run, Start or AttachThread returned. Returns true if it is Ok.
    bool IsOk(weft::Status status);
    /// Notes a finding if `holds` is false.
    void Check(bool holds, const char *what);
    /// Whether a report with this code was made in this round.
    bool WasReported(weft::ReportCode code) const { return (m_reports.load() & BitOf(code)) != 0; }

private:
    void Round();
    void Find(const char *format, ...) __attribute__((format(printf, 2, 3)));
    static void OnReport(const weft::Report &report, void *user);

    const Scenario &m_scenario;
    Record &m_record;
    Expected m_expected;
    std::atomic<uint32_t> m_reports{0};  // of this round
    const char *m_round = "";
    std::unique_ptr<weft::TaskScheduler> m_schedulers[2];
};

/// Runs `body(TaskScheduler &)` as the main task. Returns true if Run returned Ok.
template <class Body>
bool RunMain(Trial &trial, weft::TaskScheduler &scheduler, Body body) {
    auto main = [&](weft::TaskScheduler *running) { body(*running); };
    const weft::Task task = weft::MakeTask(main);
    return trial.IsOk(
        scheduler.Run(task.function, task.arg, {weft::Priority::Normal, weft::kAnyWorker, "main"}));
}

/// Two schedulers with the same options, and what a round does with them. At the end of a round
/// neither of them runs.
struct Scenario {
    const char *name;
    uint32_t workers;
    void (*configure)(weft::SchedulerOptions &options);  // null: only a small pool is set
    void (*round)(Trial &trial);
    uint32_t functions = 0;  // the functions that it is for; 0: all
    uint32_t reports = 0;    // the reports that it causes without failures
    bool oldKernel = false;  // madvise has no guard pages
    bool onlyFull = false;   // only with --full
};

const std::vector<Scenario> &Scenarios();
/// Scenarios of the layers above the scheduler.
const std::vector<Scenario> &PartScenarios();
/// Each limit at its smallest value, alone and with the others. Without failures.
std::vector<Scenario> Limits();

}  // namespace faults
