// Checks limits of wake-up times, of efficiency on many cores, and of the size of recordings.
#include "machine/runs.h"
#include "machine/what_if/commands.h"
#include "support/next.h"
#include "weft/task_scheduler.h"

#include <cstdio>
#include <string>
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
        const bool isNext = test::IsNext(what), isRight = holds != isNext;
        ++(isRight ? passed : failed);
        std::printf("%-58s %6.3f %s %5.3f%s\n", what, value, relation, bound,
                    !isRight ? "   FAILED"
                    : isNext ? "   fails as expected"
                             : "");
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
    const struct {
        const char *what;
        UnevenLoop loop;
    } uneven[] = {
        {"ParallelFor, last indices expensive", UnevenLoop::For},
        {"ParallelFor with grain 1, the same", UnevenLoop::ForOne},
        {"ParallelForEach of a list, the same", UnevenLoop::ForEach},
        {"ParallelReduce, the same", UnevenLoop::Reduce},
        {"ParallelScan, the same", UnevenLoop::Scan},
        {"ParallelPipeline, the same", UnevenLoop::Pipeline},
    };
    for (const auto &[what, loop] : uneven) {
        const std::string text = what;
        atMost((text + ", 2 cores: time").c_str(), UnevenTime(loop, 2, 16, 10e6), 1.1);
        atMost((text + ", 8 cores: time").c_str(), UnevenTime(loop, 8, 64, 5e6), 1.1);
    }
    std::printf("\n%u passed, %u failed\n", passed, failed);
    return failed == 0;
}

}  // namespace machine
