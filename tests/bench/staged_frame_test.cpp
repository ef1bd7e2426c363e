// Tests the frame of stages with which the benchmark measures all systems (bench/staged_frame.h).
#include "staged_frame.h"

#include "argument_batch.h"

#include <catch2/catch.hpp>

#include <random>
#include <utility>

using namespace bench;

namespace {

std::vector<size_t> s_choices;  // for each task that was run: the number of waiting tasks

// A system without workers, which runs the added tasks in random order.
struct AnyOrder : PlainSystem {
    class Group {
    public:
        explicit Group(Context = nullptr) {}
        void AddAll(const Batch &batch) {
            for (void *arg : batch.args) m_added.push_back({batch.function, arg});
        }
        void Wait() {
            static std::mt19937 random(1);
            while (!m_added.empty()) {
                s_choices.push_back(m_added.size());
                std::swap(m_added[random() % m_added.size()], m_added.back());
                const auto [function, arg] = m_added.back();
                m_added.pop_back();
                function(nullptr, arg);
            }
        }

    private:
        std::vector<std::pair<PlainFunction, void *>> m_added;
    };
};

frame::Stage MakeStage(size_t tasks, std::vector<uint32_t> after) {
    frame::Stage stage;
    stage.after = std::move(after);
    stage.nanoseconds.assign(tasks, 100);
    return stage;
}

}  // namespace

TEST_CASE("staged frame: a stage is submitted as soon as all its predecessors have ended",
          "[frame]") {
    const std::vector<frame::Stage> diamond = {MakeStage(2, {}), MakeStage(2, {0}),
                                               MakeStage(3, {0}), MakeStage(4, {1, 2})};
    StagedFrame<AnyOrder> staged(diamond);
    for (int repeat = 0; repeat < 20; ++repeat) {
        s_choices.clear();
        staged.Prepare(diamond);
        staged.Run();
        staged.Verify();
        CHECK(s_choices == std::vector<size_t>{2, 1, 5, 4, 3, 2, 1, 4, 3, 2, 1});
    }
}
