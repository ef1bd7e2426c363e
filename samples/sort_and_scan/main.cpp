// Sorts and scans, as a renderer uses them. A scan gives each visible object its place in a list.
// The list is sorted by the key of the draw calls. Then the draw calls of each material are
// counted, and transparent ones are sorted from back to front. The result is compared with that of
// a run with one worker.
//
//     samples/run.sh sort_and_scan
#include <weft/algorithms/parallel_for.h>
#include <weft/algorithms/parallel_scan.h>
#include <weft/algorithms/parallel_sort.h>
#include <weft/algorithms/parallel_sort_by_key.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

constexpr uint32_t kObjects = 200000;

struct Draw {
    uint32_t object;
    uint32_t key;  // the material, which is expensive to change
    float depth;
    bool operator==(const Draw &other) const {
        return object == other.object && key == other.key && depth == other.depth;
    }
};

struct Result {
    uint32_t workers = 0;
    float length = 0;  // of the path that the camera flies
    std::vector<Draw> opaque, transparent;
};

float DepthOf(uint32_t object) { return 100 * std::sin(static_cast<float>(object) * 1.7f); }
bool IsVisible(float depth) { return depth > 10; }
bool IsTransparent(uint32_t object) { return object % 16 == 3; }

// Returns the draw calls of the objects for which `isChosen(object)` holds, in the order of the
// objects. The exclusive scan turns 0 and 1 into places.
template <class IsChosen>
std::vector<Draw> Collect(weft::TaskScheduler &scheduler, IsChosen isChosen) {
    std::vector<uint32_t> places(kObjects);
    weft::ParallelFor(scheduler, 0, kObjects,
                      [&](uint32_t object) { places[object] = isChosen(object) ? 1 : 0; });
    const uint32_t count = weft::ParallelExclusiveScan(scheduler, places.begin(), places.end(),
                                                       places.begin(), 0u, std::plus<>());
    std::vector<Draw> draws(count);
    weft::ParallelFor(scheduler, 0, kObjects, [&](uint32_t object) {
        if (isChosen(object))
            draws[places[object]] = {object, object * 2654435761u >> 24, DepthOf(object)};
    });
    return draws;
}

void Render(weft::TaskScheduler *scheduler, void *arg) {
    Result &result = *static_cast<Result *>(arg);
    result.workers = scheduler->WorkerCount();
    result.opaque = Collect(*scheduler, [](uint32_t object) {
        return IsVisible(DepthOf(object)) && !IsTransparent(object);
    });
    result.transparent = Collect(*scheduler, [](uint32_t object) {
        return IsVisible(DepthOf(object)) && IsTransparent(object);
    });

    // By material. Draw calls of one material stay in the order of their objects.
    std::vector<Draw> scratch(result.opaque.size());
    weft::ParallelSortByKey(*scheduler, result.opaque.begin(), result.opaque.end(), scratch.begin(),
                            [](const Draw &draw) { return draw.key; });

    // From back to front. Two objects of the same depth have a fixed order, too.
    weft::LoopOptions options;
    options.name = "transparent";
    weft::ParallelSort(
        *scheduler, result.transparent.begin(), result.transparent.end(),
        [](const Draw &a, const Draw &b) {
            return a.depth != b.depth ? a.depth > b.depth : a.object < b.object;
        },
        options);

    // The way to each object, if the camera flies from one to the next.
    std::vector<float> steps(kObjects), ways(kObjects);
    weft::ParallelFor(*scheduler, 1, kObjects, [&](uint32_t object) {
        steps[object] = std::abs(DepthOf(object) - DepthOf(object - 1));
    });
    result.length = weft::ParallelInclusiveScan(*scheduler, steps.begin(), steps.end(),
                                                ways.begin(), 0.0f, std::plus<>());
}

}  // namespace

int main() {
    Result result, single;
    weft::SchedulerOptions oneWorker;
    oneWorker.workers = 1;
    if (weft::TaskScheduler().Run(Render, &result) != weft::Status::Ok) return 1;
    if (weft::TaskScheduler(oneWorker).Run(Render, &single) != weft::Status::Ok) return 1;

    const bool same = result.opaque == single.opaque && result.transparent == single.transparent &&
                      result.length == single.length;
    std::printf(
        "%zu opaque draw calls, first of material %u; %zu transparent ones, nearest at %g; "
        "a path of %.9g: %s with %u workers and with one\n",
        result.opaque.size(), result.opaque.front().key, result.transparent.size(),
        static_cast<double>(result.transparent.back().depth), static_cast<double>(result.length),
        same ? "the same" : "NOT THE SAME", result.workers);
    return same ? 0 : 1;
}
