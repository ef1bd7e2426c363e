// Implements window.h in a browser, with the canvas of page.html. There is one thread. The browser
// draws and handles input only while the program is suspended: in Pace.
#include "walk_screen.h"
#include "window.h"

#include <emscripten.h>

// clang-format off
EM_JS(void, frame_loop_open, (int width, int height), {
    Module.canvas.width = width;
    Module.canvas.height = height;
    Module.turn = 0;
    Module.keys = [];  // pairs: name, 1 if it was pressed
    const add = event => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();  // Up and Down would scroll the page, F1 opens help
        const name = event.code.replace(/^(Key|Arrow)/, "");
        if (!event.repeat) Module.keys.push([name, event.type == "keydown" ? 1 : 0]);
    };
    addEventListener("keydown", add);
    addEventListener("keyup", add);
    addEventListener("blur", () => Module.keys.push(["", 0]));
});

// Returns 1 if a key was pressed, 0 if one was released, and -1 if there is none. Without a name:
// the page has lost the focus.
EM_JS(int, frame_loop_take_key, (char *name, int bytes), {
    const [key, isDown] = Module.keys.shift() || ["", -1];
    stringToUTF8(key, name, bytes);
    return isDown;
});

EM_JS(void, frame_loop_draw, (const uint8_t *rgba, int width, int height), {
    const pixels = new Uint8ClampedArray(HEAPU8.buffer, rgba, 4 * width * height);
    Module.canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
});

EM_JS(void, frame_loop_play, (const uint8_t *samples, int count, int rate), {
    const audio = Module.audio = Module.audio || new AudioContext();
    const buffer = audio.createBuffer(1, count, rate);
    const to = buffer.getChannelData(0);
    for (let i = 0; i < count; ++i) to[i] = (HEAPU8[samples + i] - 128) / 512;
    const source = audio.createBufferSource();
    source.buffer = buffer;
    source.connect(audio.destination);
    source.start();
});

// Waits until 1/60 s after the last turn, minus 2 ms. Displays may be faster.
EM_ASYNC_JS(void, frame_loop_await_turn, (), {
    let now;
    do now = await new Promise(requestAnimationFrame);
    while (now < Module.turn - 2);
    Module.turn = Math.max(Module.turn + 1000 / 60, now);
});
// clang-format on

namespace frame_loop {
namespace {

class Page final : public WalkScreen {
public:
    using WalkScreen::WalkScreen;

    // Suspends the program, and with it all tasks. So it first waits until the last frame has been
    // shown.
    void Pace(weft::TaskScheduler &scheduler) override {
        scheduler.WaitForCounter(&m_toShow);
        scheduler.IncrementCounter(&m_toShow);
        frame_loop_await_turn();
    }

    bool Show(const ShownFrame &frame) override {
        frame.scheduler.DecrementCounter(&m_toShow);
        return WalkScreen::Show(frame);
    }

private:
    bool HandleEvents() override {
        bool goesOn = true;
        char name[32];
        for (int isDown; (isDown = frame_loop_take_key(name, sizeof name)) >= 0;) {
            if (name[0] == 0) {
                ReleaseKeys();
            } else {
                goesOn &= HandleKey(name, isDown != 0);
            }
        }
        return goesOn;
    }

    void Draw(const Scene &scene) override {
        const size_t pixels = scene.rgb.size() / 3;
        m_rgba.resize(4 * pixels, 255);
        for (size_t i = 0; i < pixels; ++i) std::copy_n(&scene.rgb[3 * i], 3, &m_rgba[4 * i]);
        frame_loop_draw(m_rgba.data(), scene.width, scene.height);
        for (uint32_t number = 0; m_ring.Pop(&number);) {
            const Sound &sound = m_sounds[number];
            if (sound.rate >= 8000)  // all browsers play these
                frame_loop_play(sound.samples.data(), static_cast<int>(sound.samples.size()),
                                sound.rate);
        }
    }

    weft::Counter m_toShow;       // 1 between Pace and Show
    std::vector<uint8_t> m_rgba;  // red, green, blue, and 255 as opaque
};

}  // namespace

RunResult RunInWindow(const Game &game, const Wad &wad, RunOptions options, bool logs) {
    Page page(wad, logs);
    frame_loop_open(options.width, options.height);
    options.screen = &page;
    return RunTasks(game, options);
}

}  // namespace frame_loop
