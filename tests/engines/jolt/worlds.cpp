// Several worlds of Jolt step at the same time, in tasks of weft, while other tasks lock their
// bodies. Each world must reach the bodies that it reaches on Jolt's own threads. If a wait for a
// barrier ran other tasks, it would run one that locks what the waiting step has locked, and hang.
// The last line has the sum.
#include "jolt/jolt_job_system.h"
#include "weft/closure.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <Jolt/Core/Factory.h>
#include <Jolt/Core/HashCombine.h>
#include <Jolt/Core/JobSystemThreadPool.h>
#include <Jolt/Core/TempAllocator.h>
#include <Jolt/Physics/Body/BodyCreationSettings.h>
#include <Jolt/Physics/Body/BodyLock.h>
#include <Jolt/Physics/Collision/BroadPhase/BroadPhaseLayerInterfaceTable.h>
#include <Jolt/Physics/Collision/BroadPhase/ObjectVsBroadPhaseLayerFilterTable.h>
#include <Jolt/Physics/Collision/ObjectLayerPairFilterTable.h>
#include <Jolt/Physics/Collision/Shape/BoxShape.h>
#include <Jolt/Physics/PhysicsSystem.h>
#include <Jolt/RegisterTypes.h>

namespace {

constexpr int kWorlds = 6, kSteps = 60, kQueries = 8;
constexpr JPH::uint kBoxes = 200;

/// A heap of boxes that falls on a floor. Each world has other boxes.
class World {
public:
    explicit World(int number) {
        m_physics.Init(kBoxes + 1, 0, 16384, 8192, m_broadLayers, m_filter, m_pairs);
        Add(JPH::Vec3(50, 1, 50), JPH::RVec3(0, -1, 0), JPH::EMotionType::Static, 0);
        for (JPH::uint i = 0; i < kBoxes; ++i) {
            const float size = 0.3f + 0.01f * static_cast<float>((i + number) % 20);
            const JPH::RVec3 position(static_cast<float>(i % 5), 1 + static_cast<float>(i / 25),
                                      static_cast<float>(i / 5 % 5) + 0.1f * (i % 3));
            Add(JPH::Vec3::sReplicate(size), position, JPH::EMotionType::Dynamic, 1);
        }
        m_physics.OptimizeBroadPhase();
    }

    bool Step(JPH::JobSystem &jobs) {
        return m_physics.Update(1 / 60.0f, 1, &m_allocator, &jobs) ==
               JPH::EPhysicsUpdateError::None;
    }

    /// Locks the bodies one after the other, as any code of a game may do during a step.
    void Query() {
        for (const JPH::BodyID id : m_ids) {
            const JPH::BodyLockRead lock(m_physics.GetBodyLockInterface(), id);
            if (lock.Succeeded() && lock.GetBody().IsStatic()) ++m_statics;
        }
    }
    int Statics() const { return m_statics; }

    uint64_t Hash() const {
        uint64_t hash = JPH::HashBytes(nullptr, 0);
        for (const JPH::BodyID id : m_ids) {
            const JPH::RMat44 where = m_physics.GetBodyInterface().GetWorldTransform(id);
            hash = JPH::HashBytes(&where, sizeof(where), hash);
        }
        return hash;
    }

private:
    void Add(JPH::Vec3 halves, JPH::RVec3 position, JPH::EMotionType type, JPH::ObjectLayer layer) {
        const JPH::BodyCreationSettings settings(new JPH::BoxShape(halves), position,
                                                 JPH::Quat::sIdentity(), type, layer);
        m_ids.push_back(
            m_physics.GetBodyInterface().CreateAndAddBody(settings, JPH::EActivation::Activate));
    }

    struct Pairs : JPH::ObjectLayerPairFilterTable {
        Pairs() : ObjectLayerPairFilterTable(2) {
            EnableCollision(0, 1);
            EnableCollision(1, 1);
        }
    } m_pairs;
    struct BroadLayers : JPH::BroadPhaseLayerInterfaceTable {
        BroadLayers() : BroadPhaseLayerInterfaceTable(2, 2) {
            MapObjectToBroadPhaseLayer(0, JPH::BroadPhaseLayer(0));
            MapObjectToBroadPhaseLayer(1, JPH::BroadPhaseLayer(1));
        }
    } m_broadLayers;
    JPH::ObjectVsBroadPhaseLayerFilterTable m_filter{m_broadLayers, 2, m_pairs, 2};
    JPH::TempAllocatorImpl m_allocator{8 << 20};
    JPH::PhysicsSystem m_physics;
    JPH::BodyIDVector m_ids;
    std::atomic<int> m_statics{0};
};

using Hashes = std::array<uint64_t, kWorlds>;

Hashes OnOwnThreads(int threads) {
    JPH::JobSystemThreadPool jobs(JPH::cMaxPhysicsJobs, JPH::cMaxPhysicsBarriers, threads - 1);
    Hashes hashes;
    for (int i = 0; i < kWorlds; ++i) {
        World world(i);
        for (int step = 0; step < kSteps; ++step) world.Step(jobs);
        hashes[i] = world.Hash();
    }
    return hashes;
}

/// Steps all worlds in tasks. `queries` tasks lock the bodies of each world during each step.
Hashes OnWeft(uint32_t workers, int queries, uint32_t maxJobs, int &statics) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) std::abort();
    Hashes hashes;
    {
        weft::JoltJobSystem jobs(scheduler, 0, {}, maxJobs);
        std::unique_ptr<World> worlds[kWorlds];
        weft::Counter counter;
        for (int i = 0; i < kWorlds; ++i) {
            worlds[i] = std::make_unique<World>(i);
            const auto steps = [&jobs, &counter, queries,
                                &world = *worlds[i]](weft::TaskScheduler *current) {
                for (int step = 0; step < kSteps; ++step) {
                    for (int query = 0; query < queries; ++query)
                        weft::AddTask(
                            *current, [&world] { world.Query(); }, &counter);
                    world.Step(jobs);
                }
            };
            weft::AddTask(scheduler, steps, &counter);
        }
        scheduler.WaitForCounter(&counter);
        statics = 0;
        for (int i = 0; i < kWorlds; ++i) {
            hashes[i] = worlds[i]->Hash();
            statics += worlds[i]->Statics();
        }
    }
    scheduler.Stop();
    return hashes;
}

/// An external thread steps the worlds. If the scheduler does not run, each job runs where it is
/// queued, after a report.
Hashes FromOutside(bool isRunning, int &reports) {
    weft::SchedulerOptions options;
    reports = 0;
    options.user = &reports;
    options.onReport = [](const weft::Report &, void *user) { ++*static_cast<int *>(user); };
    weft::TaskScheduler scheduler(options);
    if (isRunning && scheduler.Start() != weft::Status::Ok) std::abort();
    Hashes hashes;
    weft::JoltJobSystem jobs(scheduler);
    for (int i = 0; i < kWorlds; ++i) {
        World world(i);
        for (int step = 0; step < kSteps; ++step) world.Step(jobs);
        hashes[i] = world.Hash();
    }
    return hashes;
}

int passed = 0, failed = 0;

void Check(bool isRight, const char *what, uint32_t workers) {
    ++(isRight ? passed : failed);
    std::printf("%s %u workers: %s\n", isRight ? "ok    " : "FAILED", workers, what);
}

}  // namespace

int main() {
    JPH::RegisterDefaultAllocator();
    JPH::Factory::sInstance = new JPH::Factory();
    JPH::RegisterTypes();

    const Hashes expected = OnOwnThreads(2);
    Check(expected == OnOwnThreads(1) && expected[0] != expected[1], "own threads, 1 and 2", 0);
    int count = 0;
    for (const uint32_t workers : {1u, 2u, 4u}) {
        Check(OnWeft(workers, 0, JPH::cMaxPhysicsJobs, count) == expected, "steps in tasks",
              workers);
        Check(OnWeft(workers, kQueries, JPH::cMaxPhysicsJobs, count) == expected &&
                  count == kWorlds * kSteps * kQueries,
              "steps in tasks while others lock bodies", workers);
        Check(OnWeft(workers, 0, 4, count) == expected, "memory for 4 jobs", workers);
    }
    Check(FromOutside(true, count) == expected && count == 0, "one for each CPU: external thread",
          0);
    Check(FromOutside(false, count) == expected && count != 0, "a scheduler that does not run", 0);

    JPH::UnregisterTypes();
    delete JPH::Factory::sInstance;
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
