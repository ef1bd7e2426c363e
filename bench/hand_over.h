// Two tasks that wait for each other in turn, so that every wait suspends a fiber and resumes it.
// Player uses the same two counters all the time. FreshPlayer uses a new counter for each turn.
#pragma once

#include <weft/task_scheduler.h>

#include <cstdint>

namespace bench {

/// One of the two tasks. Its own counter is 1 at first. The player with `first` begins.
struct Player {
    weft::Counter *own, *other;
    uint32_t turns;
    bool first;

    static void Play(weft::TaskScheduler *scheduler, void *arg) {
        const Player *player = static_cast<Player *>(arg);
        for (uint32_t i = 0; i < player->turns; ++i) {
            if (player->first) scheduler->DecrementCounter(player->other);
            scheduler->WaitForCounter(player->own);
            scheduler->IncrementCounter(player->own);
            if (!player->first) scheduler->DecrementCounter(player->other);
        }
    }
};

/// A player whose turns have a counter each, which is 1 at first. Turn i waits for turns[i] and
/// then decrements the counter of the next turn. Each player has every second turn.
struct FreshPlayer {
    struct One : weft::Counter {
        One() noexcept : Counter(1) {}
    };
    One *turns;
    uint32_t count;
    uint32_t first;

    static void Play(weft::TaskScheduler *scheduler, void *arg) {
        const FreshPlayer *player = static_cast<FreshPlayer *>(arg);
        if (player->first == 0) scheduler->DecrementCounter(&player->turns[0]);
        for (uint32_t i = player->first; i < player->count; i += 2) {
            scheduler->WaitForCounter(&player->turns[i]);
            if (i + 1 < player->count) scheduler->DecrementCounter(&player->turns[i + 1]);
        }
    }
};

}  // namespace bench
