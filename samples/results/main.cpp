// A level is built from parts that are loaded at the same time. Each part is a Result. A task that
// needs several parts begins when all of them are there, and holds no fiber before that. One
// texture is missing: its exception travels to the model that needs it, and the level uses a box
// instead. Two servers are asked for the high scores, and the first answer counts.
//
//     samples/run.sh results
#include <weft/data/result.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Mesh {
    uint32_t triangles;
};
struct Texture {
    uint32_t texels;
};
struct Model {
    uint32_t triangles, texels;
};

constexpr uint32_t kModels = 12, kMissing = 7;

// These stand for functions that read and convert files.
Mesh LoadMesh(uint32_t number) { return {100 + number}; }
Texture LoadTexture(uint32_t number) {
    if (number == kMissing) throw std::runtime_error("texture 7 is missing");
    return {1000 * number};
}
Model Join(const Mesh &mesh, const Texture &texture) { return {mesh.triangles, texture.texels}; }

struct Level {
    weft::Result<Mesh> meshes[kModels];
    weft::Result<Texture> textures[kModels];
    weft::Result<Model> models[kModels];
    weft::Result<std::string> scores[2];

    // Submits everything in one go. The order of the calls does not matter.
    bool Begin(weft::TaskScheduler &scheduler) {
        bool isBegun = true;
        for (uint32_t i = 0; i < kModels; ++i) {
            isBegun &= weft::AddTaskWhen(scheduler, Join, models[i], meshes[i], textures[i]);
            isBegun &= weft::AddTaskWhen(
                scheduler, [i] { return LoadMesh(i); }, meshes[i]);
            isBegun &= weft::AddTaskWhen(
                scheduler, [i] { return LoadTexture(i); }, textures[i]);
        }
        for (weft::Result<std::string> &score : scores)
            isBegun &= weft::AddTaskWhen(
                scheduler, [] { return std::string("1. Ada"); }, score);
        return isBegun;
    }
};

struct Summary {
    uint32_t triangles = 0, boxes = 0;
    std::string missing;
};

Summary Build(weft::TaskScheduler &scheduler, Level &level) {
    Summary summary;
    for (weft::Result<Model> &model : level.models) {
        try {
            summary.triangles += model.Get(scheduler).triangles;  // waits; a worker may run it here
        } catch (const std::exception &error) {
            summary.missing = error.what();
            summary.triangles += 12;
            ++summary.boxes;
        }
    }
    return summary;
}

}  // namespace

int main() {
    weft::TaskScheduler scheduler;
    if (scheduler.Start() != weft::Status::Ok) return 1;
    Level level;
    if (!level.Begin(scheduler)) return 1;
    weft::Result<Summary> summary;
    weft::AddTaskWhen(
        scheduler, [&level](weft::TaskScheduler *running) { return Build(*running, level); },
        summary);
    const uint32_t first = weft::WaitForAny(scheduler, level.scores[0], level.scores[1]);
    std::printf("server %u: %s\n", first, level.scores[first].Value().c_str());
    const Summary built = summary.Get(scheduler);  // this thread is no worker: it blocks
    std::printf("%u models, %u triangles, %u box because %s\n", kModels, built.triangles,
                built.boxes, built.missing.c_str());
    weft::WaitForAll(scheduler, level.scores[0], level.scores[1]);
    scheduler.Stop();
    const uint32_t expected = 100 * (kModels - 1) + kModels * (kModels - 1) / 2 - kMissing + 12;
    return built.boxes == 1 && built.triangles == expected ? 0 : 1;
}
