// Tests the graph of the frames of the sample frame_loop.
#include "frame_loop/frame_graph.h"

#include "samples/frame_loop/game_files.h"

#include <thread>

using namespace frame_loop;

namespace {

// Shows some frames, and compares the paths with the times of the stages.
class Checker final : public Screen {
public:
    std::optional<Viewpoint> Move(const Game &, const Viewpoint &before, const World &) override {
        return before;
    }
    bool Show(const ShownFrame &shown) override {
        ++frames;
        elsewhere += std::this_thread::get_id() != m_owner;
        measured += static_cast<int>(!shown.spans.empty());
        graph.Add(shown);
        const std::vector<uint8_t> before = shown.scene.rgb;
        graph.Draw(&shown.scene);
        changed += before != shown.scene.rgb;
        if (shown.params.frame < 2) return true;
        const FramePath path = PathOf(shown.frames, shown.params.frame - 1);
        int64_t sum = path.betweenNs;
        for (const FramePath::Part &part : path.parts) {
            sum += part.end - part.begin;
            wrong += part.begin < path.begin || part.begin > part.end;
        }
        wrong += sum != path.end - path.begin || path.parts.empty();
        return shown.params.frame < 20;
    }
    int frames = 0, elsewhere = 0, measured = 0, changed = 0, wrong = 0;
    FrameGraph graph{test::Freedoom()};

private:
    const std::thread::id m_owner = std::this_thread::get_id();
};

}  // namespace

TEST_CASE("frame_loop: a screen gets all frames on its own thread, and ends them", "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    for (const uint32_t workers : {1, 2, 8}) {
        Checker checker;
        RunOptions options;
        options.width = 160;
        options.height = 100;
        options.frames = 0;
        options.workers = workers;
        options.screen = &checker;
        const RunResult result = RunTasks(*game, options);
        INFO(workers << " workers");
        CHECK(result.problem == "");
        CHECK(result.presentedNs.size() == static_cast<size_t>(checker.frames));
        CHECK(checker.frames >= 21);    // frames 0 to 20
        CHECK(checker.frames <= 22);    // frame 21 may have begun before
        CHECK(checker.elsewhere == 0);  // on the thread that called RunTasks
        CHECK(checker.measured == checker.frames);
        CHECK(checker.changed == checker.frames);
        CHECK(checker.wrong == 0);  // the parts of a frame's path add up to its time
    }
}

TEST_CASE("frame_loop: the path of a frame begins at the end of the frame before", "[frame_loop]") {
    weft::FrameRing ring;
    ring.Restart(kTurns, 2);
    for (uint64_t frame = 0; frame < 2; ++frame) {
        ring.BeginFrame(frame);
        for (uint32_t stage = 0; stage < kTurns; ++stage) {
            ring.BeginStage(frame, stage);
            ring.EndStage(frame, stage);
        }
        ring.CompleteFrame(frame);
    }
    weft::FrameParams before, now;
    REQUIRE(ring.Read(0, &before));
    REQUIRE(ring.Read(1, &now));
    const FramePath path = PathOf(ring, 1);
    using Nanoseconds = std::chrono::nanoseconds;
    const auto ns = [](const weft::StageTimes &times) {
        return std::chrono::duration_cast<Nanoseconds>(times.end.time_since_epoch()).count();
    };
    CHECK(path.begin == ns(before.stages[kShow]));
    CHECK(path.end == ns(now.stages[kShow]));
    CHECK(PathOf(ring, 0).parts.empty());  // there is no frame before it
    CHECK(PathOf(ring, 2).parts.empty());  // it has not begun
}

TEST_CASE("frame_loop: the font has the letters of the WAD", "[frame_loop]") {
    const Font font(test::Freedoom());
    for (const char letter : {'A', 'Z', '0', '9', '.', ':'}) CHECK(font.Find(letter) != nullptr);
    for (const char letter : {' ', 'a', '\0', '\x7f'}) CHECK(font.Find(letter) == nullptr);
}
