// A program that keeps its own main loop. weft runs beside it. The thread of the loop is attached,
// and runs tasks while it waits for them. A streaming job of Low tasks is limited to one worker and
// continues across the frames. Trace hooks count the tasks.
//
//     samples/run.sh embed_own_loop
#include <weft/task_scheduler.h>

#include <atomic>
#include <cstdio>
#include <vector>

namespace {

constexpr uint32_t kFrames = 5, kBodies = 64, kStrips = 256, kChunks = 200, kChunkBytes = 20000;
constexpr const char *kSimulate = "simulate", *kDraw = "draw", *kStream = "stream";

// The counts of the hooks. Several workers call the hooks at the same time.
struct Statistics {
    std::atomic<uint32_t> simulated{0}, drawn{0}, streamed{0};
    std::atomic<uint32_t> streaming{0};     // running now
    std::atomic<uint32_t> maxStreaming{0};  // most at the same time

    // Compares names as pointers: a hook gets the same pointer that the task was submitted with.
    static void OnEvent(const weft::TraceEvent &event, void *user) {
        Statistics &self = *static_cast<Statistics *>(user);
        if (event.kind == weft::TraceKind::TaskBegin) self.OnBegin(event.task);
        if (event.kind == weft::TraceKind::TaskEnd) self.OnEnd(event.task);
    }
    void OnBegin(const char *task) {
        if (task != kStream) return;
        const uint32_t now = ++streaming;
        uint32_t most = maxStreaming.load();
        while (most < now && !maxStreaming.compare_exchange_weak(most, now)) {
        }
    }
    void OnEnd(const char *task) {
        if (task == kSimulate) ++simulated;
        if (task == kDraw) ++drawn;
        if (task == kStream) ++streamed, --streaming;
    }
};

struct Body {
    int position = 0;
    static void Simulate(weft::TaskScheduler *, void *arg) {
        static_cast<Body *>(arg)->position += 3;
    }
};

struct Strip {
    const std::vector<Body> *bodies = nullptr;
    int seen = 0;
    static void Draw(weft::TaskScheduler *, void *arg) {
        Strip &strip = *static_cast<Strip *>(arg);
        strip.seen = 0;
        for (const Body &body : *strip.bodies) strip.seen += body.position;
    }
};

struct Chunk {
    uint32_t checksum = 0;
    static void Load(weft::TaskScheduler *, void *arg) {
        for (uint32_t i = 0; i < kChunkBytes; ++i) static_cast<Chunk *>(arg)->checksum += i & 0xff;
    }
};

template <class Item>
std::vector<weft::Task> TasksOf(weft::TaskFunction function, std::vector<Item> &items) {
    std::vector<weft::Task> tasks;
    for (Item &item : items) tasks.push_back({function, &item});
    return tasks;
}

}  // namespace

int main() {
    Statistics statistics;
    weft::SchedulerOptions options;
    // Streaming tasks name group 1, so only its worker runs them. It also runs other tasks.
    const weft::WorkerGroup groups[2] = {{"frame", 2}, {"streaming", 1}};
    constexpr uint8_t kStreaming = 1;
    options.workers = 3;  // threads that weft makes
    options.groups = groups;
    options.groupCount = 2;
    options.trace.user = &statistics;
    options.trace.event = Statistics::OnEvent;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok || scheduler.AttachThread() != weft::Status::Ok)
        return 1;

    std::vector<Body> bodies(kBodies);
    std::vector<Strip> strips(kStrips, Strip{&bodies});
    std::vector<Chunk> chunks(kChunks);
    const std::vector<weft::Task> simulate = TasksOf(Body::Simulate, bodies);
    const std::vector<weft::Task> draw = TasksOf(Strip::Draw, strips);
    const std::vector<weft::Task> load = TasksOf(Chunk::Load, chunks);

    weft::Counter streaming;  // checked only after the last frame
    scheduler.AddTasks(kChunks, load.data(), &streaming,
                       {weft::Priority::Low, weft::kAnyWorker, kStream, kStreaming});

    bool right = true;
    std::printf("frame  simulate  draw\n");
    for (uint32_t frame = 0; frame < kFrames; ++frame) {
        weft::Counter simulated;
        scheduler.AddTasks(kBodies, simulate.data(), &simulated,
                           {weft::Priority::High, weft::kAnyWorker, kSimulate});
        // ... the loop's own work: input, network, ...
        scheduler.WaitForCounter(&simulated);  // this thread runs tasks meanwhile
        scheduler.AddTasksAndWait(kStrips, draw.data(),
                                  {weft::Priority::Normal, weft::kAnyWorker, kDraw});

        const uint32_t drawn = statistics.drawn.exchange(0),
                       moved = statistics.simulated.exchange(0);
        std::printf("%5u  %8u  %4u\n", frame, moved, drawn);
        right &= moved == kBodies && drawn == kStrips;
        for (const Strip &strip : strips) right &= strip.seen == int(kBodies * 3 * (frame + 1));
    }

    scheduler.WaitIdle();  // also waits for the streaming tasks
    right &= scheduler.PollCounter(&streaming) && statistics.streamed == kChunks &&
             statistics.maxStreaming == 1;
    std::printf("streamed %u chunks, %u at once: %s\n", statistics.streamed.load(),
                statistics.maxStreaming.load(), right ? "right" : "WRONG");

    scheduler.DetachThread();
    scheduler.Stop();
    return right ? 0 : 1;
}
