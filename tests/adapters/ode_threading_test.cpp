// ODE's worlds on weft end where they end on ODE's own threads.
#include "adapters/ode/ode_threading.h"

#include "adapters/figures.h"
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

namespace {

/// Makes ODE's data, once for the process and once for each thread.
void Init() {
    struct Ode {
        Ode() { dInitODE2(0); }
        ~Ode() { dCloseODE(); }
    };
    static const Ode ode;
    dAllocateODEDataForThread(dAllocateMaskAll);
}

/// Heaps of balls that fall on the ground. Balls that touch each other are an island.
class Scene {
public:
    Scene(int heaps, int balls) {
        Init();
        m_world = dWorldCreate();
        m_space = dSimpleSpaceCreate(nullptr);
        m_contacts = dJointGroupCreate(0);
        dWorldSetGravity(m_world, 0, 0, -9.81);
        dCreatePlane(m_space, 0, 0, 1, 0);
        for (int i = 0; i < heaps * balls; ++i) {
            const dBodyID body = dBodyCreate(m_world);
            dMass mass;
            dMassSetSphere(&mass, 1, 0.5);
            dBodySetMass(body, &mass);
            const int place = i % balls;
            dBodySetPosition(body, 10.0 * (i / balls) + 0.3 * (place % 2), 0.2 * (place % 3),
                             0.6 + 0.9 * place);
            dGeomSetBody(dCreateSphere(m_space, 0.5), body);
            m_bodies.push_back(body);
        }
    }
    Scene(const Scene &) = delete;
    Scene &operator=(const Scene &) = delete;
    ~Scene() {
        dJointGroupDestroy(m_contacts);
        dSpaceDestroy(m_space);
        dWorldDestroy(m_world);
    }

    dWorldID World() { return m_world; }

    /// Returns false if ODE cannot make the step.
    bool Step() {
        dSpaceCollide(m_space, this, [](void *scene, dGeomID a, dGeomID b) {
            static_cast<Scene *>(scene)->Touch(a, b);
        });
        const bool done = dWorldStep(m_world, 1 / 60.0) != 0;
        dJointGroupEmpty(m_contacts);
        return done;
    }

    bool Steps(int count) {
        for (int i = 0; i < count; ++i) {
            if (!Step()) return false;
        }
        return true;
    }

    /// The coordinates of all bodies.
    std::vector<dReal> State() {
        std::vector<dReal> state;
        for (const dBodyID body : m_bodies) {
            const dReal *place = dBodyGetPosition(body);
            state.insert(state.end(), place, place + 3);
        }
        return state;
    }

private:
    void Touch(dGeomID a, dGeomID b) {
        dContact contacts[4] = {};
        const int count = dCollide(a, b, 4, &contacts[0].geom, sizeof(dContact));
        for (int i = 0; i < count; ++i) {
            contacts[i].surface.mode = dContactBounce;
            contacts[i].surface.mu = 0.7;
            contacts[i].surface.bounce = 0.2;
            dJointAttach(dJointCreateContact(m_world, m_contacts, &contacts[i]), dGeomGetBody(a),
                         dGeomGetBody(b));
        }
    }

    dWorldID m_world;
    dSpaceID m_space;
    dJointGroupID m_contacts;
    std::vector<dBodyID> m_bodies;
};

constexpr int kSteps = 60;

/// ODE's own pool of two threads.
class OwnThreads {
public:
    OwnThreads() { dThreadingThreadPoolServeMultiThreadedImplementation(m_pool, m_threading); }
    OwnThreads(const OwnThreads &) = delete;
    OwnThreads &operator=(const OwnThreads &) = delete;
    ~OwnThreads() {
        dThreadingImplementationShutdownProcessing(m_threading);
        dThreadingFreeThreadPool(m_pool);
        dThreadingFreeImplementation(m_threading);
    }
    void Serve(Scene &scene) {
        dWorldSetStepThreadingImplementation(
            scene.World(), dThreadingImplementationGetFunctions(m_threading), m_threading);
    }

private:
    const dThreadingImplementationID m_threading = dThreadingAllocateMultiThreadedImplementation();
    const dThreadingThreadPoolID m_pool =
        dThreadingAllocateThreadPool(2, 0, dAllocateFlagBasicData, nullptr);
};

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
                    scheduler.AddTasksAndWait(20, frame.Tasks(), test::kLarge);
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

TEST_CASE("ODE figures: weft against ODE's own threads", "[.figures]") {
    test::Runner run(test::Options(test::kFigureWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    {
        Init();
        OdeThreading threading(run.scheduler);
        OwnThreads threads;
        test::Figures figures("steps a second", "ODE's threads");
        const auto add = [&](const char *name, int heaps, int balls) {
            const auto steps = [](Scene &scene) {
                return test::PerSecond(kSteps, [&] { CHECK(scene.Steps(kSteps)); });
            };
            const auto onWeft = [&run, &threading, heaps, balls, steps] {
                double perSecond = 0;
                test::InTask(run.scheduler, [&] {
                    Scene scene(heaps, balls);
                    dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(),
                                                         threading.Id());
                    perSecond = steps(scene);
                });
                return perSecond;
            };
            const auto onThreads = [&threads, heaps, balls, steps] {
                Scene scene(heaps, balls);
                threads.Serve(scene);
                return steps(scene);
            };
            figures.Add(name, onWeft, onThreads);
        };
        add("96 balls, one an island", 96, 1);
        add("12 heaps of 8 balls", 12, 8);
        add("4 heaps of 24 balls", 4, 24);
        CHECK(figures.Measure());
    }
    run.scheduler.Stop();
}
