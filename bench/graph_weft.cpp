// The graph rows of weft. All options but the number of workers are the defaults.
#include "graph_rows.h"
#include "run_weft.h"

#include <weft/graph/graph.h>

namespace bench {

namespace {

struct WeftGraphs : RunsOnWeft {
    static constexpr const char *kName = "weft";

    class Graph {
    public:
        Graph(const GraphShape &shape, std::vector<uint32_t> &cells) : m_graph({}) {
            std::vector<weft::GraphNode> nodes;
            for (uint32_t &cell : cells) {
                nodes.push_back(m_graph.AddNode("node", {[](weft::TaskScheduler *, void *arg) {
                                                             ++*static_cast<uint32_t *>(arg);
                                                         },
                                                         &cell}));
            }
            for (const auto &[before, after] : shape.edges)
                m_graph.AddEdge(nodes[before], nodes[after]);
            if (m_graph.Check() != weft::Status::Ok) Wrong("Check");
        }
        void RunOnce() { m_graph.Run(*s_running); }

    private:
        weft::Graph m_graph;
    };
};

}  // namespace

void AddWeftGraphRows(std::vector<Row> &rows, uint32_t workers) {
    AddGraphWorkloads<WeftGraphs>(rows, workers);
}

}  // namespace bench
