// Tests the frames of the sample frame_loop: pictures, overlap, path and monsters.
#include "frame_loop/frame.h"

#include "samples/frame_loop/game_files.h"
#include "support/scheduler_run.h"

#include <algorithm>
#include <atomic>
#include <set>

using namespace frame_loop;

namespace {

RunOptions Small(int frames, uint32_t workers = weft::kAnyWorker) {
    RunOptions options;
    options.width = 160;
    options.height = 100;
    options.frames = frames;
    options.workers = workers;
    return options;
}

}  // namespace

TEST_CASE("frame_loop: the pictures do not depend on the number of workers", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const RunResult serial = RunSerial(*game, Small(60));
    REQUIRE(serial.frameHashes.size() == 60);
    for (const uint32_t workers : {1, 2, 3, 8}) {
        const RunResult result = RunTasks(*game, Small(60, workers));
        INFO(workers << " workers");
        CHECK(result.problem == "");
        CHECK(result.workers.size() == workers);
        CHECK(result.hash == serial.hash);
        CHECK(result.frameHashes == serial.frameHashes);
    }
}

TEST_CASE("frame_loop: with two workers both work", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    // percent; several attempts, because another program may hold a processor for some time
    uint64_t best = 0;
    for (int attempt = 0; attempt < 5 && best < 20; ++attempt) {
        const RunResult result = RunTasks(*game, Small(600, 2));
        REQUIRE(result.workers.size() == 2);
        const uint64_t first = result.workers[0].tasks, second = result.workers[1].tasks;
        best = std::max(best, 100 * std::min(first, second) / (first + second));
    }
    CHECK(best >= 20);
}

// The world of frame n + 1 and the picture of frame n each wait until the other has begun.
TEST_CASE("frame_loop: thinking and rendering of neighbouring frames overlap", "[frame_loop]") {
    struct Meeting {
        std::array<std::atomic<bool>, 41> thinks{}, renders{};
        std::atomic<int> met{0};
        static void Think(weft::TaskScheduler *scheduler, int frame, void *user) {
            Meeting &it = *static_cast<Meeting *>(user);
            it.thinks[frame] = true;
            if (test::YieldUntil(*scheduler, [&] { return it.renders[frame - 1].load(); }))
                ++it.met;
        }
        static void Render(weft::TaskScheduler *scheduler, int frame, void *user) {
            Meeting &it = *static_cast<Meeting *>(user);
            it.renders[frame] = true;
            if (frame + 1 == 40 ||
                test::YieldUntil(*scheduler, [&] { return it.thinks[frame + 1].load(); }))
                ++it.met;
        }
    };
    const auto game = test::LevelOf("E1M1");
    const uint64_t hash = RunSerial(*game, Small(40)).hash;
    for (const uint32_t workers : {1, 2, 3}) {
        Meeting meeting;
        RunOptions options = Small(40, workers);
        options.onThink = Meeting::Think;
        options.onRender = Meeting::Render;
        options.user = &meeting;
        CHECK(RunTasks(*game, options).hash == hash);
        CHECK(meeting.met == 79);
    }
}

#if !defined(__SANITIZE_THREAD__)  // these tests use one thread
TEST_CASE("frame_loop: every frame has its own picture", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const RunResult result = RunSerial(*game, Small(200));
    CHECK(std::set<uint64_t>(result.frameHashes.begin(), result.frameHashes.end()).size() == 200);
}

TEST_CASE("frame_loop: another level, path, size or monster makes other pictures", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1"), other = test::LevelOf("E1M2");
    const uint64_t hash = RunSerial(*game, Small(30)).hash;
    CHECK(RunSerial(*game, Small(30)).hash == hash);
    CHECK(RunSerial(*other, Small(30)).hash != hash);
    RunOptions wide = Small(30);
    wide.width = 176;
    CHECK(RunSerial(*game, wide).hash != hash);
    for (Monster &monster : game->start.monsters) monster.random ^= 1;
    CHECK(RunSerial(*game, Small(200)).hash != RunSerial(*test::LevelOf("E1M1"), Small(200)).hash);
    std::reverse(game->path.begin(), game->path.end());
    CHECK(RunSerial(*game, Small(30)).hash != hash);
}

TEST_CASE("frame_loop: the viewer walks through the level and never stands in a wall",
          "[frame_loop]") {
    // in E2M8 and E3M7 the start is a closet
    for (const char *name : {"E1M1", "E1M2", "E2M8", "E3M7", "E4M7"}) {
        const auto game = test::LevelOf(name);
        INFO(name);
        int inWall = 0, jumps = 0;
        std::set<int> subsectors;
        for (size_t i = 0; i < game->path.size(); ++i) {
            const Viewpoint &eye = game->path[i];
            const Footing footing =
                FootingAt(game->level, game->level.ceilings, eye.x, eye.y, 2, kBlocksAll);
            if (footing.blocked || eye.z <= ToFixed(footing.floor)) ++inWall;
            if (i != 0 &&
                Distance(eye.x - game->path[i - 1].x, eye.y - game->path[i - 1].y) > ToFixed(11))
                ++jumps;
            subsectors.insert(game->level.SubsectorAt(eye.x, eye.y));
        }
        CHECK(inWall == 0);
        CHECK(jumps == 0);
        CHECK(subsectors.size() > 20);
    }
}

TEST_CASE("frame_loop: monsters move, stay out of walls, and notice the viewer", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    World now = game->start, next = now;
    int inWall = 0;
    const std::vector<Monster> &monsters = now.monsters;
    const auto count = [&](auto which) {
        return std::count_if(monsters.begin(), monsters.end(), which);
    };
    std::ptrdiff_t noticed = 0;
    for (size_t frame = 0; frame < 400; ++frame) {
        OpenDoorsOnPath(*game, frame, now, &next);
        Think(*game, game->path[frame], now, &next, 0, monsters.size());
        Move(*game, now, &next, 0, monsters.size());
        for (size_t i = 0; i < monsters.size(); ++i) {
            const Monster &moved = next.monsters[i];
            if (moved.walked == monsters[i].walked) continue;
            const Footing footing = FootingAt(game->level, now.ceilings, moved.x, moved.y,
                                              game->kinds[moved.kind].radius, kBlocksAll);
            inWall += footing.blocked || footing.ceiling <= footing.floor;
        }
        now = next;
        noticed = std::max(noticed, count([](const Monster &it) { return it.alert > 0; }));
    }
    CHECK(inWall == 0);
    CHECK(noticed >= 3);
    CHECK(count([](const Monster &it) { return it.walked > 100; }) > 10);
}
#endif
