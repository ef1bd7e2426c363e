// Two tasks that wait for each other in turn, so that every wait suspends and is resumed.
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
            scheduler->AddToCounter(player->own);
            if (!player->first) scheduler->DecrementCounter(player->other);
        }
    }
};

}  // namespace bench
