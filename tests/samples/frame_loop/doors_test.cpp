// Tests the doors of the sample frame_loop.
#include "frame_loop/walk.h"
#include "frame_loop/walk_screen.h"

#include "samples/frame_loop/game_files.h"

using namespace frame_loop;

namespace {

// A door of E1M1 in a corridor from north to south.
constexpr Fixed kAcross = ToFixed(960);
constexpr int kNorth = -16, kSouth = -32, kReach = 64;

Viewpoint At(int y) {  // looks to the south
    return {kAcross, ToFixed(y), ToFixed(41), 3 * kQuarterTurn};
}

const Door &DoorOf(const Level &level) {
    const int middle = level.SubsectorAt(kAcross, ToFixed((kNorth + kSouth) / 2));
    const auto door = std::find_if(level.doors.begin(), level.doors.end(), [&](const Door &it) {
        return it.sector == level.subsectors[middle].sector;
    });
    REQUIRE(door != level.doors.end());
    return *door;
}

// A window without a screen. The key W is held in all frames.
class Walker final : public WalkScreen {
public:
    Walker() : WalkScreen(test::Freedoom(), false) { HandleKey("W", true); }
    bool Show(const ShownFrame &frame) override {
        places.push_back(frame.eye.y);
        return WalkScreen::Show(frame);
    }
    int DoorSounds() {
        int count = 0;
        for (uint32_t sound = 0; m_ring.Pop(&sound);) count += sound == 1;
        return count;
    }
    std::vector<Fixed> places;  // by frame

private:
    bool HandleEvents() override { return true; }
    void Draw(const Scene &) override {}
};

}  // namespace

TEST_CASE("frame_loop: a door opens when the viewer is near, and stays open", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const Door &door = DoorOf(game->level);
    World world = game->start;
    const auto open = [&](int y) { OpenDoors(game->level, At(y), world, &world); };
    const int closed = game->level.sectors[door.sector].floor;
    REQUIRE(door.open > closed + 100);
    open(kNorth + kReach);
    CHECK(world.ceilings == game->level.ceilings);
    CHECK(world.doorsBegun == 0);
    open(kNorth + kReach - 1);
    CHECK(world.ceilings[door.sector] > closed);
    CHECK(world.doorsBegun == 1);
    int frames = 1;
    for (; world.ceilings[door.sector] < door.open && frames < 200; ++frames) {
        const int before = world.ceilings[door.sector];
        open(kNorth + 10 * kReach);
        CHECK(world.ceilings[door.sector] > before);
        CHECK(world.doorsBegun == 0);
    }
    CHECK(frames > 30);
    CHECK(frames < 90);
    open(kNorth + 10 * kReach);
    Ceilings others = world.ceilings;
    CHECK(others[door.sector] == door.open);
    others[door.sector] = closed;
    CHECK(others == game->level.ceilings);
}

TEST_CASE("frame_loop: a closed door stops the viewer, monsters and sight", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const Level &level = game->level;
    const Fixed y = ToFixed(kNorth + 40), beyond = ToFixed(kSouth - 40), eye = ToFixed(41);
    // a monster that wants to go south, and the viewer does
    Monster monster = game->start.monsters.at(0);
    monster.x = kAcross;
    monster.y = y;
    monster.floor = 0;
    monster.stepX = 0;
    monster.stepY = -ToFixed(game->kinds[monster.kind].speed);
    for (const bool isOpen : {false, true}) {
        const Ceilings ceilings = isOpen ? OpenCeilings(level) : level.ceilings;
        INFO(isOpen);
        CHECK(CanSee(level, ceilings, kAcross, y, eye, kAcross, beyond, 0, eye) == isOpen);
        CHECK(CanSee(level, ceilings, kAcross, beyond, eye, kAcross, y, 0, eye) == isOpen);
        Viewpoint viewer = At(kNorth + 40);
        World now{{monster}, ceilings}, next = now;
        for (int frame = 0; frame < 60; ++frame) {
            viewer = Walk(level, ceilings, viewer, kForward);
            next.monsters[0].stepX = monster.stepX;
            next.monsters[0].stepY = monster.stepY;
            Move(*game, now, &next, 0, 1);
            now = next;
        }
        CHECK((viewer.y < ToFixed(kSouth)) == isOpen);
        CHECK((now.monsters[0].y < ToFixed(kSouth)) == isOpen);
    }
}

TEST_CASE("frame_loop: a viewer waits for a door and hears it once, with any number of workers",
          "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    game->path[0] = At(kNorth + 30);
    std::vector<uint64_t> pictures;
    for (const uint32_t workers : {1, 2, 4}) {
        INFO(workers << " workers");
        Walker walker;
        RunOptions options;
        options.screen = &walker;
        options.width = 160;
        options.height = 100;
        options.frames = 45;
        options.workers = workers;
        const RunResult result = RunTasks(*game, options);
        CHECK(result.problem == "");
        REQUIRE(walker.places.size() == 45);
        CHECK(walker.places[20] > ToFixed(kNorth));  // the door is too low
        CHECK(walker.places[44] < ToFixed(kSouth));
        CHECK(walker.DoorSounds() == 1);
        if (pictures.empty()) pictures = result.frameHashes;
        CHECK(result.frameHashes == pictures);
        CHECK(pictures[10] != pictures[20]);  // the viewer stands, the door moves
    }
}

#if !defined(__SANITIZE_THREAD__)  // this test uses one thread
TEST_CASE("frame_loop: on the path the doors open in time", "[frame_loop]") {
    // in E3M4 and E4M2 a door is beside the start
    int begun = 0;
    for (const char *name : {"E1M1", "E1M2", "E3M4", "E4M2"}) {
        const auto game = test::LevelOf(name);
        INFO(name);
        World world = game->start;
        int tooLow = 0;
        for (size_t frame = 1; frame < game->path.size(); ++frame) {
            OpenDoorsOnPath(*game, frame, world, &world);
            begun += world.doorsBegun;
            const Viewpoint &eye = game->path[frame];
            const int subsector = game->level.SubsectorAt(eye.x, eye.y),
                      sector = game->level.subsectors[subsector].sector;
            tooLow += ToFixed(world.ceilings[sector]) < eye.z + ToFixed(8);
        }
        CHECK(tooLow == 0);
        CHECK(world.ceilings != game->level.ceilings);
        CHECK(world.ceilings != OpenCeilings(game->level));
    }
    CHECK(begun > 10);
}
#endif
