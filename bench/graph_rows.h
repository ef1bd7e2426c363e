// Workloads of graphs that are declared once and run many times, written once for all systems.
// Besides Run (workloads.h) a system has this member:
//
//     class Graph {                            // each node adds 1 to its cell
//         Graph(const GraphShape &shape, std::vector<uint32_t> &cells);
//         void RunOnce();                      // returns when all nodes have finished
//     };
//
// A cost is in nanoseconds for each node. Declaring the graph does not count.
#pragma once

#include "workloads.h"

#include <utility>
#include <vector>

namespace bench {

struct GraphShape {
    uint32_t nodes = 0;
    /// Each edge leads from a node to one with a higher number. Node 0 is the only one without a
    /// predecessor.
    std::vector<std::pair<uint32_t, uint32_t>> edges;
};

inline constexpr uint32_t kGraphNodes = 1000;

/// Each node follows the one before it.
inline GraphShape ChainShape() {
    GraphShape shape{kGraphNodes, {}};
    for (uint32_t i = 1; i < kGraphNodes; ++i) shape.edges.push_back({i - 1, i});
    return shape;
}

/// One node, then all others but the last one, which follows all of them.
inline GraphShape WideShape() {
    GraphShape shape{kGraphNodes, {}};
    for (uint32_t i = 1; i + 1 < kGraphNodes; ++i) {
        shape.edges.push_back({0, i});
        shape.edges.push_back({i, kGraphNodes - 1});
    }
    return shape;
}

/// Layers of about 25 nodes. Each node follows one to three nodes of the layer before.
inline GraphShape LayeredShape() {
    constexpr uint32_t kWidth = 25;
    GraphShape shape{kGraphNodes, {}};
    uint64_t random = 1;
    for (uint32_t i = 1; i < kGraphNodes; ++i) {
        const uint32_t layer = (i - 1) / kWidth;
        const uint32_t first = layer == 0 ? 0 : (layer - 1) * kWidth + 1;
        const uint32_t width = layer == 0 ? 1 : kWidth;
        random = Mix(random + i);
        const uint32_t count = std::min(static_cast<uint32_t>(random >> 20) % 3 + 1, width);
        const uint32_t begin = static_cast<uint32_t>(random >> 40) % width;
        for (uint32_t j = 0; j < count; ++j)
            shape.edges.push_back({first + (begin + j * 7) % width, i});
    }
    return shape;
}

/// Returns the median over batches of runs. A batch takes about 200 microseconds, or is one run if
/// that takes longer.
template <class System>
double PerNode(uint32_t workers, const GraphShape &shape) {
    std::vector<double> samples;
    std::vector<uint32_t> cells(shape.nodes);
    uint32_t runs = 0;
    System::Run(workers, [&] {
        typename System::Graph graph(shape, cells);
        const auto run = [&](uint32_t count) {
            const Clock::time_point begin = Clock::now();
            for (uint32_t i = 0; i < count; ++i) graph.RunOnce();
            runs += count;
            return Since(begin) / count;
        };
        run(3);
        const uint32_t count = static_cast<uint32_t>(std::clamp(200e3 / run(1), 1.0, 1000.0));
        while (samples.size() < 41) samples.push_back(run(count) / shape.nodes);
    });
    for (uint32_t cell : cells) {
        if (cell != runs) Wrong("a node did not run once in each run");
    }
    return Median(std::move(samples));
}

template <class System>
void AddGraphWorkloads(std::vector<Row> &rows, uint32_t workers, const char *name = System::kName) {
    const auto add = [&](const char *workload, GraphShape (*shape)()) {
        rows.push_back(
            {workload, name, workers, "ns", [=] { return PerNode<System>(workers, shape()); }, {}});
    };
    add("graph_chain", ChainShape);
    add("graph_wide", WideShape);
    add("graph_layered", LayeredShape);
}

}  // namespace bench
