// Checks limits of wake-up times, of efficiency on many cores, and of the size of recordings.
#include "machine/runs.h"
#include "machine/what_if/commands.h"
#include "weft/task_scheduler.h"

#include <cstdio>
#include <vector>

namespace machine {

namespace {

// Returns the size of a recording of a batch with this number of small tasks, in records.
double RecordsOfBatch(uint32_t count) {
    const auto record = [&](weft::Recorder *recorder) {
        weft::SchedulerOptions options;
        options.workers = 1;
        options.recorder = recorder;
        const auto batch = [&](weft::TaskScheduler *scheduler) {
            const auto function = [](weft::TaskScheduler *, void *) { Work(100); };
            std::vector<weft::Task> tasks(count, weft::Task{function, nullptr});
            weft::Counter counter;
            scheduler->AddTasks(count, tasks.data(), &counter);
            scheduler->WaitForCounter(&counter);
        };
        const weft::Task task = weft::MakeTask(batch);
        weft::TaskScheduler(options).Run(task.function, task.arg);
    };
    return static_cast<double>(Record(record).size()) / 32;
}

}  // namespace

bool PrintBounds() {
    uint32_t passed = 0, failed = 0;
    const auto print = [&](const char *what, double value, const char *relation, double bound,
                           bool holds) {
        ++(holds ? passed : failed);
        std::printf("%-52s %6.3f %s %5.3f%s\n", what, value, relation, bound,
                    holds ? "" : "   FAILED");
    };
    const auto atMost = [&](const char *what, double value, double bound) {
        print(what, value, "<=", bound, value <= bound);
    };
    const auto atLeast = [&](const char *what, double value, double bound) {
        print(what, value, ">=", bound, value >= bound);
    };
    atMost("32 tasks for 32 sleeping workers: wake-up times", WakeUpTimes(32, true), 6);
    atLeast("tasks of 0.5 us on 64 cores: efficiency", BatchEfficiency(64, 500), 0.40);
    atLeast("tasks of 2 us on 64 cores: efficiency", BatchEfficiency(64, 2000), 0.75);
    atLeast("tasks of 10 us on 64 cores: efficiency", BatchEfficiency(64, 10000), 0.93);
    atMost("records for each task of a batch of small tasks",
           (RecordsOfBatch(2000) - RecordsOfBatch(1000)) / 1000, 1.2);
    std::printf("\n%u passed, %u failed\n", passed, failed);
    return failed == 0;
}

}  // namespace machine
