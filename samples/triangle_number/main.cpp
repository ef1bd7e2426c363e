// Adds up the numbers from 1 to 47,593,243, 10,000 at a time, and checks the sum.
//
//     samples/run.sh triangle_number [--fibers N]
#include <weft/task_scheduler.h>

#include <CLI/CLI.hpp>

#include <cinttypes>
#include <cstdio>
#include <vector>

namespace {

constexpr uint64_t kTriangle = 47593243;
constexpr uint64_t kAdditionsPerTask = 10000;

struct Part {
    uint64_t first;
    uint64_t last;
    uint64_t sum;
};

void AddNumbers(weft::TaskScheduler *, void *arg) {
    Part &part = *static_cast<Part *>(arg);
    for (uint64_t number = part.first; number <= part.last; ++number) part.sum += number;
}

void TriangleNumber(weft::TaskScheduler *scheduler, void *arg) {
    std::vector<Part> parts;
    for (uint64_t first = 1; first <= kTriangle; first += kAdditionsPerTask) {
        const uint64_t last = first + kAdditionsPerTask - 1;
        parts.push_back({first, last < kTriangle ? last : kTriangle, 0});
    }
    std::vector<weft::Task> tasks;
    for (Part &part : parts) tasks.push_back({AddNumbers, &part});

    weft::Counter counter;
    scheduler->AddTasks(static_cast<uint32_t>(tasks.size()), tasks.data(), &counter);
    scheduler->WaitForCounter(&counter);

    uint64_t sum = 0;
    for (const Part &part : parts) sum += part.sum;
    *static_cast<uint64_t *>(arg) = sum;
}

}  // namespace

int main(int argc, char **argv) {
    weft::SchedulerOptions options;
    CLI::App app("Adds up the numbers from 1 to 47,593,243 as tasks, and checks the sum.");
    app.add_option("--fibers", options.fibers,
                   "SchedulerOptions::fibers, up to 1,000,000; 0 = automatic");
    CLI11_PARSE(app, argc, argv);
    weft::TaskScheduler scheduler(options);
    uint64_t sum = 0;
    if (scheduler.Run(TriangleNumber, &sum) != weft::Status::Ok) return 1;

    const uint64_t expected = kTriangle * (kTriangle + 1) / 2;
    std::printf("triangle number %" PRIu64 " is %" PRIu64 " (%u workers): %s\n", kTriangle, sum,
                scheduler.WorkerCount(), sum == expected ? "right" : "WRONG");
    return sum == expected ? 0 : 1;
}
