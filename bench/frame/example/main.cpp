// An example of a program that measures its own frame with the report of frame_bench. The frame is
// a simplified form of the one of samples/frame_loop. Things think and move, the visible things are
// found, strips of a picture are drawn, and the picture is composed.
#include "frame/frame.h"

#include <cmath>
#include <cstdio>

namespace {

constexpr uint32_t kThings = 4000, kThingsEach = 100, kWidth = 320, kHeight = 200, kStripWidth = 8;

struct Thing {
    float x = 0, y = 0, heading = 0;
    bool isVisible = false;
};

struct Game {
    std::vector<Thing> things = std::vector<Thing>(kThings);
    std::vector<uint32_t> picture = std::vector<uint32_t>(kWidth * kHeight);
    uint32_t sum = 0;
};

// The part of the data on which one task of a stage works.
struct Part {
    Game *game;
    uint32_t begin, end;
};

void Think(weft::TaskScheduler *, void *arg) {
    const Part &part = *static_cast<Part *>(arg);
    for (uint32_t i = part.begin; i < part.end; ++i) {
        Thing &thing = part.game->things[i];
        thing.heading += 0.1f * std::sin(thing.x + static_cast<float>(i));
    }
}

void Move(weft::TaskScheduler *, void *arg) {
    const Part &part = *static_cast<Part *>(arg);
    for (uint32_t i = part.begin; i < part.end; ++i) {
        Thing &thing = part.game->things[i];
        thing.x = std::fmod(thing.x + 100 + std::cos(thing.heading), 100.0f);
        thing.y = std::fmod(thing.y + 100 + std::sin(thing.heading), 100.0f);
    }
}

void FindVisible(weft::TaskScheduler *, void *arg) {
    const Part &part = *static_cast<Part *>(arg);
    for (uint32_t i = part.begin; i < part.end; ++i) {
        Thing &thing = part.game->things[i];
        thing.isVisible = std::hypot(thing.x - 50, thing.y - 50) < 10;
    }
}

void DrawStrip(weft::TaskScheduler *, void *arg) {
    const Part &part = *static_cast<Part *>(arg);
    for (uint32_t x = part.begin; x < part.end; ++x) {
        for (uint32_t y = 0; y < kHeight; ++y) part.game->picture[y * kWidth + x] = x ^ y;
    }
    for (const Thing &thing : part.game->things) {
        const uint32_t x = static_cast<uint32_t>(thing.x * 3.2f) % kWidth;
        if (!thing.isVisible || x < part.begin || x >= part.end) continue;
        for (uint32_t y = 0; y < kHeight; ++y) part.game->picture[y * kWidth + x] += y;
    }
}

void Compose(weft::TaskScheduler *, void *arg) {
    Game &game = *static_cast<Part *>(arg)->game;
    for (const uint32_t pixel : game.picture) game.sum = game.sum * 31 + pixel;
}

}  // namespace

int main() {
    Game game;
    std::vector<Part> parts, strips;
    for (uint32_t i = 0; i < kThings; i += kThingsEach)
        parts.push_back({&game, i, i + kThingsEach});
    for (uint32_t x = 0; x < kWidth; x += kStripWidth)
        strips.push_back({&game, x, x + kStripWidth});
    const auto tasksOf = [](weft::TaskFunction function, std::vector<Part> &of) {
        std::vector<weft::Task> tasks;
        for (Part &part : of) tasks.push_back({function, &part});
        return tasks;
    };

    frame::Frame frame{"example", {}, nullptr};
    frame.stages.push_back({"think", tasksOf(Think, parts), {}});
    frame.stages.push_back({"move", tasksOf(Move, parts), {0}});
    frame.stages.push_back({"visibility", tasksOf(FindVisible, parts), {1}});
    frame.stages.push_back({"strips", tasksOf(DrawStrip, strips), {2}, weft::Priority::High});
    frame.stages.push_back({"compose", {{Compose, &parts[0]}}, {3}});
    const frame::Report report = frame::RunFrames(frame, {});
    if (!report.problem.empty()) {
        std::fprintf(stderr, "frame_example: %s\n", report.problem.c_str());
        return 1;
    }
    frame::Print(report);
    std::printf("sum %08x\n", game.sum);
    return 0;
}
