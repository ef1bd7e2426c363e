// A window that only one thread may use, as many systems demand. Tasks on all workers submit calls
// that are pinned to this thread, and the thread runs them between its frames. The window needs no
// lock.
//
//     samples/run.sh pinned_main_thread
#include <weft/task_scheduler.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kFrames = 20, kTexturesPerFrame = 24, kPixels = 4096;

// Stands for a window of the system. It counts calls from other threads than its owner.
class Window {
public:
    explicit Window(uint32_t textures) : m_textures(textures) {}
    void Upload(uint32_t texture, uint32_t sum) {
        NoteCaller();
        m_textures[texture] = sum;
        m_events.push_back(texture);
    }
    void HandleEvents() {
        NoteCaller();
        m_handled += static_cast<uint32_t>(m_events.size());
        m_events.clear();
    }
    uint32_t Handled() const { return m_handled; }
    uint32_t WrongThreads() const { return m_wrong; }
    uint32_t Texture(uint32_t texture) const { return m_textures[texture]; }

private:
    // Not inlined, because a compiler may keep the id of the thread across a wait.
    [[gnu::noinline]] void NoteCaller() { m_wrong += std::this_thread::get_id() != m_owner; }
    const std::thread::id m_owner = std::this_thread::get_id();
    std::vector<uint32_t> m_textures, m_events;
    uint32_t m_handled = 0;
    std::atomic<uint32_t> m_wrong{0};
};

constexpr uint32_t kWindowThread = 0;  // the thread that calls Run is worker 0

struct Texture {
    Window *window;
    uint32_t number;
    uint32_t sum;

    // Runs on any worker. Makes the pixels, and then has the thread of the window upload them.
    static void Make(weft::TaskScheduler *scheduler, void *arg) {
        Texture &texture = *static_cast<Texture *>(arg);
        for (uint32_t pixel = 0; pixel < kPixels; ++pixel)
            texture.sum += (texture.number + pixel) & 0xff;
        const weft::Task upload{Upload, arg};
        scheduler->AddTasksAndWait(1, &upload,
                                   {weft::Priority::High, kWindowThread, "window call"});
        ++texture.sum;  // the upload has ended, so the pixels may change
    }
    static void Upload(weft::TaskScheduler *, void *arg) {
        const Texture &texture = *static_cast<Texture *>(arg);
        texture.window->Upload(texture.number, texture.sum);
    }
};

uint32_t Expected(uint32_t number) {
    uint32_t sum = 0;
    for (uint32_t pixel = 0; pixel < kPixels; ++pixel) sum += (number + pixel) & 0xff;
    return sum;
}

// The main task is pinned. So it continues on the thread of the window after each wait.
void Main(weft::TaskScheduler *scheduler, void *arg) {
    Window &window = *static_cast<Window *>(arg);
    for (uint32_t frame = 0; frame < kFrames; ++frame) {
        std::vector<Texture> textures;
        std::vector<weft::Task> tasks;
        textures.reserve(kTexturesPerFrame);
        for (uint32_t i = 0; i < kTexturesPerFrame; ++i) {
            textures.push_back({&window, frame * kTexturesPerFrame + i, 0});
            tasks.push_back({Texture::Make, &textures.back()});
        }
        weft::Counter made;
        scheduler->AddTasks(kTexturesPerFrame, tasks.data(), &made);
        while (!scheduler->PollCounter(&made)) {
            scheduler->RunPinnedTasks(8);  // at most 8 window calls
            window.HandleEvents();
            scheduler->Yield();
        }
        window.HandleEvents();
    }
}

}  // namespace

int main() {
    constexpr uint32_t kTextures = kFrames * kTexturesPerFrame;
    Window window(kTextures);
    weft::TaskScheduler scheduler;
    const weft::TaskOptions pinned{weft::Priority::Normal, kWindowThread, "window"};
    if (scheduler.Run(Main, &window, pinned) != weft::Status::Ok) return 1;

    bool right = window.Handled() == kTextures && window.WrongThreads() == 0;
    for (uint32_t i = 0; i < kTextures; ++i) right &= window.Texture(i) == Expected(i);
    std::printf("%u frames, %u window calls handled, %u on another thread than the window's: %s\n",
                kFrames, window.Handled(), window.WrongThreads(), right ? "right" : "WRONG");
    return right ? 0 : 1;
}
