// Implements window.h with SDL2, or without it by a message.
//
// SDL's calls for windows and events are made on the main thread: before and after the run, and by
// the last stage of the frames, which is pinned to it. Two things cross threads:
// - The keys: the last stage writes two atomic words, the stage that makes the world reads them.
// - The sounds: the stage that makes the world puts them into a ring, and the audio callback, on a
//   thread of SDL, takes them out (sound.h). That thread makes no call of weft.
#include "window.h"

#if !defined(FRAME_LOOP_SDL)

namespace frame_loop {

RunResult RunInWindow(const Game &, const Wad &, RunOptions, bool) {
    RunResult result;
    result.problem =
        "this build has no window: install SDL2 (third_party/setup.sh libsdl2-dev), run premake5 "
        "and build again; samples/run.sh frame_loop --window does all of this";
    return result;
}

}  // namespace frame_loop

#else

#include "frame_graph.h"
#include "sound.h"
#include "walk.h"

#include <SDL2/SDL.h>

#include <cstdarg>
#include <cstdio>

namespace frame_loop {
namespace {

uint32_t KeyOf(SDL_Scancode code) {
    switch (code) {
        case SDL_SCANCODE_UP:
        case SDL_SCANCODE_W:
            return kForward;
        case SDL_SCANCODE_DOWN:
        case SDL_SCANCODE_S:
            return kBack;
        case SDL_SCANCODE_LEFT:
            return kTurnLeft;
        case SDL_SCANCODE_RIGHT:
            return kTurnRight;
        case SDL_SCANCODE_A:
            return kStepLeft;
        case SDL_SCANCODE_D:
            return kStepRight;
        default:
            return 0;
    }
}

class Window final : public Screen {
public:
    Window(const Wad &wad, bool logs)
        : m_logs(logs), m_graph(wad), m_sounds{ReadSound(wad, "DSHOOF")} {}
    ~Window() override {
        if (m_audio != 0) SDL_CloseAudioDevice(m_audio);  // waits for the end of a callback
        SDL_DestroyTexture(m_texture);
        SDL_DestroyRenderer(m_renderer);
        SDL_DestroyWindow(m_window);
        SDL_Quit();
    }
    Window(const Window &) = delete;
    Window &operator=(const Window &) = delete;

    Problem Open(const RunOptions &options) {
        SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "nearest");
        if (SDL_Init(SDL_INIT_VIDEO) != 0) return Failed("there is no screen");
        SDL_DisplayMode desktop{};
        SDL_GetDesktopDisplayMode(0, &desktop);
        const int scale = std::clamp(
            std::min(desktop.w * 9 / 10 / options.width, desktop.h * 8 / 10 / options.height), 1,
            4);
        const int place = static_cast<int>(SDL_WINDOWPOS_CENTERED);
        m_window = SDL_CreateWindow("weft: frame_loop", place, place, scale * options.width,
                                    scale * options.height, SDL_WINDOW_RESIZABLE);
        if (m_window == nullptr) return Failed("no window");
        // The frames have a clock of their own (RunOnScreen), so nothing waits for the display.
        m_renderer = SDL_CreateRenderer(m_window, -1, 0);
        if (m_renderer == nullptr) return Failed("no renderer");
        SDL_RenderSetLogicalSize(m_renderer, options.width, options.height);
        m_texture = SDL_CreateTexture(m_renderer, SDL_PIXELFORMAT_RGB24,
                                      SDL_TEXTUREACCESS_STREAMING, options.width, options.height);
        if (m_texture == nullptr) return Failed("no texture");
        Log("window %d", scale);
        OpenAudio();
        return {};
    }

    // The stage that makes the world: on any worker, for one frame after the other. So m_way is
    // plain data, and the ring has one producer at a time.
    Viewpoint Move(const Game &game, const Viewpoint &before) override {
        constexpr Fixed kPace = ToFixed(96);
        // relaxed: the words say which keys are held; nothing else is published with them. A key
        // that was pressed and released between two frames is in m_pressed and counts once.
        const uint32_t keys = m_held.load(std::memory_order_relaxed) |
                              m_pressed.exchange(0, std::memory_order_relaxed);
        const Viewpoint eye = Walk(game.level, before, keys);
        m_way += WayBetween(before, eye);
        if (m_way >= kPace) {
            m_way -= kPace;
            m_ring.Push(0);  // if the ring is full, this step is not heard
        }
        return eye;
    }

    // The last stage: on the main thread.
    bool Show(const ShownFrame &frame) override {
        bool goesOn = true;
        for (SDL_Event event; SDL_PollEvent(&event) != 0;) goesOn &= Handle(event);
        m_graph.Add(frame);
        if (m_showsGraph) m_graph.Draw(&frame.scene);
        SDL_UpdateTexture(m_texture, nullptr, frame.scene.rgb.data(), 3 * frame.scene.width);
        SDL_RenderClear(m_renderer);
        SDL_RenderCopy(m_renderer, m_texture, nullptr, nullptr);
        SDL_RenderPresent(m_renderer);
        LogFrame(frame);
        if (!goesOn) Log("stop %llu", static_cast<unsigned long long>(frame.params.frame));
        return goesOn;
    }

private:
    static Problem Failed(const char *what) { return std::string(what) + ": " + SDL_GetError(); }

    void OpenAudio() {
        SDL_AudioSpec wanted{}, got{};
        wanted.freq = 44100;
        wanted.format = AUDIO_S16SYS;
        wanted.channels = 1;
        wanted.samples = 1024;  // 23 ms
        wanted.callback = [](void *window, Uint8 *bytes, int count) {
            // SDL's buffer is aligned for its samples
            static_cast<Window *>(window)->m_mixer.Mix(
                static_cast<int16_t *>(static_cast<void *>(bytes)),
                static_cast<size_t>(count) / sizeof(int16_t));
        };
        wanted.userdata = this;
        if (SDL_InitSubSystem(SDL_INIT_AUDIO) == 0)
            m_audio = SDL_OpenAudioDevice(nullptr, 0, &wanted, &got, 0);
        if (m_audio == 0) {
            std::fprintf(stderr, "frame_loop: no sound: %s\n", SDL_GetError());
        } else {
            SDL_PauseAudioDevice(m_audio, 0);
        }
        Log("audio %s", m_audio == 0 ? "none" : SDL_GetCurrentAudioDriver());
    }

    bool Handle(const SDL_Event &event) {  // returns false to end
        const bool isKey = event.type == SDL_KEYDOWN || event.type == SDL_KEYUP;
        if (event.type == SDL_QUIT) {
            Log("closed");
            return false;
        }
        if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_FOCUS_GAINED)
            Log("focus");
        if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_FOCUS_LOST)
            // relaxed: as in Move. SDL may not tell of keys that are released elsewhere
            m_held.store(0, std::memory_order_relaxed);
        if (!isKey || event.key.repeat != 0) return true;
        const bool isDown = event.type == SDL_KEYDOWN;
        Log("%s %s", isDown ? "down" : "up", SDL_GetScancodeName(event.key.keysym.scancode));
        const uint32_t key = KeyOf(event.key.keysym.scancode);
        if (isDown) {
            // relaxed, below too: as in Move
            m_held.fetch_or(key, std::memory_order_relaxed);
            m_pressed.fetch_or(key, std::memory_order_relaxed);
            if (event.key.keysym.scancode == SDL_SCANCODE_F1) m_showsGraph = !m_showsGraph;
        } else {
            m_held.fetch_and(~key, std::memory_order_relaxed);
        }
        return !isDown || event.key.keysym.scancode != SDL_SCANCODE_ESCAPE;
    }

    void LogFrame(const ShownFrame &frame) {
        if (!m_logs) return;
        const Viewpoint &eye = frame.eye;
        const bool moves = eye.x != m_shown.x || eye.y != m_shown.y || eye.angle != m_shown.angle;
        if (moves || m_moved)  // after the last move a line that it stands still
            Log("%s %d %d %d", moves ? "at" : "still", ToInt(eye.x), ToInt(eye.y),
                static_cast<int>((uint64_t{eye.angle} * 360) >> 32));
        m_moved = moves;
        m_shown = eye;
        const uint32_t taken = m_ring.Taken();
        if (taken != m_takenBefore) Log("steps %u", taken);
        m_takenBefore = taken;
    }

    void Log(const char *format, ...) {
        if (!m_logs) return;
        va_list arguments;
        va_start(arguments, format);
        std::vprintf(format, arguments);
        va_end(arguments);
        std::puts("");
        std::fflush(stdout);
    }

    const bool m_logs;
    SDL_Window *m_window = nullptr;
    SDL_Renderer *m_renderer = nullptr;
    SDL_Texture *m_texture = nullptr;
    SDL_AudioDeviceID m_audio = 0;
    FrameGraph m_graph;
    bool m_showsGraph = false;
    std::vector<Sound> m_sounds;
    SoundRing m_ring;
    Mixer m_mixer{m_sounds, m_ring, 44100};
    std::atomic<uint32_t> m_held{0}, m_pressed{0};  // Keys
    Fixed m_way = 0;                                // since the last sound of a step
    Viewpoint m_shown{};                            // the rest is for Log
    bool m_moved = false;
    uint32_t m_takenBefore = 0;
};

}  // namespace

RunResult RunInWindow(const Game &game, const Wad &wad, RunOptions options, bool logs) {
    Window window(wad, logs);
    RunResult result;
    result.problem = window.Open(options);
    if (!result.problem.empty()) return result;
    options.screen = &window;
    return RunTasks(game, options);
}

}  // namespace frame_loop

#endif
