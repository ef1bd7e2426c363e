#include "scheduler/state/fiber.h"

#include "platform/stack_memory.h"

#include <utility>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

// Runs `fiber` once. Its start function records how much stack is left, and counts its runs.
struct Visit {
    FiberContext home;
    Fiber *fiber = nullptr;
    uint32_t runs = 0;
    size_t left = 0;
    uintptr_t frame = 0;

    static FiberContext *Start(void *arg) {
        Visit *self = static_cast<Visit *>(arg);
        ++self->runs;
        self->left = self->fiber->StackLeft();
        self->frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
        return &self->home;
    }
    void Run() {
        home.Adopt();
        SwitchContext(home, fiber->context);
    }
};

}  // namespace

TEST_CASE("fiber: Reset prepares it again, and it starts on the empty stack each time", "[fiber]") {
    StackMemory stacks;
    REQUIRE(stacks.Acquire(1, (128 << 10) + Fiber::kColourBytes) == Status::Ok);
    Visit visit;
    Fiber fiber(5, stacks.Bottom(0), stacks.StackBytes());
    visit.fiber = &fiber;
    CHECK(!fiber.IsThreadStack());
    CHECK(Fiber().IsThreadStack());
    uintptr_t first = 0;
    for (uint32_t run = 1; run <= 3; ++run) {
        fiber.Reset(Visit::Start, &visit);
        CHECK(!fiber.HasRun());
        visit.Run();
        CHECK(visit.runs == run);
        if (run == 1) first = visit.frame;
        CHECK(visit.frame == first);
        CHECK(visit.left > (128 << 10) - 4096);  // nearly the whole stack
        CHECK(visit.left <= stacks.StackBytes());
    }
    fiber.context.Destroy();
}

TEST_CASE("fiber: stacks of one pool begin at different distances from a page border", "[fiber]") {
    StackMemory stacks;
    REQUIRE(stacks.Acquire(16, 128 << 10) == Status::Ok);
    for (uint32_t i = 1; i < 16; ++i) {
        uintptr_t offsets[2];
        for (uint32_t which : {0u, 1u}) {
            Visit visit;
            Fiber fiber(which == 0 ? 0 : i, stacks.Bottom(i), stacks.StackBytes());
            visit.fiber = &fiber;
            fiber.Reset(Visit::Start, &visit);
            visit.Run();
            offsets[which] = visit.frame % stacks.PageBytes();
            fiber.context.Destroy();
        }
        CHECK(offsets[0] != offsets[1]);
    }
}

TEST_CASE("fiber: a moved fiber runs, and the source is empty", "[fiber]") {
    StackMemory stacks;
    REQUIRE(stacks.Acquire(1, 128 << 10) == Status::Ok);
    Visit visit;
    Fiber fiber(9, stacks.Bottom(0), stacks.StackBytes());
    fiber.Reset(Visit::Start, &visit);
    Fiber moved(std::move(fiber));
    CHECK(moved.index == 9);
    CHECK(fiber.index == kAnyWorker);
    CHECK(fiber.IsThreadStack());
    visit.fiber = &moved;
    visit.Run();
    CHECK(visit.runs == 1);
    moved.context.Destroy();
}
