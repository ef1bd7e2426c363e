// Shared by the windows of the desktop (window.cpp) and of a browser (window_emscripten.cpp): keys
// move the viewer, steps and doors sound, and F1 draws the graph of the frames.
//
// Threads share two things:
// - The keys: the last stage writes two atomic words, the stage that makes the world reads them.
// - The sounds: the stage that makes the world puts them into a ring, and the window takes them out
//   (sound.h).
#pragma once

#include "frame_graph.h"
#include "sound.h"

#include <atomic>

namespace frame_loop {

class WalkScreen : public Screen {
public:
    // `logs`: writes a line to stdout for each event that it handled, for tests.
    WalkScreen(const Wad &wad, bool logs);
    std::optional<Viewpoint> Move(const Game &game, const Viewpoint &before,
                                  const World &now) override;
    bool Show(const ShownFrame &frame) override;

protected:
    // Called by Show. HandleEvents passes all new keys to HandleKey, and returns false to end.
    virtual bool HandleEvents() = 0;
    virtual void Draw(const Scene &scene) = 0;

    // Only for HandleEvents. Names of keys: "W", "Left", "F1". Returns false if the key ends the
    // run.
    bool HandleKey(const std::string &name, bool isDown);
    void ReleaseKeys();

    void Log(const char *format, ...);

    const std::vector<Sound> m_sounds;
    SoundRing m_ring;  // numbers of m_sounds

private:
    void LogFrame(const ShownFrame &frame);

    const bool m_logs;
    FrameGraph m_graph;
    bool m_showsGraph = false;
    std::atomic<uint32_t> m_held{0}, m_pressed{0};  // Keys
    Fixed m_way = 0;                                // since the last sound of a step
    Viewpoint m_shown{};                            // the rest is for LogFrame
    bool m_moved = false;
    uint32_t m_takenBefore = 0;
};

}  // namespace frame_loop
