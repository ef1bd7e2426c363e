// Two tasks that wait for each other in turn, so that every wait suspends and is resumed: for the
// same two counters, or for a new one in each turn.
#pragma once

#include <weft/task_scheduler.h>

#include <cstdint>

namespace bench {

/// One of the two. Its own counter stands at one at first; `first` begins.
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

/// Of turns with a new counter each, which stands at one at first: turn i waits for turns[i] and
/// lets the next one go on. Each player has every second turn.
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
