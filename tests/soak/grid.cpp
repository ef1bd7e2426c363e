// The settings of the machine in which the grid runs, each in a process of its own, and the table.
#include "soak/grid.h"

#include "soak/figures.h"
#include "support/grid.h"
#include "support/thread_cpus.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace soak {

namespace {

using namespace test::grid;

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs;  // nanoseconds

// If two looks at the clock are so far apart, the thread did not run between them.
constexpr uint64_t kGap = 20 * kUs;

struct Mode {
    const char *name;
    uint32_t workers, cpus, schedulers = 1;
    weft::IdlePolicy idle = weft::IdlePolicy::Balanced;
    uint32_t quotaMs = 0;  // the processor time of all threads in 100 ms; 0: no quota
    bool stops = false;    // the process is stopped for a second, every two seconds
    bool isFifo = false;   // worker 0 is SCHED_FIFO, all other threads are normal
};
constexpr Mode kModes[] = {
    {"2 workers on 2 CPUs", 2, 2},
    {"8 workers on 1 CPU", 8, 1},
    {"64 workers on 2 CPUs", 64, 2},
    {"2 schedulers on 2 CPUs", 2, 2, 2},
    {"Spin", 2, 2, 1, weft::IdlePolicy::Spin},
    {"quota of 20 ms in 100", 2, 2, 1, weft::IdlePolicy::Balanced, 20},
    {"quota of 50 ms in 100", 2, 2, 1, weft::IdlePolicy::Balanced, 50},
    {"SIGSTOP for 1,000 ms", 2, 2, 1, weft::IdlePolicy::Balanced, 0, true},
    {"SCHED_FIFO, 1 of 3 workers", 3, 2, 1, weft::IdlePolicy::Balanced, 0, false, true},
};
enum Result { Good, Failed, Skipped = 77 };  // no other code ends a process with 77

// The times at which busy threads of this process did not run.
class Gaps {
public:
    // Called by a thread that has looked at the clock twice. Not inlined: a task may be on another
    // thread in its next call.
    __attribute__((noinline)) void Note(uint64_t begin, uint64_t end) {
        static thread_local char s_self;
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_gaps.push_back({&s_self, begin, end});
    }
    // Returns how long the thread that ran least did not run between two times.
    uint64_t Lost(uint64_t from, uint64_t to) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        std::map<const char *, uint64_t> lost;
        uint64_t most = 0;
        for (auto gap = m_gaps.rbegin(); gap != m_gaps.rend(); ++gap) {
            if (gap->end + 3000 * kMs < from) break;  // threads may note their gaps late
            const uint64_t begin = std::max(gap->begin, from), end = std::min(gap->end, to);
            if (begin < end) most = std::max(most, lost[gap->thread] += end - begin);
        }
        return most;
    }

private:
    struct Gap {
        const char *thread;
        uint64_t begin, end;
    };
    std::mutex m_mutex;
    std::vector<Gap> m_gaps;
} s_gaps;

// The mode of this process.
const Mode *s_mode = nullptr;

// Prints why the mode has failed, and ends the process. The core file shows where it is stuck.
[[noreturn]] void Fail(const std::string &what) {
    std::printf("FAILED with %s: %s\n", s_mode->name, what.c_str());
    std::fflush(stdout);
    std::abort();
}

// What Cell needs. A task that computes notes when its thread did not run, and computes longer.
struct RealTime {
    static void Compute(uint32_t microseconds) {
        uint64_t last = NowNs(), left = microseconds * kUs;
        while (left != 0) {
            const uint64_t now = NowNs();
            if (now - last > kGap) {
                s_gaps.Note(last, now);
            } else {
                left -= std::min(left, now - last);
            }
            last = now;
        }
    }
    static uint32_t Random(uint32_t below) { return soak::Random(++s_seed).Below(below); }
    static void Check(bool condition, const char *message) {
        if (!condition) Fail(message);
    }
    static inline std::atomic<uint64_t> s_seed{0};
};
using RealCell = test::grid::Cell<RealTime>;

struct Item {
    Kind kind;
    uint64_t asked = 0, begun = 0,
             lost = 0;  // nanoseconds; `lost`: Gaps::Lost from `asked` to `begun`
    uint64_t Late() const { return begun - asked; }
    int64_t Beyond() const { return static_cast<int64_t>(Late() - lost - kind.Bound()); }
};

bool BecomeFifo() {
    sched_param lowest{};
    lowest.sched_priority = 1;
    return sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
}

// Runs the cells of one mode.
class Run {
public:
    Run(const Mode &mode, uint64_t seconds) : m_mode(mode), m_end(NowNs() + seconds * 1000 * kMs) {}
    ~Run() {
        m_stop = true;
        m_looker.join();
    }

    // Runs cells in random order, with a scheduler of its own.
    void RunCells(uint64_t seed) {
        weft::TaskScheduler scheduler(Options());
        if (scheduler.Start() != weft::Status::Ok) Fail("Start failed");
        Random random(seed);
        std::vector<uint32_t> cells;
        while (NowNs() < m_end) {
            if (cells.empty()) {
                cells.resize(kCells);
                std::iota(cells.begin(), cells.end(), 0u);
            }
            std::swap(cells[random.Below(static_cast<uint32_t>(cells.size()))], cells.back());
            RunCell(scheduler, cells.back(), random);
            cells.pop_back();
        }
        scheduler.Stop();
    }

    void Print() {
        for (uint32_t i = 0; i < kPriorities; ++i) PrintRow(i);
        if (m_worst.Beyond() <= 0) return;
        std::printf("    worst: %s: %.2f ms late, of which a thread did not run %.2f ms\n",
                    m_worst.kind.Text().c_str(), InMs(m_worst.Late()), InMs(m_worst.lost));
    }

private:
    static constexpr uint32_t kCells = kOccupied * kComes * kPriorities;

    weft::SchedulerOptions Options() {
        weft::SchedulerOptions options;
        options.workers = m_mode.workers;
        options.idle = m_mode.idle;
        options.onReport = [](const weft::Report &report, void *) {
            using Code = weft::ReportCode;  // slow threads, or the mode, may cause these
            if (report.code == Code::Stalled || report.code == Code::EndDelayed) return;
            if (report.code != Code::OneCpu) Fail(report.what);
        };
        if (m_mode.isFifo)
            options.threads.onStart = [](uint32_t worker, void *) {
                if (worker == 0 && !BecomeFifo()) Fail("SCHED_FIFO is refused");
            };
        return options;
    }

    void RunCell(weft::TaskScheduler &scheduler, uint32_t number, Random &random) {
        constexpr uint32_t kMost = 8;
        Kind kind;
        kind.occupied = static_cast<Occupied>(number % kOccupied);
        kind.comes = static_cast<Comes>(number / kOccupied % kComes);
        kind.its.priority = static_cast<weft::Priority>(number / (kOccupied * kComes));
        kind.length = kLengths[random.Below(3)];
        kind.workers = m_mode.workers;
        kind.loops = (1 + random.Below(2)) * m_mode.workers;
        RealCell cell(scheduler, kind);
        cell.Occupy();
        const auto await = [&](const char *what, auto isDone) {
            const uint64_t limit = 30'000 * kMs + kind.Bound();
            for (const uint64_t end = NowNs() + limit; !isDone(); usleep(200)) {
                if (NowNs() > end) Fail(kind.Text() + ": not " + what + " in time");
            }
        };
        const auto awaitEnd = [&](weft::Counter &counter) {
            await("ended", [&] { return scheduler.PollCounter(&counter); });
            scheduler.WaitForCounter(&counter);
        };
        std::vector<Item> all;
        for (const uint64_t end = NowNs() + 30 * kMs; all.empty() || NowNs() < end;) {
            usleep(random.Below(2000));
            if (cell.Prepare()) await("waiting", [&] { return cell.IsWaiting(); });
            usleep(200);
            cell.Arrive();
            const uint64_t arrived = NowNs();
            await("begun", [&] { return cell.Begun() != 0; });
            awaitEnd(cell.Item());
            all.push_back({kind, cell.Asked(), cell.Begun()});
            const Item &item = all.back();
            if (item.begun < item.asked) Fail(kind.Text() + ": began too early");
            if (kind.comes != FromSleep && arrived > item.asked + kGap)
                s_gaps.Note(item.asked, arrived);
            if (all.size() == kMost) break;
        }
        cell.End();
        awaitEnd(cell.Loops());
        if (cell.HasLostTasks()) Fail(kind.Text() + ": occupying tasks are lost");
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_cells[static_cast<uint32_t>(kind.its.priority)].insert(number);
        for (Item &item : all) {
            item.lost = s_gaps.Lost(item.asked, item.begun);
            m_items[static_cast<uint32_t>(kind.its.priority)].push_back(item);
            if (item.Beyond() > m_worst.Beyond()) m_worst = item;
        }
    }
    // What a plain thread does beside the workers.
    void Look() {
        for (uint64_t last = NowNs(); !m_stop;) {
            const uint64_t now = NowNs();
            if (now - last > m_largest) m_largest = now - last;
            last = now;
        }
    }

    static double InMs(uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kMs); }

    void PrintRow(uint32_t priority) {
        std::vector<uint64_t> late;
        uint64_t bound = 0, over = 0, beyond = 0;
        for (const Item &item : m_items[priority]) {
            late.push_back(item.Late());
            bound = std::max(bound, item.kind.Bound());
            over += item.Late() > item.kind.Bound();
            beyond += item.Beyond() > 0;
        }
        if (late.empty()) late.push_back(0);
        std::sort(late.begin(), late.end());
        std::printf("%-26s %9.2f  %-6s %5zu %6zu %8.2f %8.2f %8.2f %8.2f %5ju %5ju\n", m_mode.name,
                    InMs(m_largest), kPriorityNames[priority], m_cells[priority].size(),
                    m_items[priority].size(), InMs(late[late.size() / 2]),
                    InMs(late[late.size() * 99 / 100]), InMs(late.back()), InMs(bound), over,
                    beyond);
    }

    const Mode &m_mode;
    const uint64_t m_end;
    std::mutex m_mutex;
    std::vector<Item> m_items[kPriorities];
    std::set<uint32_t> m_cells[kPriorities];  // those that have run
    Item m_worst;
    std::atomic<bool> m_stop{false};
    std::atomic<uint64_t> m_largest{0};  // gap of the looker
    std::thread m_looker{[this] { Look(); }};
};

constexpr const char *kCgroups[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu",
                                    "/sys/fs/cgroup/cpu,cpuacct"};

std::string Cgroup(const char *root, pid_t process) {
    return std::string(root) + "/weft-grid-" + std::to_string(process);
}

bool Write(const std::string &path, const std::string &text) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool good = file >= 0 && write(file, text.data(), text.size()) > 0;
    if (file >= 0) close(file);
    return good;
}

// Puts this process into a cgroup of its own. `Watch` removes the cgroup.
bool LimitTime(uint32_t ms) {
    const std::string quota = std::to_string(ms * 1000);
    for (const char *root : kCgroups) {
        const std::string group = Cgroup(root, getpid());
        if (mkdir(group.c_str(), 0755) != 0) continue;
        const bool isLimited = Write(group + "/cpu.max", quota + " 100000") ||
                               (Write(group + "/cpu.cfs_period_us", "100000") &&
                                Write(group + "/cpu.cfs_quota_us", quota));
        if (isLimited && Write(group + "/cgroup.procs", "0")) return true;
        rmdir(group.c_str());
    }
    return false;
}

// Returns why the machine does not permit the mode, or null.
const char *Enter(const Mode &mode) {
    test::Cpus cpus = test::CpusOfThread();
    if (cpus.size() < mode.cpus) return "there are too few CPUs";
    cpus.resize(mode.cpus);
    if (!test::Restrict(cpus)) return "sched_setaffinity is refused";
    if (mode.quotaMs != 0 && !LimitTime(mode.quotaMs))
        return "no cgroup can be made that limits the processor time";
    if (!mode.isFifo) return nullptr;
    const bool mayBeFifo = BecomeFifo();
    const sched_param none{};
    sched_setscheduler(0, SCHED_OTHER, &none);
    return mayBeFifo ? nullptr : "SCHED_FIFO is refused";
}

Result RunMode(const Mode &mode, uint32_t seconds, uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    s_mode = &mode;
    RealTime::s_seed = seed;
    if (const char *const reason = Enter(mode)) {
        std::printf("%-26s skipped: %s\n", mode.name, reason);
        return Skipped;
    }
    Run run(mode, seconds);
    std::thread other;
    if (mode.schedulers == 2) other = std::thread([&] { run.RunCells(~seed); });
    run.RunCells(seed);
    if (other.joinable()) other.join();
    run.Print();
    return Good;
}

Result Watch(const Mode &mode, pid_t child, uint32_t seconds) {
    constexpr uint32_t kTurnMs = 10;
    int status = 0;
    pid_t waited;
    for (uint32_t ms = 0; (waited = waitpid(child, &status, WNOHANG)) == 0; ms += kTurnMs) {
        const bool stops = mode.stops && ms % 1000 == 500;
        if (stops) kill(child, SIGSTOP);
        usleep((stops ? 1000 : kTurnMs) * 1000);
        if (stops) kill(child, SIGCONT);
        if (ms == (seconds + 90) * 1000) kill(child, SIGABRT);
    }
    for (const char *root : kCgroups) rmdir(Cgroup(root, child).c_str());
    if (waited != child || !WIFEXITED(status)) return Failed;
    return WEXITSTATUS(status) == Skipped ? Skipped : WEXITSTATUS(status) == Good ? Good : Failed;
}

}  // namespace

bool RunGrid(uint32_t seconds, uint64_t seed) {
    const uint32_t share = std::max(1u, seconds / static_cast<uint32_t>(std::size(kModes)));
    std::printf(
        "How late work begins, in ms. The bound is the largest one of the row.\n"
        "cells those that ran, of %u of each priority\n"
        "gap   the longest time that a thread that looks at the clock all the time did not run\n"
        "over  items that were later than the bound of their cell\n"
        "net   those that were later than the bound and the time that a busy thread did not run\n\n"
        "%-26s %9s  %-6s %5s %6s %8s %8s %8s %8s %5s %5s\n",
        kOccupied * kComes, "", "gap", "", "cells", "items", "p50", "p99", "max", "bound", "over",
        "net");
    uint32_t good = 0, skipped = 0;
    for (const Mode &mode : kModes) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) std::exit(RunMode(mode, share, seed));
        const Result result = child < 0 ? Failed : Watch(mode, child, share);
        good += result == Good;
        skipped += result == Skipped;
    }
    const uint32_t failed = static_cast<uint32_t>(std::size(kModes)) - good - skipped;
    std::printf(
        "grid: %u modes ran, %u were skipped, %u failed; tests/soak.sh %u --grid --seed %ju\n",
        good, skipped, failed, seconds, seed);
    return failed == 0;
}

}  // namespace soak
