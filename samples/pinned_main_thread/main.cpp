// A thread that owns a window: only it may make the window's calls, as many systems demand. Tasks
// on any worker post such calls, pinned to that thread; it pumps them between its frames. The
// window has no lock, and needs none.
//
//     samples/run.sh pinned_main_thread
#include <weft/task_scheduler.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr uint32_t kFrames = 20, kTexturesPerFrame = 24, kPixels = 4096;

// As a window of the system: of one thread. It notes calls that come from another.
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
    // Not inlined: a compiler may keep the thread's id across a wait.
    [[gnu::noinline]] void NoteCaller() { m_wrong += std::this_thread::get_id() != m_owner; }
    const std::thread::id m_owner = std::this_thread::get_id();
    std::vector<uint32_t> m_textures, m_events;
    uint32_t m_handled = 0;
    std::atomic<uint32_t> m_wrong{0};
};

constexpr uint32_t kWindowThread = 0;  // Run's caller is worker 0

struct Texture {
    Window *window;
    uint32_t number;
    uint32_t sum;

    // Any worker: makes the pixels, then has the window's thread upload them.
    static void Make(weft::TaskScheduler *scheduler, void *arg) {
        Texture &texture = *static_cast<Texture *>(arg);
        for (uint32_t pixel = 0; pixel < kPixels; ++pixel)
            texture.sum += (texture.number + pixel) & 0xff;
        const weft::Task upload{Upload, arg};
        scheduler->AddTasksAndWait(
            1, &upload,
            {weft::Priority::High, weft::StackClass::Small, kWindowThread, "window call"});
        ++texture.sum;  // the upload is done: the pixels may be used again
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

// The main task. It is pinned, so it goes on on the window's thread after each wait.
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
            scheduler->RunPinnedTasks(8);  // a few window calls, and back to the window
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
    const weft::TaskOptions pinned{weft::Priority::Normal, weft::StackClass::Large, kWindowThread,
                                   "window"};
    if (scheduler.Run(Main, &window, pinned) != weft::Status::Ok) return 1;

    bool right = window.Handled() == kTextures && window.WrongThreads() == 0;
    for (uint32_t i = 0; i < kTextures; ++i) right &= window.Texture(i) == Expected(i);
    std::printf("%u frames, %u window calls handled, %u on another thread than the window's: %s\n",
                kFrames, window.Handled(), window.WrongThreads(), right ? "right" : "WRONG");
    return right ? 0 : 1;
}
