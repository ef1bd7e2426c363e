// ODE's worlds on weft end where they end on ODE's own threads.
#include "adapters/ode/ode_threading.h"

#include "adapters/frames.h"
#include "adapters/ode_scene.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ode/ode.h>
#include <catch2/catch.hpp>

using namespace weft;
using namespace test::ode;

namespace {

/// What ODE's own threads make of the scene. Empty if a step fails.
std::vector<dReal> Expected(int heaps, int balls) {
    Init();
    OwnThreads threads;
    Scene scene(heaps, balls);
    threads.Serve(scene);
    return scene.Steps(kSteps) ? scene.State() : std::vector<dReal>();
}

/// The largest difference of two coordinates.
dReal Distance(const std::vector<dReal> &a, const std::vector<dReal> &b) {
    if (a.size() != b.size()) return dInfinity;
    dReal most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = (std::max)(most, std::abs(a[i] - b[i]));
    return most;
}

}  // namespace

TEST_CASE("OdeThreading: a world ends in the state that ODE's own threads reach", "[ode]") {
    // With more than one thread, larger islands differ from run to run, on ODE's own threads, too.
    // So only islands of one ball have the same bits always.
    struct Case {
        int heaps, balls;
        bool isExact;
    };
    for (const Case &each : {Case{96, 1, true}, Case{12, 8, false}}) {
        const std::vector<dReal> expected = Expected(each.heaps, each.balls);
        REQUIRE(Distance(expected, Scene(each.heaps, each.balls).State()) > 0.1);
        for (uint32_t workers : {1u, 2u, 4u}) {
            INFO(workers << " workers, " << each.heaps << " heaps");
            test::Runner run(test::Options(workers));
            std::atomic<uint32_t> wrong{0}, others{0};
            dReal distance = dInfinity;
            CHECK(run.Run([&](TaskScheduler &scheduler) {
                OdeThreading threading(scheduler);
                Scene scene(each.heaps, each.balls);
                dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(),
                                                     threading.Id());
                for (int i = 0; i < kSteps; ++i) {
                    // The step is a stage of a frame, beside other tasks.
                    test::Batch frame(20, [&](TaskScheduler &, uint32_t task) {
                        if (task == 10) {
                            wrong += !scene.Step();
                        } else {
                            ++others;
                        }
                    });
                    scheduler.AddTasksAndWait(20, frame.Tasks());
                }
                distance = Distance(scene.State(), expected);
            }) == Status::Ok);
            CHECK(wrong == 0);
            if (each.isExact) {
                CHECK(distance == 0);
            } else {
                CHECK(distance < 0.001);
            }
            CHECK(others == 19 * kSteps);
            CHECK(test::Faults(run.log) == "");
        }
    }
}

TEST_CASE("OdeThreading: a stage of overlapping frames steps a world, and the next one reads it",
          "[ode]") {
    constexpr uint32_t kFrames = 40;  // the balls land in frame 9
    const auto pushOf = [](uint64_t frame) { return 0.01 * static_cast<dReal>(frame % 7); };
    std::vector<std::vector<dReal>> expected;
    {
        Init();
        OwnThreads threads;
        Scene scene(30, 1);
        threads.Serve(scene);
        for (uint32_t frame = 0; frame < kFrames; ++frame) {
            scene.Push(pushOf(frame), -pushOf(frame));
            REQUIRE(scene.Step());
            expected.push_back(scene.State());
        }
    }
    REQUIRE(Distance(expected[0], expected[kFrames - 1]) > 0.1);
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options = test::Options(workers);
        options.threads.onStart = [](uint32_t, void *) { Init(); };
        test::Runner run(options);
        uint32_t right = 0, steps = 0;
        bool overlap = false;
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            OdeThreading threading(scheduler);
            Scene scene(30, 1);
            dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(),
                                                 threading.Id());
            struct Frame {
                dReal push;
                std::vector<dReal> state;
            } frames[test::kFramesInFlight];
            overlap = test::RunFrames(
                scheduler, kFrames,
                [&](const FrameParams &params) { frames[params.slot].push = pushOf(params.frame); },
                [&](const FrameParams &params) {
                    Frame &frame = frames[params.slot];
                    scene.Push(frame.push, -frame.push);
                    steps += scene.Step();
                    frame.state = scene.State();
                },
                [&](const FrameParams &params) {
                    right += Distance(frames[params.slot].state, expected[params.frame]) == 0;
                });
        }) == Status::Ok);
        CHECK(overlap);
        CHECK(steps == kFrames);
        CHECK(right == kFrames);
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("OdeThreading: external threads step worlds at once", "[ode]") {
    const std::vector<dReal> expected = Expected(30, 1);
    test::Runner run(test::Options(2));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    std::atomic<uint32_t> wrong{0};
    {
        OdeThreading threading(run.scheduler);
        test::Threads threads(3, [&](uint32_t) {
            Scene scene(30, 1);
            dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(),
                                                 threading.Id());
            wrong += !scene.Steps(kSteps);
            wrong += Distance(scene.State(), expected) != 0;
        });
    }
    run.scheduler.Stop();
    CHECK(wrong == 0);
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("OdeThreading: calls begin after those on which they depend, and faults reach the waiter",
          "[ode]") {
    struct Tree {
        OdeThreading *threading;
        std::atomic<uint32_t> leaves{0}, early{0};
        bool fails = false;
    } tree;
    // The root's function adds four leaves, on which its end depends.
    const auto leaf = [](void *arg, dcallindex_t index, dCallReleaseeID) {
        Tree &its = *static_cast<Tree *>(arg);
        ++its.leaves;
        return its.fails && index == 2 ? 0 : 1;
    };
    static dThreadedCallFunction *leafFunction = leaf;
    const auto root = [](void *arg, dcallindex_t, dCallReleaseeID self) {
        Tree &its = *static_cast<Tree *>(arg);
        if (its.leaves != 4) ++its.early;
        const dThreadingFunctionsInfo &f = *its.threading->Functions();
        const dThreadingImplementationID id = its.threading->Id();
        f.alter_call_dependencies_count(id, self, 5);
        for (dcallindex_t i = 4; i < 8; ++i)
            f.post_call(id, nullptr, nullptr, 0, self, nullptr, leafFunction, &its, i, "leaf");
        f.alter_call_dependencies_count(id, self, -1);  // one was too many
        return 1;
    };
    for (const bool fails : {false, true}) {
        test::Runner run(test::Options(3));
        uint32_t wrong = 0;
        tree.fails = fails;
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            OdeThreading threading(scheduler);
            tree.threading = &threading;
            const dThreadingFunctionsInfo &f = *threading.Functions();
            const dThreadingImplementationID id = threading.Id();
            wrong += f.preallocate_resources_for_calls(id, 3) != 1;
            wrong += f.retrieve_thread_count(id) != 3;
            const dCallWaitID wait = f.alloc_call_wait(id);
            for (int round = 0; round < 100; ++round) {
                tree.leaves = 0;
                int fault = 7, isOver = 7;
                dCallReleaseeID self = nullptr;
                f.post_call(id, &fault, &self, 4, nullptr, wait, root, &tree, 0, "root");
                const dThreadedWaitTime none{0, 0};
                f.wait_call(id, &isOver, wait, &none, "now");
                wrong += isOver != 0;
                for (dcallindex_t i = 0; i < 4; ++i)
                    f.post_call(id, nullptr, nullptr, 0, self, nullptr, leaf, &tree, i, "leaf");
                f.wait_call(id, &isOver, wait, nullptr, "end");
                wrong += isOver != 1 || fault != (fails ? 1 : 0) || tree.leaves != 8;
                f.reset_call_wait(id, wait);
            }
            f.free_call_wait(id, wait);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(tree.early == 0);
    }
}

TEST_CASE("OdeThreading: a step fails if the scheduler does not run", "[ode]") {
    test::Runner run(test::Options(2));
    OdeThreading threading(run.scheduler);
    Scene scene(1, 1);
    dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(), threading.Id());
    CHECK(!scene.Step());
    CHECK(run.log.CountOf(ReportCode::NotRunning) == 1);
}
