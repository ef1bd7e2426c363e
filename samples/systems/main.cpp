// Twenty systems over arrays of components. Each one declares what it reads and writes.
//
//     samples/run.sh systems
//     samples/run.sh systems --conflict       # leaves an order out; Check finds it before the run
//     samples/run.sh systems --by-declaration # leaves it out, and lets the declaration decide
//
// A system that touches what it has not declared is found by a race finder build:
//
//     "$(third_party/setup.sh)" --race-finder gmake2
//     make -C build/race-finder/premake config=tsan systems
//     build/race-finder/Tsan/systems --undeclared
#include <weft/graph/systems.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <deque>
#include <vector>

namespace {

constexpr uint32_t kEntities = 4096, kFrames = 60;

enum Component : uint32_t {
    Input,
    Camera,
    Places,
    Speeds,
    Forces,
    Bounds,
    Contacts,
    Health,
    Damage,
    Targets,
    Paths,
    Poses,
    Bones,
    Sounds,
    Sparks,
    Lights,
    Visible,
    Draws,
    Score,
    Timers,
    kComponents
};
constexpr const char *kNames[kComponents] = {"input",  "camera",   "places", "speeds", "forces",
                                             "bounds", "contacts", "health", "damage", "targets",
                                             "paths",  "poses",    "bones",  "sounds", "sparks",
                                             "lights", "visible",  "draws",  "score",  "timers"};

struct World {
    std::vector<uint32_t> arrays[kComponents];
};

// What a system does: each written array is changed by what was read.
struct Work {
    const char *name;
    std::vector<Component> reads, writes;
    uint32_t phase;        // systems of a phase come after those of the phase before
    bool isLoose = false;  // true: no phase waits for it
    World *world = nullptr;
    const std::vector<uint32_t> *undeclared = nullptr;  // also read, without saying so

    void operator()(weft::TaskScheduler *) const {
        for (uint32_t i = 0; i < kEntities; ++i) {
            uint32_t value = 17;
            for (Component each : reads) value = value * 31 + world->arrays[each][i];
            if (undeclared != nullptr) value += (*undeclared)[i] & 1;
            for (Component each : writes)
                world->arrays[each][i] = world->arrays[each][i] * 5 + value;
        }
    }
};

std::deque<Work> AllSystems() {
    return {
        {"read input", {}, {Input}, 0},
        {"advance timers", {}, {Timers}, 0},
        {"fade lights", {}, {Lights}, 0},
        {"steer camera", {Input}, {Camera}, 1},
        {"choose targets", {Places, Health}, {Targets}, 1},
        {"heal", {Timers}, {Health}, 2},
        {"find paths", {Places, Targets}, {Paths}, 2},
        {"push", {Input}, {Forces}, 2},
        {"follow paths", {Paths}, {Speeds}, 3},
        {"integrate", {Forces, Speeds}, {Places}, 4},
        {"update bounds", {Places}, {Bounds}, 5},
        {"collide", {Bounds}, {Contacts}, 6},
        {"hit", {Contacts}, {Damage}, 7},
        {"emit sparks", {Contacts}, {Sparks}, 7},
        {"animate", {Places, Timers}, {Poses}, 7},
        {"hurt", {Damage}, {Health}, 8},
        {"pose bones", {Poses}, {Bones}, 8},
        {"cull", {Bounds, Camera}, {Visible}, 8},
        {"play sounds", {Contacts, Camera}, {Sounds}, 8},
        {"draw", {Visible, Bones, Lights, Sparks}, {Draws, Score}, 9},
    };
}

World NewWorld() {
    World world;
    for (std::vector<uint32_t> &array : world.arrays) array.assign(kEntities, 1);
    return world;
}

weft::System Add(weft::Systems &systems, const weft::Resource *resources, Work &work) {
    const weft::System system = systems.AddSystem(work.name, work);
    for (Component each : work.reads) systems.AddRead(system, resources[each]);
    for (Component each : work.writes) systems.AddWrite(system, resources[each]);
    return system;
}

// Declares everything. Returns false if Check has found a conflict.
bool Declare(weft::Systems &systems, std::deque<Work> &all, World &world) {
    weft::Resource resources[kComponents];
    for (uint32_t i = 0; i < kComponents; ++i) {
        std::vector<uint32_t> &array = world.arrays[i];
        resources[i] = systems.AddResource(kNames[i], array.data(), array.size() * sizeof array[0]);
    }
    std::vector<weft::System> added;
    for (Work &work : all) {
        work.world = &world;
        added.push_back(Add(systems, resources, work));
        for (size_t i = 0; i + 1 < added.size(); ++i) {
            if (all[i].phase + 1 == work.phase && !all[i].isLoose)
                systems.Before(added[i], added.back());
        }
    }
    return systems.Check() == weft::Status::Ok;
}

}  // namespace

int main(int argc, char **argv) {
    bool conflict = false, byDeclaration = false, undeclared = false;
    CLI::App app("Runs twenty systems with declared access for 60 frames.");
    app.add_flag("--conflict", conflict,
                 "let nothing wait for \"heal\", although \"hurt\" writes the same");
    app.add_flag("--by-declaration", byDeclaration, "the same, ordered by declaration");
    app.add_flag("--undeclared", undeclared,
                 "let \"emit sparks\" read \"damage\" without saying so");
    CLI11_PARSE(app, argc, argv);

    std::deque<Work> all = AllSystems();
    World world = NewWorld(), expected = NewWorld();
    all[5].isLoose = conflict || byDeclaration;
    if (undeclared) all[13].undeclared = &world.arrays[Damage];
    weft::SchedulerOptions options;
    options.workers = 2;
    weft::Systems systems(options, {"update", byDeclaration});
    if (!Declare(systems, all, world)) {
        for (uint32_t i = 0; i < systems.ConflictCount(); ++i) {
            const weft::SystemConflict each = systems.ConflictAt(i);
            std::printf("conflict: \"%s\" and \"%s\" use \"%s\"\n", systems.NameOf(each.first),
                        systems.NameOf(each.second), systems.NameOf(each.resource));
        }
        return conflict && systems.ConflictCount() != 0 ? 0 : 1;
    }

    uint32_t refused = 0;
    auto play = [&](weft::TaskScheduler *scheduler) {
        for (uint32_t frame = 0; frame < kFrames; ++frame)
            refused += systems.Run(*scheduler) != weft::Status::Ok;
    };
    weft::TaskScheduler scheduler(options);
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;

    // One after the other, in the order of the declaration: the result must be the same.
    for (uint32_t frame = 0; frame < kFrames; ++frame) {
        for (Work work : all) {
            work.world = &expected;
            work.undeclared = nullptr;
            work(nullptr);
        }
    }
    uint32_t different = 0;
    for (uint32_t i = 0; i < kComponents; ++i) different += world.arrays[i] != expected.arrays[i];
    std::printf("%zu systems, %u frames; %u arrays differ from a serial run\n", all.size(), kFrames,
                different);
    return refused == 0 && (different == 0 || undeclared) && !conflict ? 0 : 1;
}
