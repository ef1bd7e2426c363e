// A level that ends while it still loads. Its tasks belong to a group, so they can be cancelled
// together. An autosave runs periodically, a hint is withdrawn before it is due, and textures are
// streamed in with a budget for each frame.
//
//     samples/run.sh groups
#include <weft/data/task_group.h>
#include <weft/deferred.h>
#include <weft/frame/budgeted_queue.h>
#include <weft/periodic_task.h>
#include <weft/time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr uint32_t kAssets = 200, kSaves = 3, kTextures = 20;

struct Loading {
    uint32_t loaded = 0, skipped = 0;
};

// Loads assets, until half of them are there. Then the player leaves the level.
Loading LoadAndLeave(weft::TaskScheduler &scheduler) {
    weft::TaskGroup level(scheduler);
    std::atomic<uint32_t> loaded{0};
    auto load = [&](weft::TaskScheduler *) {
        if (++loaded == kAssets / 2) level.Cancel();
    };
    auto hurry = [](weft::TaskScheduler *) { std::printf("It takes long!\n"); };

    weft::TaskOptions ofLevel;
    ofLevel.taskGroup = &level;
    // Cancel also withdraws this task. Otherwise Wait would take half a minute.
    weft::AddTaskAt(scheduler, weft::Now() + 30s, weft::MakeTask(hurry), nullptr, ofLevel);
    level.AddTasks(kAssets, std::vector<weft::Task>(kAssets, weft::MakeTask(load)).data());

    if (level.Wait() != weft::GroupResult::Cancelled) return {};
    return {loaded, level.SkippedCount()};
}

// Saves the game each millisecond, three times.
uint64_t Save(weft::TaskScheduler &scheduler) {
    weft::Counter toGo(kSaves);
    auto save = [&](weft::TaskScheduler *running) {
        if (!toGo.IsZero()) running->DecrementCounter(&toGo);
    };
    weft::PeriodicTask autosave(scheduler, 1ms, weft::MakeTask(save));
    autosave.Start();
    scheduler.WaitForCounter(&toGo);
    autosave.Cancel();
    autosave.Wait();
    return autosave.RunCount();
}

// Takes back a task that is not due yet. The run would last for a minute otherwise.
bool WithdrawHint(weft::TaskScheduler &scheduler) {
    auto show = [](weft::TaskScheduler *) { std::printf("Press E to open the door\n"); };
    weft::DeferredHandle hint;
    weft::Counter shown;
    weft::AddTaskAt(scheduler, weft::Now() + 1min, weft::MakeTask(show), &shown, {}, &hint);
    const bool wasInTime = weft::Withdraw(scheduler, hint);
    scheduler.WaitForCounter(&shown);
    return wasInTime;
}

// Streams textures, for one millisecond of each frame. Returns the number of frames.
uint32_t Stream(weft::TaskScheduler &scheduler) {
    weft::Task slots[kTextures];
    weft::BudgetedQueue streaming(scheduler, kTextures, slots);
    auto decode = [](weft::TaskScheduler *running) {
        weft::SleepFor(*running, 300us);  // stands for the work
    };
    for (uint32_t i = 0; i < kTextures; ++i) streaming.Add(weft::MakeTask(decode));
    uint32_t frames = 0;
    for (; streaming.QueuedCount() != 0; ++frames) {
        streaming.BeginFrame(1ms);
        streaming.Wait();  // stands for the rest of the frame
    }
    return frames;
}

}  // namespace

int main() {
    Loading loading;
    uint64_t saves = 0;
    bool wasInTime = false;
    uint32_t frames = 0;
    auto play = [&](weft::TaskScheduler *scheduler) {
        loading = LoadAndLeave(*scheduler);
        saves = Save(*scheduler);
        wasInTime = WithdrawHint(*scheduler);
        frames = Stream(*scheduler);
    };
    weft::SchedulerOptions options;
    options.workers = 2;
    weft::TaskScheduler scheduler(options);
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    std::printf("%u assets loaded, %u skipped; %llu saves; the hint was %s\n", loading.loaded,
                loading.skipped, static_cast<unsigned long long>(saves),
                wasInTime ? "withdrawn" : "shown");
    std::printf("%u textures in %u frames\n", kTextures, frames);
    // At most four textures of 300 us begin in a frame.
    const bool right = loading.loaded >= kAssets / 2 &&
                       loading.loaded + loading.skipped == kAssets + 1 && saves >= kSaves &&
                       wasInTime && frames >= kTextures / 4 && frames <= kTextures;
    return right ? 0 : 1;
}
