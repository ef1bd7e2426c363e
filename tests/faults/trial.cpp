// Runs the rounds of a trial, and compares the state of the process before and after them.
#include "faults/trial.h"

#include "platform/sanitizers.h"
#include "support/scheduler_run.h"
#include "support/spin.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace faults {

using namespace weft;

namespace {

uint32_t Threads() {
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/task");
    while (folder != nullptr && readdir(folder) != nullptr) ++count;
    if (folder != nullptr) closedir(folder);
    return count;
}

// Returns the number of lines of /proc/self/maps, without allocating memory.
uint32_t MapsLines() {
    const int file = open("/proc/self/maps", O_RDONLY);
    char buffer[4096];
    uint32_t lines = 0;
    for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;) {
        for (ssize_t i = 0; i < got; ++i) lines += buffer[i] == '\n';
    }
    close(file);
    return lines;
}

// The state of the process that a round must not change.
struct State {
    Held held = HeldNow();
    uint32_t mapsLines = MapsLines();
    void (*handlers[2])(int, siginfo_t *, void *) = {Handler(SIGSEGV), Handler(SIGBUS)};
    stack_t signalStack = SignalStackNow();
    TaskScheduler *current = TaskScheduler::Current();

    static void (*Handler(int number))(int, siginfo_t *, void *) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        return now.sa_sigaction;
    }
    static stack_t SignalStackNow() {
        stack_t now{};
        sigaltstack(nullptr, &now);
        return now;
    }
};

}  // namespace

Trial::Trial(const Scenario &scenario, Record &record) : m_scenario(scenario), m_record(record) {
    for (auto &scheduler : m_schedulers) {
        SchedulerOptions options = test::Options(scenario.workers, 6);
        options.maxAttached = 2;
        if (scenario.configure != nullptr) scenario.configure(options);
        options.onReport = OnReport;
        options.user = this;
        scheduler = std::make_unique<TaskScheduler>(options);
    }
}

void Trial::Find(const char *format, ...) {
    if (m_record.hasFinding.exchange(true)) return;
    const int length = std::snprintf(m_record.finding, sizeof m_record.finding, "%s: ", m_round);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(m_record.finding + length, sizeof m_record.finding - static_cast<size_t>(length),
                   format, arguments);
    va_end(arguments);
}

bool Trial::IsOk(Status status) {
    if (m_record.armed.load()) m_record.statuses.fetch_or(BitOf(status));
    if ((m_expected.statuses & BitOf(status)) == 0)
        Find("status %u", static_cast<unsigned>(status));
    return status == Status::Ok;
}

void Trial::Check(bool holds, const char *what) {
    if (!holds) Find("not so: %s", what);
}

void Trial::OnReport(const Report &report, void *user) {
    Trial &self = *static_cast<Trial *>(user);
    self.m_reports.fetch_or(BitOf(report.code));
    if (self.m_record.armed.load()) {
        self.m_record.reports.fetch_or(BitOf(report.code));
        self.m_record.reportNumber.fetch_add(1);
    }
    const uint32_t allowed = self.m_expected.reports | self.m_scenario.reports;
    if ((allowed & BitOf(report.code)) == 0) {
        self.Find("report %u%s: %s", static_cast<unsigned>(report.code),
                  report.fatal ? " (fatal)" : "", report.what);
    }
    if (report.what[0] == 0 || report.hint == nullptr || report.hint[0] == 0)
        self.Find("a report without a hint");
    if (!report.fatal) return;
    std::snprintf(self.m_record.fatalWhat, sizeof self.m_record.fatalWhat, "%s", report.what);
    self.m_record.fatal.store(true);
}

void Trial::Round() {
    m_reports.store(0);
    m_scenario.round(*this);
}

void Trial::Run(const Plan *plan, const Expected &expected) {
    SetOldKernel(m_scenario.oldKernel);
    m_round = "before";
    // Counted before the first round, because the system lists a joined thread for a while.
    const uint32_t threads = Threads();
    Round();
    const State before;

    m_round = "with failures";
    if (plan != nullptr) {
        m_expected = expected;
        m_record.armed.store(true);
        Arm(*plan, m_record.calls);
    }
    Round();
    Disarm();
    m_record.armed.store(false);
    UnmapRefused();
    const State between;

    m_expected = Expected();
    m_round = "afterwards";
    Round();

    if (!test::SpinUntil([&] { return Threads() == threads; }))
        Find("%u threads, and %u before", Threads(), threads);
    for (const State &after : {between, State()}) {
        const auto leak = [&](const char *what, int64_t now, int64_t then) {
            if (now != then)
                Find("leak: %lld %s, %lld before", static_cast<long long>(now), what,
                     static_cast<long long>(then));
        };
        leak("allocations", after.held.allocations, before.held.allocations);
        leak("mappings of weft's", after.held.mappings, before.held.mappings);
        leak("thread attributes", after.held.attributes, before.held.attributes);
        leak("thread-specific keys", after.held.keys, before.held.keys);
#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN)
        leak("lines in /proc/self/maps", after.mapsLines, before.mapsLines);
#endif
        if (std::memcmp(after.handlers, before.handlers, sizeof before.handlers) != 0)
            Find("a signal handler stays");
        if (after.signalStack.ss_sp != before.signalStack.ss_sp) Find("a signal stack stays");
        if (after.current != before.current) Find("Current() has changed");
    }
    if (WrongUnmaps() != 0) Find("munmap of what was not mapped");
}

}  // namespace faults
