// A game with 200 frames a second, whose path finder is sometimes slower than a frame. The frame
// waits for a new path for at most two milliseconds. Otherwise it uses the old path. Until the next
// frame, the fiber sleeps, and its worker does not.
//
//     samples/run.sh timed_waits
#include <weft/time.h>

#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kFrames = 40;

// Finds paths in the background, one at a time. Every fourth path takes longer than two frames.
struct PathFinder {
    weft::Counter running;
    uint32_t asked = 0, found = 0;

    static void Find(weft::TaskScheduler *scheduler, void *arg) {
        PathFinder &finder = *static_cast<PathFinder *>(arg);
        // stands for the computation
        weft::SleepFor(*scheduler, finder.asked % 4 == 0 ? 12ms : 200us);
        finder.found = finder.asked;
    }
    void Ask(weft::TaskScheduler *scheduler) {
        ++asked;
        scheduler->AddTask({Find, this}, &running);
    }
};

struct Game {
    uint32_t fresh = 0, old = 0, late = 0;

    void Play(weft::TaskScheduler *scheduler) {
        PathFinder finder;
        weft::Clock::time_point next = weft::Now();
        for (uint32_t frame = 0; frame < kFrames; ++frame) {
            if (finder.running.IsZero()) finder.Ask(scheduler);
            // This thread begins only High tasks meanwhile. So it cannot begin Find, which may take
            // longer than 2 ms: the other worker runs it.
            if (weft::WaitForCounterFor(*scheduler, &finder.running, 2ms,
                                        weft::Meanwhile::HighOnly)) {
                ++fresh;  // finder.found is visible
            } else {
                ++old;
            }
            next += 5ms;
            late += weft::Now() > next;
            weft::SleepUntil(*scheduler, next);
        }
        scheduler->WaitForCounter(&finder.running);
        if (finder.found != finder.asked) late = ~0u;
    }
};

}  // namespace

int main() {
    Game game;
    weft::SchedulerOptions options;
    options.workers = 2;
    weft::TaskScheduler scheduler(options);
    auto play = [&](weft::TaskScheduler *running) { game.Play(running); };
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    std::printf("%u frames: %u with a new path, %u with the old one; %u began late\n", kFrames,
                game.fresh, game.old, game.late);
    return game.fresh + game.old == kFrames && game.fresh != 0 && game.old != 0 ? 0 : 1;
}
