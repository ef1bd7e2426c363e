// A complete main loop on weft. samples/main_loop/README.md explains each part: an attached main
// thread, three stages of 200 tasks for each frame, a streaming job beside the frames, a wait with
// a budget of 2 ms, calls that only the main thread may make, an error handler, and the shutdown.
//
//     samples/run.sh main_loop
#include <weft/blocking/blocking_calls.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using weft::Priority;

constexpr uint32_t kFrames = 60, kBodies = 200;

// The error handler. Any thread may call it, and several threads at once. It must not wait.
std::atomic<uint32_t> s_reports{0};
void OnReport(const weft::Report &report, void *) {
    ++s_reports;
    std::fprintf(stderr, "weft: %s. %s (task: %s)%s\n", report.what, report.hint,
                 report.task != nullptr ? report.task : "none",
                 report.fatal ? " The process ends now." : "");
}

// One body of the scene. Each of its stages is a task: a function and a pointer to the body.
struct Body {
    float position = 0, pose = 0;
    uint32_t pixels = 0;

    static void Move(weft::TaskScheduler *, void *arg) { static_cast<Body *>(arg)->position += 1; }
    static void Animate(weft::TaskScheduler *, void *arg) {
        Body &body = *static_cast<Body *>(arg);
        body.pose = body.position * 2;
    }
    static void Draw(weft::TaskScheduler *, void *arg) {
        Body &body = *static_cast<Body *>(arg);
        body.pixels += static_cast<uint32_t>(body.pose);
    }
};

// Fan-out: one task for each body, with a pointer to this body.
std::vector<weft::Task> TasksOf(weft::TaskFunction function, std::vector<Body> &bodies) {
    std::vector<weft::Task> tasks;
    for (Body &body : bodies) tasks.push_back({function, &body});
    return tasks;
}

// Stands for a window or a graphics device: only the main thread may call it.
struct Device {
    std::thread::id owner = std::this_thread::get_id();
    uint32_t uploads = 0, wrongThreads = 0;
    void Upload() {
        ++uploads;
        wrongThreads += std::this_thread::get_id() != owner;
    }
};

// Streams a file in one task. The task waits often. It holds no worker while it waits.
struct Streaming {
    Streaming(weft::BlockingCalls &c, std::FILE *f, Device &d, const weft::TaskOptions &main)
        : calls(c), file(f), device(d), onMainThread(main) {}

    weft::BlockingCalls &calls;
    std::FILE *file;
    Device &device;
    weft::TaskOptions onMainThread;
    weft::Counter running;  // counts the task Run
    std::vector<unsigned char> buffer = std::vector<unsigned char>(256 << 10);
    uint64_t bytes = 0, checksum = 0;
    uint32_t parts = 0;

    static void Run(weft::TaskScheduler *scheduler, void *arg) {
        Streaming &self = *static_cast<Streaming *>(arg);
        while (const size_t read = self.calls.Run([&] { return self.Read(); })) {
            for (size_t i = 0; i < read; ++i) self.checksum += self.buffer[i];
            self.bytes += read;
            ++self.parts;
            const weft::Task upload{Upload, &self.device};
            scheduler->AddTasksAndWait(1, &upload, self.onMainThread);
        }
    }
    // Runs on a thread beside the workers, so it may block.
    size_t Read() {
        std::this_thread::sleep_for(1ms);  // a slow disk
        return std::fread(buffer.data(), 1, buffer.size(), file);
    }
    static void Upload(weft::TaskScheduler *, void *device) {
        static_cast<Device *>(device)->Upload();
    }
};

struct Result {
    uint32_t framesInTime = 0;  // the streaming ended within the budget of the frame
    uint64_t pixels = 0, bytes = 0;
    bool right = true;
};

// Runs on the attached main thread, with everything that lives as long as the game.
void Play(weft::TaskScheduler &scheduler, std::FILE *file, Result &result) {
    Device device;
    std::vector<Body> bodies(kBodies);
    const std::vector<weft::Task> stages[] = {
        TasksOf(Body::Move, bodies), TasksOf(Body::Animate, bodies), TasksOf(Body::Draw, bodies)};
    const weft::TaskOptions inFrame{Priority::High, weft::kAnyWorker, "frame"};
    const weft::TaskOptions beside{Priority::Low, weft::kAnyWorker, "streaming"};
    const weft::TaskOptions onMainThread{Priority::High, scheduler.CurrentWorker(), "upload"};

    weft::BlockingCalls calls(scheduler);
    Streaming streaming(calls, file, device, onMainThread);
    scheduler.AddTask({Streaming::Run, &streaming}, &streaming.running, beside);

    for (uint32_t frame = 0; frame < kFrames; ++frame) {
        // 1. Makes the calls that tasks have sent to this thread.
        scheduler.RunPinnedTasks(8);

        // 2. Runs three stages. A stage begins when all tasks of the stage before it have finished.
        for (const std::vector<weft::Task> &stage : stages) {
            weft::Counter counter;
            scheduler.AddTasks(kBodies, stage.data(), &counter, inFrame);
            // This thread runs tasks of the stage meanwhile. It begins no Low task.
            scheduler.WaitForCounter(&counter, weft::Meanwhile::NormalOrHigher);
        }

        // 3. Uses the rest of the frame, at most 2 ms. This thread begins only High tasks.
        result.framesInTime +=
            weft::WaitForCounterFor(scheduler, &streaming.running, 2ms, weft::Meanwhile::HighOnly);
    }

    // Shutdown. The streaming task uses the device, the buffer and this thread, so wait for it
    // first.
    scheduler.WaitForCounter(&streaming.running);
    for (const Body &body : bodies) result.pixels += body.pixels;
    result.bytes = streaming.bytes;
    result.right = device.uploads == streaming.parts && device.wrongThreads == 0;
}

}  // namespace

int main(int, char **arguments) {
    std::FILE *file = std::fopen(arguments[0], "rb");  // streams the file of this program
    if (file == nullptr) return std::fprintf(stderr, "cannot read %s\n", arguments[0]), 1;

    weft::SchedulerOptions options;
    options.workers = std::max(2u, std::thread::hardware_concurrency()) - 1;  // and main thread
    options.onReport = OnReport;
    weft::TaskScheduler scheduler(options);  // makes no thread yet
    if (scheduler.Start() != weft::Status::Ok) return 1;
    if (scheduler.AttachThread() != weft::Status::Ok) return 1;

    Result result;
    Play(scheduler, file, result);

    scheduler.DetachThread();  // before Stop, and on this thread
    scheduler.Stop();          // returns when no task is pending
    std::fclose(file);         // no task reads it any more

    const uint64_t pixels = uint64_t{kBodies} * kFrames * (kFrames + 1);
    const bool right = result.right && result.pixels == pixels && s_reports == 0;
    std::printf("%u frames, %llu pixels, %llu bytes streamed, %u frames found it complete: %s\n",
                kFrames, static_cast<unsigned long long>(result.pixels),
                static_cast<unsigned long long>(result.bytes), result.framesInTime,
                right ? "right" : "WRONG");
    return right ? 0 : 1;
}
