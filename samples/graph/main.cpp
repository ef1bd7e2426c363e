// A frame as a graph that is declared once and runs 100 times: an inner graph for physics, a loop
// that solves until nothing overlaps, and two frames in flight.
//
//     samples/run.sh graph
//     samples/run.sh graph --dot | dot -Tsvg > frame.svg
#include <weft/graph/graph.h>

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr uint32_t kBodies = 1000, kFrames = 100, kInFlight = 2;

// What one frame works on. Two frames are in flight, so there are two of these.
struct Frame {
    uint32_t number = 0;
    std::vector<int> places = std::vector<int>(kBodies);
    int overlaps = 0;  // that the solver still has to remove
    int left = 0, right = 0;
    long long sum = 0;
};

// The functions of nodes. A node finds its frame through its run.
Frame &Of(const weft::GraphRun &run) { return *static_cast<Frame *>(run.data); }

void Think(weft::TaskScheduler *, const weft::GraphRun &run, void *) {
    Frame &frame = Of(run);
    for (uint32_t i = 0; i < kBodies; ++i) frame.places[i] = static_cast<int>(i + frame.number);
    frame.overlaps = static_cast<int>(frame.number % 4);
}

// One turn of the solver is two nodes that may run at the same time.
void SolveLeft(weft::TaskScheduler *, const weft::GraphRun &run, void *) {
    Frame &frame = Of(run);
    for (uint32_t i = 0; i < kBodies / 2; ++i) frame.places[i] += 1;
    ++frame.left;
}
void SolveRight(weft::TaskScheduler *, const weft::GraphRun &run, void *) {
    Frame &frame = Of(run);
    for (uint32_t i = kBodies / 2; i < kBodies; ++i) frame.places[i] += 1;
    ++frame.right;
}
uint32_t StillOverlaps(weft::TaskScheduler *, const weft::GraphRun &run, void *) {
    return Of(run).overlaps-- > 0 ? 0 : 1;  // the first edge leads back
}

void Draw(weft::TaskScheduler *, const weft::GraphRun &run, void *) {
    Frame &frame = Of(run);
    frame.sum = std::accumulate(frame.places.begin(), frame.places.end(), 0LL);
}

void Nothing(weft::TaskScheduler *, void *) {}

// Physics: a loop around two nodes.
void DeclarePhysics(weft::Graph &physics) {
    const weft::GraphNode begin = physics.AddNode("begin", {Nothing, nullptr});
    const weft::GraphNode turn = physics.AddNode("turn", {Nothing, nullptr});
    const weft::GraphNode left = physics.AddNode("solve left", SolveLeft, nullptr);
    const weft::GraphNode right = physics.AddNode("solve right", SolveRight, nullptr);
    const weft::GraphNode again = physics.AddCondition("overlaps?", StillOverlaps, nullptr);
    const weft::GraphNode done = physics.AddNode("done", {Nothing, nullptr});
    physics.AddEdge(begin, turn);
    physics.AddEdges(turn, {left, right});
    physics.AddEdge(left, again);
    physics.AddEdge(right, again);
    physics.AddEdges(again, {turn, done});
}

bool IsRight(const Frame &frame) {
    const int turns = static_cast<int>(frame.number % 4) + 1;
    const long long places = static_cast<long long>(kBodies) * (kBodies - 1) / 2;
    return frame.left == turns && frame.right == turns &&
           frame.sum == places + static_cast<long long>(kBodies) * (frame.number + turns);
}

}  // namespace

int main(int argc, char **argv) {
    bool dot = false;
    CLI::App app("Runs a frame graph 100 times.");
    app.add_flag("--dot", dot, "print the graph for Graphviz instead");
    CLI11_PARSE(app, argc, argv);

    weft::SchedulerOptions options;
    options.workers = 2;
    weft::Graph physics(options, {"physics"}), frameGraph(options, {"frame", kInFlight});
    DeclarePhysics(physics);
    std::atomic<uint32_t> sounds{0};
    auto playSounds = [&](weft::TaskScheduler *) {
        ++sounds;
    };  // an object that the graph refers to
    const weft::GraphNode think = frameGraph.AddNode("think", Think, nullptr);
    const weft::GraphNode move = frameGraph.AddGraph("move", physics);
    const weft::GraphNode sound = frameGraph.AddNode("sounds", playSounds);
    const weft::GraphNode draw = frameGraph.AddNode("draw", Draw, nullptr);
    frameGraph.AddEdges(think, {move, sound});
    frameGraph.AddEdge(move, draw);
    if (dot) {
        frameGraph.WriteDot(
            [](void *, const char *text, size_t bytes) { std::fwrite(text, 1, bytes, stdout); },
            nullptr);
        return 0;
    }
    if (physics.Check() != weft::Status::Ok || frameGraph.Check() != weft::Status::Ok) return 1;

    uint32_t wrong = 0;
    weft::TaskScheduler scheduler(options);
    auto play = [&](weft::TaskScheduler *) {
        for (uint32_t number = 0; number < kFrames; number += kInFlight) {
            Frame frames[kInFlight];
            weft::Counter counter;  // of both frames
            for (uint32_t i = 0; i < kInFlight; ++i) {
                frames[i].number = number + i;
                wrong += frameGraph.RunAsync(scheduler, &counter, &frames[i]) != weft::Status::Ok;
            }
            scheduler.WaitForCounter(&counter);
            for (const Frame &frame : frames) wrong += !IsRight(frame);
        }
    };
    const weft::Task task = weft::MakeTask(play);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) return 1;
    std::printf("%u frames, %u at a time; %u sounds; %u frames are wrong\n", kFrames, kInFlight,
                sounds.load(), wrong);
    return wrong == 0 && sounds == kFrames ? 0 : 1;
}
