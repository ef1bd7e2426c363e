// Rows of the frame layer. They compare tagged memory with malloc and with an arena under a mutex,
// and measure pipelines with one to three frames in flight.
#include "bodies.h"

#include <weft/frame/frame_pipeline.h>
#include <weft/frame/tagged_heap.h>
#include <weft/task_scheduler.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace bench {

namespace {

constexpr uint32_t kTasks = 16, kEach = 2000, kFrames = 50;

size_t BytesOf(uint32_t index) { return 16 + Mix(index) % 15 * 16; }  // 16 to 240

// The memory from which a frame's tasks allocate, and how it is freed.
struct Tagged {
    explicit Tagged(weft::TaskScheduler &scheduler)
        : pool(weft::SchedulerOptions{}, 32), heap(scheduler, weft::SchedulerOptions{}, pool, 1) {}
    void *Allocate(uint32_t, uint32_t, size_t bytes) { return heap.Allocate(0, bytes); }
    void FreeOf(uint32_t) {}
    void FreeAll() { heap.Free(0); }
    weft::BlockPool pool;
    weft::TaggedHeap heap;
};

struct Malloc {
    explicit Malloc(weft::TaskScheduler &) : pieces(kTasks * kEach) {}
    void *Allocate(uint32_t task, uint32_t index, size_t bytes) {
        return pieces[task * kEach + index] = std::malloc(bytes);
    }
    void FreeOf(uint32_t task) {  // in parallel: one task for each allocating task
        for (uint32_t i = 0; i < kEach; ++i) std::free(pieces[task * kEach + i]);
    }
    void FreeAll() {}
    std::vector<void *> pieces;
};

struct MutexArena {
    explicit MutexArena(weft::TaskScheduler &) : memory(new char[kTasks * kEach * 256]) {}
    void *Allocate(uint32_t, uint32_t, size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex);
        return memory.get() + std::exchange(used, used + bytes);
    }
    void FreeOf(uint32_t) {}
    void FreeAll() { used = 0; }
    std::mutex mutex;
    std::unique_ptr<char[]> memory;
    size_t used = 0;
};

template <class Heap>
struct HeapFrames {
    struct Part {
        HeapFrames *frames;
        uint32_t task;
    };
    HeapFrames(weft::TaskScheduler &scheduler) : heap(scheduler) {
        for (uint32_t i = 0; i < kTasks; ++i) {
            parts[i] = {this, i};
            allocate[i] = {Allocate, &parts[i]};
            free[i] = {Free, &parts[i]};
        }
    }
    static void Allocate(weft::TaskScheduler *, void *arg) {
        const Part &part = *static_cast<Part *>(arg);
        for (uint32_t i = 0; i < kEach; ++i) {
            auto *piece =
                static_cast<uint64_t *>(part.frames->heap.Allocate(part.task, i, BytesOf(i)));
            if (piece == nullptr) Wrong("no memory");
            *piece = i;
        }
    }
    static void Free(weft::TaskScheduler *, void *arg) {
        const Part &part = *static_cast<Part *>(arg);
        part.frames->heap.FreeOf(part.task);
    }
    void Frame(weft::TaskScheduler *scheduler) {
        scheduler->AddTasksAndWait(kTasks, allocate);
        scheduler->AddTasksAndWait(kTasks, free);
        heap.FreeAll();
    }
    Heap heap;
    Part parts[kTasks];
    weft::Task allocate[kTasks], free[kTasks];
};

// Returns the elapsed nanoseconds for each allocation and its release.
template <class Heap>
double AllocationCost(uint32_t workers) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    HeapFrames<Heap> frames(scheduler);
    double cost = 0;
    auto main = [&](weft::TaskScheduler *self) {
        for (uint32_t i = 0; i < 3; ++i) frames.Frame(self);
        const Clock::time_point begin = Clock::now();
        for (uint32_t i = 0; i < kFrames; ++i) frames.Frame(self);
        cost = Since(begin) / kFrames / kTasks / kEach;
    };
    const weft::Task task = weft::MakeTask(main);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    return cost;
}

// Three stages of 100 to 300 microseconds, 600 microseconds a frame on average. Each stage is one
// task.
struct Pipeline {
    static double Nanoseconds(uint64_t frame, uint32_t stage) {
        return 100e3 + static_cast<double>(Mix(frame * 3 + stage + 1) % 201) * 1e3;
    }
    struct Stage {
        Pipeline *pipeline;
        uint32_t index;
        void operator()(weft::TaskScheduler *, const weft::FrameParams &params) {
            Spin(Nanoseconds(params.frame, index));
            if (index != 2) return;
            pipeline->latency += Since(params.stages[0].begin);
        }
    };
    double latency = 0;
};

// Returns microseconds: the mean time of a frame, or from the begin of its first stage to the end
// of its last one if `latency`.
double FramesInFlight(uint32_t workers, uint32_t inFlight, bool latency) {
    constexpr uint32_t kRunFrames = 200;
    weft::SchedulerOptions options;
    options.workers = workers;
    Pipeline state;
    Pipeline::Stage stages[3] = {{&state, 0}, {&state, 1}, {&state, 2}};
    const weft::FrameStage list[3] = {weft::MakeStage(stages[0]), weft::MakeStage(stages[1]),
                                      weft::MakeStage(stages[2])};
    weft::FramePipeline pipeline(options, 3, list, inFlight);
    double elapsed = 0;
    auto main = [&](weft::TaskScheduler *self) {
        pipeline.Run(self, 20);
        state.latency = 0;
        const Clock::time_point begin = Clock::now();
        pipeline.Run(self, kRunFrames);
        elapsed = Since(begin);
    };
    const weft::Task task = weft::MakeTask(main);
    if (weft::TaskScheduler(options).Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    if (!pipeline.Frames().HasFrameCompleted(kRunFrames - 1)) Wrong("a frame was lost");
    return (latency ? state.latency : elapsed) / kRunFrames / 1e3;
}

}  // namespace

void AddFrameLayerRows(std::vector<Row> &rows, uint32_t workers) {
    const auto add = [&](const char *workload, const char *system, const char *unit,
                         std::function<double()> measure) {
        rows.push_back({workload, system, workers, unit, std::move(measure), {}});
    };
    add("frame_memory", "weft", "ns", [=] { return AllocationCost<Tagged>(workers); });
    add("frame_memory", "malloc", "ns", [=] { return AllocationCost<Malloc>(workers); });
    add("frame_memory", "mutex_arena", "ns", [=] { return AllocationCost<MutexArena>(workers); });
    if (workers < 2) return;
    const char *const systems[] = {"1_in_flight", "weft", "3_in_flight"};  // weft: two, the default
    for (uint32_t i = 0; i < 3; ++i) {
        add("frames_in_flight_time", systems[i], "us",
            [=] { return FramesInFlight(workers, i + 1, false); });
        add("frames_in_flight_delay", systems[i], "us",
            [=] { return FramesInFlight(workers, i + 1, true); });
    }
}

}  // namespace bench
