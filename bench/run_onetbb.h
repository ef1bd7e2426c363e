// Runs a workload in a task arena of oneTBB.
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstdint>

namespace bench {

struct RunsOnOneTbb {
    template <class Body>
    static void Run(uint32_t workers, Body body) {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
        tbb::task_arena arena(static_cast<int>(workers));
        arena.execute(body);
    }
};

}  // namespace bench
