// Lets each function that weft calls fail: the first call, then the second, and so on, until a run
// in which no call failed. Also runs with each limit at its smallest value.
//
//     faults [--full] [--only TEXT]
//         scenarios and functions whose "scenario function" contains TEXT
//     faults --one SCENARIO FUNCTION ERRNO NTH COUNT
//         one trial in this process, for a debugger
//
// Each trial has its own process. So a crash, a hang and a report that ends the process are results
// of a trial.
#include "faults/trial.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace faults;
using weft::ReportCode;
using weft::Status;

constexpr uint32_t kAlways = ~0u;
constexpr uint32_t kMaxCalls =
    3000;  // of a scenario: with more calls it would probably never succeed
constexpr uint32_t kMaxFindings = 5;
constexpr unsigned kSeconds = 30;  // bound of a trial, which takes milliseconds

struct Failure {
    const char *name;
    uint32_t functions;
    std::vector<int> errors;
    Expected expected;
    bool fatal = false;  // a fatal report OutOfMemory is permitted
};

std::vector<Failure> ExceptionCollector() {
    // A refused start is reported.
    const auto status = [](Status failed, bool mustShow) {
        const ReportCode code =
            failed == Status::ThreadFailed ? ReportCode::BadOption : ReportCode::OutOfMemory;
        return Expected{BitOf(Status::Ok) | BitOf(failed), BitOf(code), mustShow};
    };
    const Expected none;
    const Expected threads = status(Status::ThreadFailed, true);
    const Expected key = status(Status::OutOfMemory, false);  // Stop works without the key
    const Expected place{BitOf(Status::Ok), BitOf(ReportCode::BadOption), false};
    const Expected refused{BitOf(Status::Ok), BitOf(ReportCode::BadOption), true};
    const Expected memory{BitOf(Status::Ok) | BitOf(Status::OutOfMemory),
                          BitOf(ReportCode::OutOfMemory), false};
    std::vector<Failure> all = {
        {"mmap", BitOf(Function::Mmap), {ENOMEM, EAGAIN}, status(Status::OutOfMemory, false)},
        {"munmap", BitOf(Function::Munmap), {ENOMEM}, none},
        {"mprotect-guard",
         BitOf(Function::MprotectGuard),
         {ENOMEM},
         status(Status::OutOfMappings, true)},
        {"mprotect-guard",
         BitOf(Function::MprotectGuard),
         {EACCES, EPERM},
         status(Status::OutOfMemory, true)},
        {"mprotect-unguard", BitOf(Function::MprotectUnguard), {ENOMEM}, none},
        {"madvise-guard", BitOf(Function::MadviseGuard), {EINVAL, ENOMEM, EAGAIN}, none},
        {"madvise-unguard", BitOf(Function::MadviseUnguard), {EINVAL}, none},
        {"madvise", BitOf(Function::MadviseOther), {EINVAL, ENOMEM}, none},
        {"pthread_attr_init", BitOf(Function::AttrInit), {ENOMEM}, threads},
        {"pthread_attr_setstacksize", BitOf(Function::AttrSetStackSize), {EINVAL}, threads},
        {"pthread_create", BitOf(Function::ThreadCreate), {EAGAIN, EPERM, ENOMEM}, threads},
        {"pthread_setname_np", BitOf(Function::SetName), {ERANGE, EPERM}, none},
        {"pthread_key_create", BitOf(Function::KeyCreate), {EAGAIN, ENOMEM}, key},
        {"pthread_setspecific", BitOf(Function::SetSpecific), {ENOMEM}, key},
        {"sched_getaffinity", BitOf(Function::GetAffinity), {EINVAL, EPERM}, place},
        // A worker may also stay where it is, without a report.
        {"sched_setaffinity", BitOf(Function::SetAffinity), {EINVAL, EPERM}, place},
        {"open", BitOf(Function::Open), {EMFILE, ENOENT}, none},
        {"read", BitOf(Function::Read), {EIO}, none},
        {"setpriority", BitOf(Function::SetPriority), {EACCES, EPERM}, refused},
        {"sigaltstack", BitOf(Function::SigAltStack), {ENOMEM, EPERM}, none},
        {"sigaction", BitOf(Function::SigAction), {EINVAL}, refused},
        {"futex-wait", BitOf(Function::FutexWait), {0, EINTR, EAGAIN}, none},
        {"operator-new", BitOf(Function::Allocate), {ENOMEM}, memory, true},
        {"host-allocate", BitOf(Function::HostAllocate), {ENOMEM}, memory, true},
        {"host-reserve",
         BitOf(Function::ReserveStacks),
         {ENOMEM},
         status(Status::OutOfMemory, true)},
    };
    // A system on which all of these functions fail.
    Failure every{"all", 0, {0}, memory, true};
    for (const Failure &failure : all) {
        if (failure.functions == BitOf(Function::FutexWait)) continue;
        every.functions |= failure.functions;
        every.expected.statuses |= failure.expected.statuses;
        every.expected.reports |= failure.expected.reports;
    }
    all.push_back(every);
    return all;
}

std::vector<Scenario> AllScenarios() {
    std::vector<Scenario> all = Scenarios();
    all.insert(all.end(), PartScenarios().begin(), PartScenarios().end());
    return all;
}

struct Figures {
    uint32_t trials = 0, failed = 0, statuses[8] = {}, reported = 0, fatal = 0, unnoticed = 0;
};

class Driver {
public:
    Driver(bool full, std::string only)
        : m_full(full), m_only(std::move(only)), m_failures(ExceptionCollector()) {
        void *shared = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) std::abort();
        m_record = static_cast<Record *>(shared);
    }

    bool Run() {
        for (const Failure &failure : m_failures) {
            if (m_names.empty() || m_names.back() != failure.name) m_names.push_back(failure.name);
        }
        m_figures.resize(m_names.size());
        for (const Scenario &limited : Limits()) {
            const std::string name = "limit " + std::string(limited.name) + ", workers " +
                                     std::to_string(limited.workers);
            if (!Wanted(name)) continue;
            ++m_limits;
            Try(name, limited, nullptr, {}, false);
        }
        for (const Scenario &scenario : AllScenarios()) {
            if (scenario.onlyFull && !m_full && m_only.empty()) continue;
            for (const Failure &failure : m_failures) FailEach(scenario, failure);
        }
        Print();
        return m_findings == 0;
    }

private:
    bool Wanted(const std::string &name) const {
        return m_findings < kMaxFindings && name.find(m_only) != std::string::npos;
    }

    void FailEach(const Scenario &scenario, const Failure &failure) {
        uint32_t functions = failure.functions;
        const bool all = (functions & (functions - 1)) != 0;
        if (!all && scenario.functions != 0) functions &= scenario.functions;
        if (scenario.oldKernel)
            functions &= ~(BitOf(Function::MadviseGuard) | BitOf(Function::MadviseUnguard));
        if (functions == 0) return;
        // With another number of workers, one error code and one call that fails are enough,
        // because the same code handles the others. If all allocations fail from one on, weft
        // gives up as if all functions failed from there on, which is tried as well.
        const bool isFull = m_full || !m_only.empty();
        const bool tryAll = isFull || scenario.workers == 2;
        const bool isAllocation = !isFull && functions == BitOf(Function::Allocate);
        for (size_t i = 0; i < (tryAll ? failure.errors.size() : 1); ++i) {
            // Lets one call fail, or all from there on. Waits that fail for ever would only be a
            // busy loop, so at most 50 of them fail.
            const bool waits = functions == BitOf(Function::FutexWait);
            for (const uint32_t count : {1u, waits ? 50 : kAlways}) {
                if (count == 1 ? all : !tryAll || isAllocation) continue;
                FailUntilSuccess(scenario, failure, {functions, 0, count, failure.errors[i]},
                                 all && !isFull ? 2 : 1);
            }
        }
    }

    // `step`: 2 tries every second call as the first one that fails.
    void FailUntilSuccess(const Scenario &scenario, const Failure &failure, Plan plan,
                          uint32_t step) {
        const std::string name = std::string(scenario.name) + " " + failure.name;
        for (plan.nth = 1; Wanted(name); plan.nth += step) {
            const std::string whole = name + " " + std::to_string(plan.error) + " " +
                                      std::to_string(plan.nth) + " " + std::to_string(plan.count);
            if (!Try(whole, scenario, &plan, failure.expected, failure.fatal)) return;
            Figures &figures = FiguresOf(failure.name);
            const uint32_t failed = m_record->calls.Failed();
            m_trials += 1;
            figures.trials += 1;
            figures.failed += failed;
            if (failed == 0) return;
            Note(figures);
            if (plan.nth >= kMaxCalls) return Find(whole, "it never succeeds");
        }
    }

    Figures &FiguresOf(const std::string &name) {
        return m_figures[static_cast<size_t>(std::find(m_names.begin(), m_names.end(), name) -
                                             m_names.begin())];
    }

    void Note(Figures &figures) {
        const uint32_t statuses = m_record->statuses.load() & ~BitOf(Status::Ok);
        for (uint32_t i = 1; i < 8; ++i) figures.statuses[i] += statuses >> i & 1;
        const bool reported = m_record->reports.load() != 0 && !m_record->fatal.load();
        figures.reported += reported;
        figures.fatal += m_record->fatal.load();
        figures.unnoticed += statuses == 0 && !reported && !m_record->fatal.load();
    }

    // Runs one trial. Returns false after a finding.
    bool Try(const std::string &name, const Scenario &scenario, const Plan *plan,
             const Expected &expected, bool fatal) {
        std::memset(static_cast<void *>(m_record), 0, sizeof *m_record);
        std::fflush(stdout);
        const pid_t child = fork();
        if (child < 0) {
            Find(name, "fork failed");
            return false;
        }
        if (child == 0) {
            alarm(kSeconds);
            Trial(scenario, *m_record).Run(plan, expected);
            _exit(0);
        }
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        const std::string why = WhatIsWrong(status, expected, fatal);
        if (why.empty()) return true;
        Find(name, why);
        return false;
    }

    std::string WhatIsWrong(int status, const Expected &expected, bool fatal) const {
        if (m_record->hasFinding.load()) return m_record->finding;
        if (WIFSIGNALED(status)) {
            if (WTERMSIG(status) == SIGALRM) return "hangs";
            if (WTERMSIG(status) != SIGABRT || !m_record->fatal.load()) {
                return "dies of signal " + std::to_string(WTERMSIG(status));
            }
            return fatal ? "" : "fatal: " + std::string(m_record->fatalWhat);
        }
        if (WEXITSTATUS(status) != 0) return "exit code " + std::to_string(WEXITSTATUS(status));
        const bool shown = (m_record->statuses.load() & ~BitOf(Status::Ok)) != 0 ||
                           (m_record->reports.load() & expected.reports) != 0;
        if (expected.mustShow && m_record->calls.Failed() != 0 && !shown)
            return "the failure shows nowhere";
        return "";
    }

    void Find(const std::string &name, const std::string &why) {
        ++m_findings;
        std::printf("FINDING: %s: %s\n", name.c_str(), why.c_str());
        if (m_findings == kMaxFindings) std::printf("that is enough: what is left is not tried\n");
    }

    void Print() {
        std::printf("%-26s %8s %8s %10s %13s %12s %9s %6s %10s\n", "function", "trials", "failures",
                    "OutOfMemory", "OutOfMappings", "ThreadFailed", "reported", "fatal",
                    "no effect");
        uint64_t failed = 0;
        for (size_t i = 0; i < m_names.size(); ++i) {
            const Figures &row = m_figures[i];
            const auto of = [&](Status status) {
                return row.statuses[static_cast<uint32_t>(status)];
            };
            failed += row.failed;
            std::printf("%-26s %8u %8u %10u %13u %12u %9u %6u %10u\n", m_names[i].c_str(),
                        row.trials, row.failed, of(Status::OutOfMemory), of(Status::OutOfMappings),
                        of(Status::ThreadFailed), row.reported, row.fatal, row.unnoticed);
            // If the function was never called, nothing was tested.
            if (row.failed == 0 && m_only.empty() && m_findings == 0)
                Find(m_names[i], "was never called");
        }
        std::printf("%u limits, %u trials, %llu failed calls, %u findings\n", m_limits, m_trials,
                    static_cast<unsigned long long>(failed), m_findings);
    }

    const bool m_full;
    const std::string m_only;
    const std::vector<Failure> m_failures;
    Record *m_record = nullptr;
    std::vector<std::string> m_names;
    std::vector<Figures> m_figures;
    uint32_t m_trials = 0, m_limits = 0, m_findings = 0;
};

int RunOne(char **arguments) {
    static Record record;
    for (const Scenario &scenario : AllScenarios()) {
        if (std::strcmp(scenario.name, arguments[0]) != 0) continue;
        for (const Failure &failure : ExceptionCollector()) {
            if (std::strcmp(failure.name, arguments[1]) != 0) continue;
            const auto number = [&](int i) {
                return static_cast<uint32_t>(std::strtoul(arguments[i], nullptr, 10));
            };
            const Plan plan{failure.functions, number(3), number(4), static_cast<int>(number(2))};
            if (std::find(failure.errors.begin(), failure.errors.end(), plan.error) ==
                failure.errors.end())
                continue;
            Trial(scenario, record).Run(&plan, failure.expected);
            std::printf("%u calls failed, statuses %x, reports %x: %s\n", record.calls.Failed(),
                        record.statuses.load(), record.reports.load(),
                        record.hasFinding.load() ? record.finding : "no finding");
            return record.hasFinding.load() ? 1 : 0;
        }
    }
    std::printf("no such scenario, function or error\n");
    return 2;
}

}  // namespace

int main(int count, char **arguments) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    mallopt(M_ARENA_MAX, 1);  // arenas that come and go would count as mappings
    bool full = false;
    std::string only;
    for (int i = 1; i < count; ++i) {
        const std::string argument = arguments[i];
        if (argument == "--full") {
            full = true;
        } else if (argument == "--only" && i + 1 < count) {
            only = arguments[++i];
        } else if (argument == "--one" && i + 5 < count) {
            return RunOne(arguments + i + 1);
        } else {
            std::printf(
                "faults [--full] [--only TEXT] [--one SCENARIO FUNCTION ERRNO NTH COUNT]\n");
            return 2;
        }
    }
    return Driver(full, only).Run() ? 0 : 1;
}
