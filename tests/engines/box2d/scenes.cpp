// Measures a scene of box2d's benchmark, from its folder shared/. Prints steps a second and box2d's
// hash of the world.
//
//     scenes SYSTEM THREADS SCENE STEPS   SYSTEM is weft or own
#include "systems.h"

#include <benchmarks.h>

namespace {

struct Scene {
    const char *name;
    void (*create)(b2WorldId world);
    float (*beforeStep)(b2WorldId world, int step);  // may be null
};

constexpr Scene kScenes[] = {
    {"joint_grid", CreateJointGrid, nullptr},
    {"large_pyramid", CreateLargePyramid, nullptr},
    {"many_pyramids", CreateManyPyramids, nullptr},
    {"rain", CreateRain, StepRain},
    {"smash", CreateSmash, nullptr},
    {"spinner", CreateSpinner, StepSpinner},
    {"tumbler", CreateTumbler, nullptr},
};

void Measure(const Scene &scene, const b2WorldDef &definition, int steps) {
    const b2WorldId world = b2CreateWorld(&definition);
    scene.create(world);
    const auto step = [&](int i) {
        if (scene.beforeStep != nullptr) scene.beforeStep(world, i);
        b2World_Step(world, 1 / 60.0f, 4);
    };
    engines::Measure(steps, step, [&] { return b2World_GetStateHash(world); });
    b2DestroyWorld(world);
}

}  // namespace

int main(int count, char **arguments) {
    for (const Scene &scene : kScenes) {
        if (count != 5 || std::strcmp(arguments[3], scene.name) != 0) continue;
        engines::OnSystem(arguments[1], std::atoi(arguments[2]), [&](const b2WorldDef &definition) {
            Measure(scene, definition, std::atoi(arguments[4]));
        });
        return 0;
    }
    std::puts("usage: scenes weft|own THREADS SCENE STEPS");
    return 2;
}
