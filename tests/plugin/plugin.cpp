// A library that contains weft. The test of the same name loads it and unloads it.
#include <weft/algorithms/parallel_for.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>

#include <atomic>
#include <chrono>
#include <memory>

namespace {

std::unique_ptr<weft::TaskScheduler> s_scheduler;
std::atomic<uint32_t> s_reports{0};

}  // namespace

// All return how many mistakes there were.
extern "C" {

__attribute__((visibility("default"))) int PluginStart() {
    weft::SchedulerOptions options;
    options.workers = 1;
    options.fibers = 9;
    options.reportStackOverflow = true;
    options.onReport = [](const weft::Report &, void *) { s_reports.fetch_add(1); };
    s_scheduler = std::make_unique<weft::TaskScheduler>(options);
    return s_scheduler->Start() != weft::Status::Ok;
}

__attribute__((visibility("default"))) int PluginWork() {
    if (s_scheduler->AttachThread() != weft::Status::Ok) return 1;
    std::atomic<int> calls{0};
    weft::ParallelFor(*s_scheduler, 0, 100, [&](int) { calls.fetch_add(1); });
    weft::SleepFor(*s_scheduler, std::chrono::microseconds(10));
    s_scheduler->DetachThread();
    return calls.load() != 100;
}

__attribute__((visibility("default"))) int PluginStop() {
    s_scheduler->Stop();
    s_scheduler.reset();
    return static_cast<int>(s_reports.exchange(0));
}

}  // extern "C"
