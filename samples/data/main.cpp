// A loader of small "assets". It counts parts by worker, gives every function the name of the
// current asset, stops a search when one task has found a result, and reports an asset that cannot
// be read.
//
//     samples/run.sh data
#include <weft/algorithms/parallel_for.h>
#include <weft/data/cancellation.h>
#include <weft/data/exception_collector.h>
#include <weft/data/fiber_local.h>
#include <weft/data/worker_local.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kAssets = 24, kParts = 8, kBroken = 17;

struct Loader {
    explicit Loader(weft::TaskScheduler &running)
        : scheduler(running), parts(running, 0u), asset(running, "no asset") {}

    weft::TaskScheduler &scheduler;
    weft::WorkerLocal<uint32_t> parts;    // parts that each worker has read
    weft::FiberLocal<std::string> asset;  // the asset of the running task
    std::atomic<uint32_t> wrongNames{0};

    // Stands for a function deep inside a reader. No parameter gives it the name.
    void Fail() { throw std::runtime_error("cannot read " + *asset.Get()); }

    void LoadPart(uint32_t index, uint32_t part) {
        const weft::FiberLocal<std::string>::Scope scope(
            asset, std::to_string(index) + "/" + std::to_string(part));
        ++*parts.Get();
        if (index == kBroken && part == 3) Fail();
    }

    void Load(uint32_t index) {
        const std::string name = std::to_string(index);
        const weft::FiberLocal<std::string>::Scope scope(asset, name);
        weft::ExceptionCollector failures;
        auto loadPart = [&](uint32_t part) {
            return [this, index, part](weft::TaskScheduler *) { LoadPart(index, part); };
        };
        std::vector<decltype(failures.Wrap(loadPart(0)))> work;
        for (uint32_t part = 0; part < kParts; ++part)
            work.push_back(failures.Wrap(loadPart(part)));
        weft::Counter counter;
        for (auto &each : work) scheduler.AddTask(weft::MakeTask(each), &counter);
        // Some of these tasks run here, on top of this task.
        scheduler.WaitForCounter(&counter);
        wrongNames += *asset.Get() != name;
        weft::WaitAndRethrow(scheduler, &counter, failures);
    }
};

// Finds a number whose square ends with these digits. The range has eight of them, and one is
// enough.
uint64_t Find(weft::TaskScheduler &scheduler) {
    weft::CancelSource found(scheduler);
    weft::LoopOptions options;
    options.cancel = found.Token();
    std::atomic<uint64_t> answer{0};
    weft::ParallelFor(
        scheduler, 1, uint64_t{100'000'000},
        [&](uint64_t number) {
            if (number * number % 100'000'000 != 87'654'321) return;
            answer = number;
            found.Cancel();
        },
        options);
    return answer;
}

}  // namespace

int main() {
    weft::SchedulerOptions options;
    options.workers = 2;
    weft::TaskScheduler scheduler(options);
    uint32_t parts = 0, wrongNames = 0;
    uint64_t number = 0;
    std::string error;
    auto play = [&](weft::TaskScheduler *) {
        Loader loader(scheduler);
        weft::ExceptionCollector failures;
        auto loadAsset = [&](uint32_t index) {
            return [&loader, index](weft::TaskScheduler *) { loader.Load(index); };
        };
        std::vector<decltype(failures.Wrap(loadAsset(0)))> work;
        for (uint32_t index = 0; index < kAssets; ++index)
            work.push_back(failures.Wrap(loadAsset(index)));
        weft::Counter counter;
        for (auto &each : work) scheduler.AddTask(weft::MakeTask(each), &counter);
        try {
            weft::WaitAndRethrow(scheduler, &counter, failures);
        } catch (const std::exception &first) {
            error = first.what();
        }
        loader.parts.ForEach([&](uint32_t each) { parts += each; });
        wrongNames = loader.wrongNames;
        number = Find(scheduler);
    };
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    std::printf("%u parts; \"%s\"; %llu squared ends with 87654321\n", parts, error.c_str(),
                static_cast<unsigned long long>(number));
    const bool right = parts == kAssets * kParts && wrongNames == 0 &&
                       error == "cannot read 17/3" && number * number % 100'000'000 == 87'654'321;
    return right ? 0 : 1;
}
