// One process of its own in which a scenario runs: once in peace, once with failures, and once in
// peace again.
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

/// What a trial tells the process that watches it. In memory that both share, so that it outlives
/// an abort.
struct Record {
    Calls calls;
    std::atomic<uint32_t> statuses;      // of the round with failures, as bits
    std::atomic<uint32_t> reports;       // likewise
    std::atomic<uint32_t> reportNumber;  // how many there were
    std::atomic<bool> armed;
    std::atomic<bool> fatal;       // a report that ends the process has been made
    std::atomic<bool> hasFinding;  // in `finding`
    char finding[400];             // the first that was wrong
    char fatalWhat[200];           // the text of the fatal report
};

/// What may come of a failure, and what must.
struct Expected {
    uint32_t statuses = BitOf(weft::Status::Ok);  // that Run, Start and AttachThread may return
    uint32_t reports = 0;                         // that may be made
    // by another status than Ok, or by one of these reports
    bool mustShow = false;
};

struct Scenario;

class Trial {
public:
    Trial(const Scenario &scenario, Record &record);

    /// The whole of it. `plan` may be null: all three rounds in peace.
    void Run(const Plan *plan, const Expected &expected);

    weft::TaskScheduler &First() { return *m_schedulers[0]; }
    weft::TaskScheduler &Second() { return *m_schedulers[1]; }

    // For rounds, any thread.

    /// What Run, Start or AttachThread returned; true if Ok.
    bool IsOk(weft::Status status);
    /// Notes the finding if it does not hold.
    void Check(bool holds, const char *what);
    /// A report of this kind was made in this round.
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

/// Runs `body(TaskScheduler &)` as the main task. True if Run returned Ok.
template <class Body>
bool RunMain(Trial &trial, weft::TaskScheduler &scheduler, Body body,
             weft::StackClass stack = weft::StackClass::Large) {
    auto main = [&](weft::TaskScheduler *running) { body(*running); };
    const weft::Task task = weft::MakeTask(main);
    return trial.IsOk(scheduler.Run(task.function, task.arg,
                                    {weft::Priority::Normal, stack, weft::kAnyWorker, "main"}));
}

/// Two schedulers with the same options, and what is done with them. A round ends with both at
/// rest.
struct Scenario {
    const char *name;
    uint32_t workers;
    void (*configure)(weft::SchedulerOptions &options);  // null: nothing but a small pool
    void (*round)(Trial &trial);
    uint32_t functions = 0;  // that it is about; 0: all
    uint32_t reports = 0;    // that it makes in peace
    bool oldKernel = false;  // no guard pages by madvise
    bool onlyFull = false;   // left out by default
};

const std::vector<Scenario> &Scenarios();
/// Of what stands on the scheduler.
const std::vector<Scenario> &PartScenarios();
/// Each limit at its smallest value, alone and with the others. In peace.
std::vector<Scenario> Limits();

}  // namespace faults
