// Implements window.h with SDL2, or without it by a message.
//
// SDL's calls for windows and events are made on the main thread: before and after the run, and by
// the last stage of the frames, which is pinned to it. The audio callback runs on a thread of SDL:
// it takes sounds out of a ring (sound.h) and makes no call of weft.
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

#include "walk_screen.h"

#include <SDL2/SDL.h>

#include <cstdio>

namespace frame_loop {
namespace {

class Window final : public WalkScreen {
public:
    using WalkScreen::WalkScreen;
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

private:
    bool HandleEvents() override {
        bool goesOn = true;
        for (SDL_Event event; SDL_PollEvent(&event) != 0;) goesOn &= Handle(event);
        return goesOn;
    }

    void Draw(const Scene &scene) override {
        SDL_UpdateTexture(m_texture, nullptr, scene.rgb.data(), 3 * scene.width);
        SDL_RenderClear(m_renderer);
        SDL_RenderCopy(m_renderer, m_texture, nullptr, nullptr);
        SDL_RenderPresent(m_renderer);
    }

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
        if (event.type == SDL_QUIT) {
            Log("closed");
            return false;
        }
        if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_FOCUS_GAINED)
            Log("focus");
        if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_FOCUS_LOST)
            ReleaseKeys();
        const bool isKey = event.type == SDL_KEYDOWN || event.type == SDL_KEYUP;
        if (!isKey || event.key.repeat != 0) return true;
        return HandleKey(SDL_GetScancodeName(event.key.keysym.scancode), event.type == SDL_KEYDOWN);
    }

    SDL_Window *m_window = nullptr;
    SDL_Renderer *m_renderer = nullptr;
    SDL_Texture *m_texture = nullptr;
    SDL_AudioDeviceID m_audio = 0;
    Mixer m_mixer{m_sounds, m_ring, 44100};
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
