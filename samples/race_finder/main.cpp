// Two tasks race, but with one worker they run one after the other. So an ordinary build shows no
// problem and prints a 2 every time. A build as a race finder reports the race.
//
//     "$(third_party/setup.sh)" --race-finder gmake2
//     make -C build/race-finder/premake config=tsan race_finder
//     build/race-finder/Tsan/race_finder               # reports the race
//     build/race-finder/Tsan/race_finder --no-race     # leaves the race out
//     build/race-finder/Tsan/race_finder --cached      # another one: a cached thread_local address
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

// `Walk` caches the address of its thread's variable across a wait. Meanwhile, `Count` changes the
// variable on the same thread. With more workers, `Walk` may continue on another thread, and then
// both run at the same time.
thread_local int steps = 0;

void Walk(weft::TaskScheduler *scheduler, void *) {
    int *const cached = &steps;
    scheduler->Yield();
    ++*cached;
}
void Count(weft::TaskScheduler *, void *) { ++steps; }

enum class Race { None, SameEnemy, CachedAddress };

void Frame(weft::TaskScheduler *scheduler, void *arg) {
    Enemy orc;
    weft::Counter counter;
    for (int i = 0; i < 100; ++i) {
        scheduler->AddTask({Heal, &orc}, &counter);
        scheduler->WaitForCounter(&counter);
    }
    std::printf("%d steps in an order that waits give\n", orc.health);
    orc.health = 0;
    const Race race = *static_cast<Race *>(arg);
    if (race == Race::SameEnemy) {
        const weft::Task tasks[] = {{Burn, &orc}, {Bite, &orc}};
        scheduler->AddTasksAndWait(2, tasks);
        std::printf("%d of two in no order\n", orc.health);
    } else if (race == Race::CachedAddress) {
        const weft::Task tasks[] = {{Walk, nullptr}, {Count, nullptr}};
        scheduler->AddTasksAndWait(2, tasks);
    }
}

}  // namespace

int main(int argc, char **argv) {
    bool noRace = false, cached = false;
    CLI::App app("Runs two tasks that race. A race finder build reports the race.");
    app.add_flag("--no-race", noRace, "leave the two tasks out");
    app.add_flag("--cached", cached, "race with a cached address of a thread_local variable");
    CLI11_PARSE(app, argc, argv);
    Race race = cached ? Race::CachedAddress : noRace ? Race::None : Race::SameEnemy;
    weft::SchedulerOptions options;
    options.workers = 1;
    weft::TaskScheduler scheduler(options);
    return scheduler.Run(Frame, &race) == weft::Status::Ok ? 0 : 1;
}
