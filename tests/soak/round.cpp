// Makes and runs the schedulers of a round, each on a thread of its own.
#include "soak/round.h"

#include "soak/instance.h"

#include <thread>
#include <vector>

namespace soak {

void RunRound(uint64_t seed, bool hooks, Figures &figures) {
    Random random(seed);
    const uint32_t schedulers = random.OneIn(4) ? 2 + random.Below(2) : 1;
    std::vector<std::thread> others;
    for (uint32_t i = 1; i < schedulers; ++i) {
        others.emplace_back([&figures, hooks, own = random.Next()] {
            Instance(own, hooks, false, figures).Live();
        });
    }
    Instance(random.Next(), hooks, false, figures).Live();
    for (std::thread &thread : others) thread.join();
    figures.rounds.fetch_add(1);
}

}  // namespace soak
