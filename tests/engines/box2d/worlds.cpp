// Worlds of box2d step in tasks of weft. Each must reach the bodies that it reaches on one thread.
// The last line has the sum.
//
//     worlds                       several worlds at the same time
//     worlds SYSTEM THREADS STEPS  one world; prints steps a second and a hash. SYSTEM is weft or
//     own
#include "systems.h"

#include <array>
#include <memory>
#include <vector>

namespace {

constexpr int kWorlds = 6, kSteps = 120;

/// Rows of pyramids of boxes, and chains of balls that fall on them.
class World {
public:
    World(b2WorldDef definition, int number, int pyramids) {
        m_world = b2CreateWorld(&definition);
        const float width = 14.0f * static_cast<float>(pyramids);
        const b2BodyId floor = Add(b2_staticBody, width / 2, -1);
        const b2ShapeDef floorShape = b2DefaultShapeDef();
        const b2Polygon slab = b2MakeBox(width, 1);
        b2CreatePolygonShape(floor, &floorShape, &slab);
        for (int pyramid = 0; pyramid < pyramids; ++pyramid) {
            const float left = 14.0f * static_cast<float>(pyramid);
            for (int row = 0; row < 10; ++row) {
                for (int i = row; i < 10; ++i) {
                    const float x =
                        left + 1.1f * static_cast<float>(i) - 0.55f * static_cast<float>(row);
                    Box(x, 0.5f + 1.02f * static_cast<float>(row));
                }
            }
            for (int ball = 0; ball < 5; ++ball)
                Ball(left + static_cast<float>(ball + number), 12 + static_cast<float>(ball));
        }
    }
    ~World() { b2DestroyWorld(m_world); }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    void Step() { b2World_Step(m_world, 1 / 60.0f, 4); }

    uint64_t Hash() const {
        uint64_t hash = 14695981039346656037u;
        for (const b2BodyId body : m_bodies) {
            const auto place = b2Body_GetPosition(body);
            const b2Rot turn = b2Body_GetRotation(body);
            unsigned char bytes[sizeof(place) + sizeof(turn)];
            std::memcpy(bytes, &place, sizeof(place));
            std::memcpy(bytes + sizeof(place), &turn, sizeof(turn));
            for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
        }
        return hash;
    }

private:
    b2BodyId Add(b2BodyType type, float x, float y) {
        b2BodyDef definition = b2DefaultBodyDef();
        definition.type = type;
        definition.position = {x, y};
        definition.enableSleep = false;
        m_bodies.push_back(b2CreateBody(m_world, &definition));
        return m_bodies.back();
    }
    void Box(float x, float y) {
        const b2ShapeDef shape = b2DefaultShapeDef();
        const b2Polygon box = b2MakeBox(0.5f, 0.5f);
        b2CreatePolygonShape(Add(b2_dynamicBody, x, y), &shape, &box);
    }
    void Ball(float x, float y) {
        const b2ShapeDef shape = b2DefaultShapeDef();
        const b2Circle circle = {{0, 0}, 0.4f};
        b2CreateCircleShape(Add(b2_dynamicBody, x, y), &shape, &circle);
    }

    b2WorldId m_world;
    std::vector<b2BodyId> m_bodies;
};

using Hashes = std::array<uint64_t, kWorlds>;

Hashes OnOneThread() {
    Hashes hashes;
    for (int i = 0; i < kWorlds; ++i) {
        World world(b2DefaultWorldDef(), i, 4);
        for (int step = 0; step < kSteps; ++step) world.Step();
        hashes[i] = world.Hash();
    }
    return hashes;
}

/// `inTasks`: all worlds step at the same time. Otherwise an external thread steps them.
Hashes OnWeft(uint32_t workers, bool inTasks) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) std::abort();
    weft::Box2dTasks tasks(scheduler);
    Hashes hashes;
    weft::Counter counter;
    std::vector<std::unique_ptr<World>> worlds;
    for (int i = 0; i < kWorlds; ++i) {
        b2WorldDef definition = b2DefaultWorldDef();
        tasks.Use(definition);
        worlds.push_back(std::make_unique<World>(definition, i, 4));
    }
    for (const auto &world : worlds) {
        const auto run = [&world = *world] {
            for (int step = 0; step < kSteps; ++step) world.Step();
        };
        if (inTasks) {
            weft::AddTask(scheduler, run, &counter);
        } else {
            run();
        }
    }
    scheduler.WaitForCounter(&counter);
    for (int i = 0; i < kWorlds; ++i) hashes[i] = worlds[i]->Hash();
    worlds.clear();
    scheduler.Stop();
    return hashes;
}

int passed = 0, failed = 0;

void Check(bool isRight, const char *what, uint32_t workers) {
    ++(isRight ? passed : failed);
    std::printf("%s %u workers: %s\n", isRight ? "ok    " : "FAILED", workers, what);
}

}  // namespace

int main(int count, char **arguments) {
    if (count == 4) {
        engines::OnSystem(arguments[1], std::atoi(arguments[2]), [&](const b2WorldDef &definition) {
            World world(definition, 0, 40);
            engines::Measure(
                std::atoi(arguments[3]), [&](int) { world.Step(); }, [&] { return world.Hash(); });
        });
        return 0;
    }
    const Hashes expected = OnOneThread();
    Check(expected[0] != expected[1], "the worlds differ", 0);
    for (const uint32_t workers : {1u, 2u, 4u}) {
        Check(OnWeft(workers, true) == expected, "steps in tasks", workers);
        Check(OnWeft(workers, false) == expected, "steps on an external thread", workers);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
