// Runs a workload as the main task of weft. All options but the number of workers are the defaults.
#pragma once

#include "rounds.h"

#include <weft/task_scheduler.h>

namespace bench {

struct RunsOnWeft {
    static inline weft::TaskScheduler *s_running = nullptr;

    template <class Body>
    static void Run(uint32_t workers, Body body) {
        weft::SchedulerOptions options;
        options.workers = workers;
        RunWith(options, body);
    }

    template <class Body>
    static void RunWith(const weft::SchedulerOptions &options, Body body) {
        weft::TaskScheduler scheduler(options);
        s_running = &scheduler;
        auto main = [&](weft::TaskScheduler *) { body(); };
        const weft::Task task = weft::MakeTask(main);
        if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    }
};

}  // namespace bench
