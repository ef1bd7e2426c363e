// Two tasks race, but with one worker they run one after the other. So an ordinary build shows no
// problem and prints a 2 every time. A build as a race finder reports the race.
//
//     "$(third_party/setup.sh)" --race-finder gmake2
//     make -C build/race-finder/premake config=tsan race_finder
//     build/race-finder/Tsan/race_finder               # reports the race
//     build/race-finder/Tsan/race_finder --no-race     # leaves the race out
#include <weft/task_scheduler.h>

#include <CLI/CLI.hpp>

#include <cstdio>

namespace {

struct Enemy {
    int health = 0;
};

// Both tasks read, change and write the same enemy, and nothing orders them.
void Burn(weft::TaskScheduler *, void *enemy) { static_cast<Enemy *>(enemy)->health += 1; }
void Bite(weft::TaskScheduler *, void *enemy) { static_cast<Enemy *>(enemy)->health += 1; }

// No race: each of these tasks begins after a wait for the one before it.
void Heal(weft::TaskScheduler *, void *enemy) { static_cast<Enemy *>(enemy)->health += 1; }

void Frame(weft::TaskScheduler *scheduler, void *arg) {
    Enemy orc;
    weft::Counter counter;
    for (int i = 0; i < 100; ++i) {
        scheduler->AddTask({Heal, &orc}, &counter);
        scheduler->WaitForCounter(&counter);
    }
    std::printf("%d steps in an order that waits give\n", orc.health);
    orc.health = 0;
    if (*static_cast<bool *>(arg)) {
        const weft::Task tasks[] = {{Burn, &orc}, {Bite, &orc}};
        scheduler->AddTasks(2, tasks, &counter);
        scheduler->WaitForCounter(&counter);
        std::printf("%d of two in no order\n", orc.health);
    }
}

}  // namespace

int main(int argc, char **argv) {
    bool noRace = false;
    CLI::App app("Runs two tasks that race. A race finder build reports the race.");
    app.add_flag("--no-race", noRace, "leave the two tasks out");
    CLI11_PARSE(app, argc, argv);
    bool races = !noRace;
    weft::SchedulerOptions options;
    options.workers = 1;
    weft::TaskScheduler scheduler(options);
    return scheduler.Run(Frame, &races) == weft::Status::Ok ? 0 : 1;
}
