// Implements tracy_stand_in.h. One lock keeps the calls of all threads in order, as Tracy does for
// programs with fibers.
#include "support/tracy_stand_in.h"

#include <cstring>

namespace test {

namespace {

struct Zone {
    uint32_t id;
    std::string name;
};

struct Thread {
    const char *fiber = nullptr;
    std::vector<Zone> zones;  // of the thread itself
};

struct Fiber {
    std::string name;
    const Thread *runsOn = nullptr;
    std::vector<Zone> zones;
};

struct State {
    std::mutex mutex;
    TracyLog log;
    uint32_t lastId = 0;
    std::map<const Thread *, Thread *> threads;
    std::map<const char *, Fiber> fibers;  // by the address of the name, as in Tracy
};

State &TheState() {
    static State &state = *new State;  // workers may end after static objects
    return state;
}

// Each thread has one, which stays when the thread has ended.
Thread &ThisThread(State &state) {
    static thread_local Thread *thread = nullptr;
    if (thread == nullptr) thread = new Thread;
    state.threads.emplace(thread, thread);
    return *thread;
}

void Say(State &state, const std::string &what) { state.log.wrong += what + "\n"; }

std::vector<Zone> &ZonesOf(State &state, Thread &thread) {
    return thread.fiber != nullptr ? state.fibers[thread.fiber].zones : thread.zones;
}

}  // namespace

TracyLog Tracy() {
    State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    TracyLog log = state.log;
    for (const auto &entry : state.threads) {
        for (const Zone &zone : entry.first->zones) log.wrong += "open: " + zone.name + "\n";
        if (entry.first->fiber != nullptr)
            log.wrong += "not left: " + std::string(entry.first->fiber) + "\n";
    }
    for (const auto &entry : state.fibers) {
        for (const Zone &zone : entry.second.zones)
            log.wrong += "open: " + zone.name + " on " + entry.second.name + "\n";
    }
    return log;
}

// Names keep their meaning: Tracy remembers them, too.
void ClearTracy() {
    State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.log = {};
    for (auto &entry : state.threads) *entry.second = {};
    for (auto &entry : state.fibers) entry.second = {entry.second.name, nullptr, {}};
}

std::string InnermostZone() {
    State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    const std::vector<Zone> &zones = ZonesOf(state, ThisThread(state));
    return zones.empty() ? "-" : zones.back().name;
}

std::string TracyFiber() {
    State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    const char *const fiber = ThisThread(state).fiber;
    return fiber != nullptr ? fiber : "-";
}

}  // namespace test

using test::TheState;

TracyCZoneCtx ___tracy_emit_zone_begin(const ___tracy_source_location_data *location,
                                       int32_t active) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (active != 1) Say(state, "a zone is not active");
    if (location->name == nullptr || location->function == nullptr || location->file == nullptr)
        Say(state, "a source location is not complete");
    std::vector<test::Zone> &zones = ZonesOf(state, ThisThread(state));
    zones.push_back({++state.lastId, location->name});
    state.log.locations.insert(location);
    if (state.log.deepest < zones.size()) state.log.deepest = zones.size();
    return {state.lastId, active};
}

void ___tracy_emit_zone_end(TracyCZoneCtx zone) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    std::vector<test::Zone> &zones = ZonesOf(state, ThisThread(state));
    if (zones.empty()) return Say(state, "a zone ends where none is open");
    if (zones.back().id != zone.id) Say(state, "not the innermost zone: " + zones.back().name);
    ++state.log.zones[zones.back().name];
    zones.pop_back();
}

void ___tracy_fiber_enter(const char *name) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    test::Thread &thread = ThisThread(state);
    if (thread.fiber != nullptr) state.fibers[thread.fiber].runsOn = nullptr;
    test::Fiber &fiber = state.fibers[name];
    if (fiber.name.empty()) fiber.name = name;
    if (fiber.name != name) Say(state, "another name at the same address: " + fiber.name);
    if (fiber.runsOn != nullptr && fiber.runsOn != &thread)
        Say(state, "runs on two threads: " + fiber.name);
    fiber.runsOn = &thread;
    thread.fiber = name;
    state.log.fibers.insert(name);
}

void ___tracy_fiber_leave(void) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    test::Thread &thread = ThisThread(state);
    if (thread.fiber == nullptr) return Say(state, "a thread leaves a fiber that it has not");
    state.fibers[thread.fiber].runsOn = nullptr;
    thread.fiber = nullptr;
}

void ___tracy_emit_frame_mark(const char *name) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (name != nullptr) Say(state, "a frame with a name");
    ++state.log.frames;
}

void ___tracy_emit_plot_int(const char *name, int64_t value) {
    test::State &state = TheState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.log.plots[name].push_back(value);
}
