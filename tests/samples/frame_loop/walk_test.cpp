// Tests the viewer of the sample frame_loop that walks by keys.
#include "frame_loop/walk.h"

#include "samples/frame_loop/game_files.h"

#include <random>
#include <set>

using namespace frame_loop;

TEST_CASE("frame_loop: keys turn the viewer and move it along its view", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const Viewpoint start = game->path[0];
    REQUIRE(start.angle == 0);  // to the east
    const auto after = [&](uint32_t keys) {
        return Walk(game->level, game->level.ceilings, start, keys);
    };
    CHECK(after(0).x == start.x);
    CHECK(after(0).angle == start.angle);
    CHECK(after(kForward).x > start.x);
    CHECK(after(kForward).y == start.y);
    CHECK(after(kBack).x < start.x);
    CHECK(after(kStepLeft).y > start.y);
    CHECK(after(kStepRight).y < start.y);
    CHECK(after(kForward | kBack).x == start.x);
    CHECK(static_cast<int32_t>(after(kTurnLeft).angle) > 0);
    CHECK(static_cast<int32_t>(after(kTurnRight).angle) < 0);
}

TEST_CASE("frame_loop: no keys lead the viewer into a wall", "[frame_loop]") {
    for (const char *name : {"E1M1", "E1M2", "E3M1"}) {
        const auto game = test::LevelOf(name);
        INFO(name);
        std::mt19937 random(1);
        World world = game->start;
        Viewpoint eye = game->path[0];
        int inWall = 0, jumps = 0;
        std::set<int> subsectors;
        uint32_t keys = 0;
        for (int frame = 0; frame < 20000; ++frame) {
            if (frame % 16 == 0) keys = kForward | (random() & 63);
            const Viewpoint next = Walk(game->level, world.ceilings, eye, keys);
            jumps += WayBetween(eye, next) > ToFixed(12);
            eye = next;
            OpenDoors(game->level, eye, world, &world);
            inWall += FootingAt(game->level, world.ceilings, eye.x, eye.y, 15, kBlocksAll).blocked;
            subsectors.insert(game->level.SubsectorAt(eye.x, eye.y));
        }
        CHECK(inWall == 0);
        CHECK(jumps == 0);
        CHECK(subsectors.size() > 10);
    }
}
