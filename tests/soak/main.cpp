// Runs rounds of random task graphs for a given time, each with its own seed, under signals,
// changing CPU masks and load.
//
// soak --help prints the options. With --seed each round has this seed, which is how to reproduce a
// failure (the schedule differs each time). The first process only watches and makes the load. A
// second process soaks. So the seed is known, however the second process ends.
#include "soak/figures.h"
#include "soak/grid.h"
#include "soak/noise.h"
#include "soak/round.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <new>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace soak {

void Figures::Fail(const char *format, ...) noexcept {
    if (failed.fetch_add(1) != 0) return;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
}

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
    uint32_t seconds = 60;
    uint64_t seed =  // of the first round
        static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() / 1000);
    bool same = false;  // true if --seed is given: all rounds have this seed
    bool hooks = false;
    bool grid = false;
};

void Soak(const Settings &settings, Figures &figures) {
    const auto end = Clock::now() + std::chrono::seconds(settings.seconds);
    const Noise noise(figures);
    uint64_t seed = settings.seed;
    do {
        figures.seed.store(seed);
        RunRound(seed, settings.hooks, figures);
        if (!settings.same) ++seed;
    } while (Clock::now() < end && figures.failed.load() == 0);
}

// Loads a third of a CPU until the child has ended or is stuck. Time is counted in turns, so the
// process may be stopped meanwhile. After a failure the limit is shorter, because the failure may
// be why a round does not end.
int Watch(pid_t child, const Figures &figures, bool &stuck) {
    constexpr int kTurnMs = 15, kStuckMs = 120000;
    uint64_t rounds = 0;
    for (int since = 0;; since += kTurnMs) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) return status;
        if (figures.rounds.load() != rounds) since = 0;
        rounds = figures.rounds.load();
        if (since > (figures.failed.load() != 0 ? kStuckMs / 12 : kStuckMs) && !stuck) {
            stuck = true;
            kill(child, SIGABRT);  // the core file shows where it is stuck
        }
        const auto until = Clock::now() + std::chrono::milliseconds(kTurnMs / 3);
        while (Clock::now() < until) {
        }
        usleep(kTurnMs * 2 / 3 * 1000);
    }
}

uint64_t Get(const std::atomic<uint64_t> &figure) { return figure.load(); }

bool Judge(int status, bool stuck, const Settings &settings, const Figures &figures) {
    const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended && figures.failed.load() == 0) return true;
    const char *what = figures.failed.load() != 0 ? figures.failure
                       : stuck                    ? "no round ended for two minutes"
                                                  : "the process died";
    std::printf("FAILED in the round of seed %ju: %s (status %d)\n", Get(figures.seed), what,
                status);
    std::printf("again: tests/soak.sh 60 --seed %ju%s\n", Get(figures.seed),
                settings.hooks ? " --hooks" : "");
    return false;
}

void Print(const Figures &figures, const Settings &settings, double seconds) {
    std::printf("%ju tasks (%ju in graphs with waits), %ju waits, ", Get(figures.tasks),
                Get(figures.graphTasks), Get(figures.waits));
    if (settings.hooks) std::printf("%ju fiber switches, ", Get(figures.switches));
    std::printf(
        "%ju schedulers in %ju runs, %ju signals, %ju changes of CPUs, %.0f s, %.1f million "
        "tasks/s\n",
        Get(figures.schedulers), Get(figures.runs), Get(figures.signals), Get(figures.masks),
        seconds, static_cast<double>(Get(figures.tasks)) / seconds / 1e6);
}

int Main(int count, char **arguments) {
    Settings settings;
    CLI::App app("Runs random task graphs beside signals, changing CPUs and a load.");
    app.add_option("--seconds", settings.seconds, "how long")->capture_default_str();
    const CLI::Option *const seed =
        app.add_option("--seed", settings.seed,
                       "run only rounds of this seed; by default the clock gives the first");
    app.add_flag("--hooks", settings.hooks,
                 "count fiber switches, and check each task by the trace hooks, too");
    app.add_flag("--grid", settings.grid,
                 "instead measure how late work begins, in different settings of the machine");
    CLI11_PARSE(app, count, arguments);
    if (settings.grid) return RunGrid(settings.seconds, settings.seed) ? 0 : 1;
    settings.same = seed->count() != 0;

    void *shared =
        mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    Figures &figures = *new (shared) Figures;
    const auto begin = Clock::now();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        Soak(settings, figures);
        return figures.failed.load() != 0;
    }
    bool stuck = false;
    const int status = Watch(child, figures, stuck);
    const bool good = Judge(status, stuck, settings, figures);
    Print(figures, settings, std::chrono::duration<double>(Clock::now() - begin).count());
    return good ? 0 : 1;
}

}  // namespace

}  // namespace soak

int main(int count, char **arguments) { return soak::Main(count, arguments); }
