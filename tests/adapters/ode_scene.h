// A scene for tests of ODE's adapter, and ODE's own threads.
#pragma once

#include <vector>

#include <ode/ode.h>

namespace test::ode {

/// Makes ODE's data, once for the process and once for each thread.
inline void Init() {
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

    /// Adds the same velocity to all bodies.
    void Push(dReal x, dReal y) {
        for (const dBodyID body : m_bodies) {
            const dReal *before = dBodyGetLinearVel(body);
            dBodySetLinearVel(body, before[0] + x, before[1] + y, before[2]);
        }
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

inline constexpr int kSteps = 60;

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

}  // namespace test::ode
