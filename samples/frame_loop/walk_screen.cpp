// Implements walk_screen.h.
#include "walk_screen.h"

#include "walk.h"

#include <cstdarg>
#include <cstdio>

namespace frame_loop {
namespace {

uint32_t KeyOf(const std::string &name) {
    static const std::map<std::string, uint32_t> keys{
        {"Up", kForward},    {"W", kForward},       {"Down", kBack},  {"S", kBack},
        {"Left", kTurnLeft}, {"Right", kTurnRight}, {"A", kStepLeft}, {"D", kStepRight}};
    const auto found = keys.find(name);
    return found == keys.end() ? 0 : found->second;
}

}  // namespace

WalkScreen::WalkScreen(const Wad &wad, bool logs)
    : m_sounds{ReadSound(wad, "DSHOOF"), ReadSound(wad, "DSDOROPN")}, m_logs(logs), m_graph(wad) {}

// The stage that makes the world: on any worker, for one frame after the other. So m_way is plain
// data, and the ring has one producer at a time.
std::optional<Viewpoint> WalkScreen::Move(const Game &game, const Viewpoint &before,
                                          const World &now) {
    constexpr Fixed kPace = ToFixed(96);
    // relaxed: the words say which keys are held; nothing else is published with them. A key that
    // was pressed and released between two frames is in m_pressed and counts once.
    const uint32_t keys =
        m_held.load(std::memory_order_relaxed) | m_pressed.exchange(0, std::memory_order_relaxed);
    const Viewpoint eye = Walk(game.level, now.ceilings, before, keys);
    m_way += WayBetween(before, eye);
    if (m_way >= kPace) {
        m_way -= kPace;
        m_ring.Push(0);  // if the ring is full, this step is not heard
    }
    if (now.doorsBegun != 0) m_ring.Push(1);
    return eye;
}

// The last stage: on the main thread.
bool WalkScreen::Show(const ShownFrame &frame) {
    const bool goesOn = HandleEvents();
    m_graph.Add(frame);
    if (m_showsGraph) m_graph.Draw(&frame.scene);
    Draw(frame.scene);
    LogFrame(frame);
    if (!goesOn) Log("stop %llu", static_cast<unsigned long long>(frame.params.frame));
    return goesOn;
}

bool WalkScreen::HandleKey(const std::string &name, bool isDown) {
    Log("%s %s", isDown ? "down" : "up", name.c_str());
    const uint32_t key = KeyOf(name);
    if (!isDown) {
        m_held.fetch_and(~key, std::memory_order_relaxed);  // relaxed, below too: as in Move
        return true;
    }
    m_held.fetch_or(key, std::memory_order_relaxed);
    m_pressed.fetch_or(key, std::memory_order_relaxed);
    if (name == "F1") m_showsGraph = !m_showsGraph;
    return name != "Escape";
}

// When the window loses the focus, because nobody may tell of keys that are released elsewhere.
void WalkScreen::ReleaseKeys() {
    m_held.store(0, std::memory_order_relaxed);  // relaxed: as in Move
}

void WalkScreen::LogFrame(const ShownFrame &frame) {
    if (!m_logs) return;
    if (frame.world.doorsBegun != 0) Log("door");
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

void WalkScreen::Log(const char *format, ...) {
    if (!m_logs) return;
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
    std::puts("");
    std::fflush(stdout);
}

}  // namespace frame_loop
