// Submits a batch from different callers.
#pragma once

#include "support/scheduler_run.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

namespace test {

enum class Submitter { Main, HeldUp /* for 50 ms, with its worker */, Outside };

/// A whole run: the submitter submits the tasks, waits for them, and then waits for `last`.
inline void RunBatch(weft::TaskScheduler &scheduler, Submitter submitter, uint32_t count,
                     const weft::Task *tasks, weft::Counter *last = nullptr) {
    if (submitter == Submitter::Outside) {
        REQUIRE(scheduler.Start() == weft::Status::Ok);
        scheduler.AddTasksAndWait(count, tasks);
        if (last != nullptr) scheduler.WaitForCounter(last);
        scheduler.Stop();
        return;
    }
    Batch main(1, [&](weft::TaskScheduler &running, uint32_t) {
        weft::Counter counter;
        running.AddTasks(count, tasks, &counter);
        if (submitter == Submitter::HeldUp)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        running.WaitForCounter(&counter);
        if (last != nullptr) running.WaitForCounter(last);
    });
    const weft::Task task = main[0];
    CHECK(scheduler.Run(task.function, task.arg) == weft::Status::Ok);
}

}  // namespace test
