// The graph rows of oneTBB's flow graph. In `onetbb` each node may be a task of its own, as by
// default. In `onetbb_light` the nodes have the policy `lightweight`, which is for short bodies: a
// node calls its successor where that is possible.
#include "graph_rows.h"

#if __has_include(<tbb/flow_graph.h>)

#include "run_onetbb.h"

#include <tbb/flow_graph.h>

#include <deque>

namespace bench {

namespace {

template <class Policy>
struct OneTbbGraphs : RunsOnOneTbb {
    static constexpr const char *kName = "onetbb";

    class Graph {
        using Message = tbb::flow::continue_msg;
        using Node = tbb::flow::continue_node<Message, Policy>;

    public:
        Graph(const GraphShape &shape, std::vector<uint32_t> &cells) {
            for (uint32_t &cell : cells)
                m_nodes.emplace_back(m_graph, [&cell](const Message &) { ++cell; });
            for (const auto &[before, after] : shape.edges)
                tbb::flow::make_edge(m_nodes[before], m_nodes[after]);
        }
        void RunOnce() {
            m_nodes[0].try_put(Message());
            m_graph.wait_for_all();
        }

    private:
        tbb::flow::graph m_graph;
        std::deque<Node> m_nodes;  // nodes cannot be moved
    };
};

}  // namespace

void AddOneTbbGraphRows(std::vector<Row> &rows, uint32_t workers) {
    AddGraphWorkloads<OneTbbGraphs<tbb::flow::queueing>>(rows, workers);
    AddGraphWorkloads<OneTbbGraphs<tbb::flow::lightweight>>(rows, workers, "onetbb_light");
}

}  // namespace bench

#else

namespace bench {
void AddOneTbbGraphRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
