// Calls a program's part with a definition of worlds that makes them run on box2d's own threads, or
// on weft.
#pragma once

#include "box2d/box2d_tasks.h"
#include "weft/closure.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <box2d/box2d.h>

namespace engines {

/// Calls `body(definition)`. `system` is weft or own. On weft the call is in a task.
template <class Body>
void OnSystem(const char *system, int threads, const Body &body) {
    b2WorldDef definition = b2DefaultWorldDef();
    if (std::strcmp(system, "weft") != 0) {
#if defined(BOX2D_HAS_THREADS)
        definition.workerCount = threads;
#endif
        return body(definition);
    }
    weft::SchedulerOptions options;
    options.workers = static_cast<uint32_t>(threads);
    weft::TaskScheduler scheduler(options);
    auto main = [&](weft::TaskScheduler *) {
        weft::Box2dTasks tasks(scheduler);
        tasks.Use(definition);
        body(definition);
    };
    const weft::Task task = weft::MakeTask(main);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) std::abort();
}

/// Steps a world, and prints steps a second and a hash. The first step, which makes all contacts,
/// is not measured.
template <class Step, class Hash>
void Measure(int steps, const Step &step, const Hash &hash) {
    step(0);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 1; i < steps; ++i) step(i);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::printf("%.2f %016llx\n", (steps - 1) / time.count(),
                static_cast<unsigned long long>(hash()));
}

}  // namespace engines
