// Check: finds the errors of a graph, and makes the plan and the runs.
#include "graph/graph_state.h"

#include <cstdio>
#include <cstring>

namespace weft::internal {

namespace {

using Numbers = GrowingArray<uint32_t>;

// What Check needs to know of the edges.
struct EdgeCounts {
    explicit EdgeCounts(const MemoryHooks &memory) noexcept
        : first(memory), next(memory), ordinary(memory), all(memory), left(memory), queue(memory) {}

    bool Fill(const GraphState &state) noexcept;
    bool IsOrdinary(const GraphState &state, uint32_t before) const noexcept {
        return state.nodes[before].kind != NodeKind::Condition;
    }

    Numbers first;     // of each node: where its successors begin in `next`; one more at the end
    Numbers next;      // the successors of all nodes, in the order of the calls
    Numbers ordinary;  // of each node: edges to it that do not come from conditions
    Numbers all;       // of each node: edges to it
    Numbers left;      // for the search
    Numbers queue;     // for the search: nodes
};

bool EdgeCounts::Fill(const GraphState &state) noexcept {
    const uint32_t count = state.nodes.Count();
    if (!first.Fill(count + 1) || !next.Fill(state.edges.Count()) || !ordinary.Fill(count) ||
        !all.Fill(count) || !left.Fill(count) || !queue.Reserve(count))
        return false;
    for (const DeclaredEdge &edge : state.edges) {
        ++first[edge.before + 1];
        ++all[edge.after];
        if (IsOrdinary(state, edge.before)) ++ordinary[edge.after];
    }
    for (uint32_t i = 0; i < count; ++i) first[i + 1] += first[i];
    for (uint32_t i = 0; i < count; ++i) left[i] = first[i];
    for (const DeclaredEdge &edge : state.edges) next[left[edge.before]++] = edge.after;
    return true;
}

// A text of names that ends with "..." if it becomes too long.
class NameList {
public:
    void Add(const char *separator, const char *name) noexcept {
        if (m_isFull) return;
        const size_t room = sizeof m_text - m_length, most = room - sizeof "...";
        const int length =
            std::snprintf(m_text + m_length, room, "%s%s", m_length != 0 ? separator : "", name);
        m_isFull = length < 0 || static_cast<size_t>(length) >= most;
        if (m_isFull) {
            std::strcpy(m_text + m_length, "...");
        } else {
            m_length += static_cast<size_t>(length);
        }
    }
    const char *Text() const noexcept { return m_text; }

private:
    char m_text[384] = "";
    size_t m_length = 0;
    bool m_isFull = false;
};

// Names a cycle. All nodes with left != 0 have a predecessor of this kind, so a walk backwards ends
// in a cycle.
void ReportCycle(GraphState &state, EdgeCounts &edges) noexcept {
    Numbers &before = edges.all;  // no longer needed: now a predecessor of each node
    for (const DeclaredEdge &edge : state.edges) {
        if (edges.IsOrdinary(state, edge.before) && edges.left[edge.before] != 0)
            before[edge.after] = edge.before;
    }
    uint32_t node = 0;
    while (edges.left[node] == 0) ++node;
    for (uint32_t i = 0; i < state.nodes.Count(); ++i) node = before[node];  // now in the cycle
    uint32_t first = node;
    for (uint32_t i = before[node]; i != node; i = before[i]) {
        if (i < first) first = i;
    }
    Numbers &cycle = edges.queue;
    cycle.Clear();
    cycle.Add(first);
    for (uint32_t i = before[first]; i != first; i = before[i]) cycle.Add(i);
    NameList names;
    names.Add("", state.nodes[first].name);
    for (uint32_t i = cycle.Count(); i-- > 0;) names.Add(" -> ", state.nodes[cycle[i]].name);
    state.Refuse(ReportCode::BadOption,
                 "Remove an edge. A loop needs a condition, whose edges do not count.",
                 "graph '%s' has a cycle: %s", state.name, names.Text());
}

// Returns false, after a report, if ordinary edges form a cycle.
bool IsAcyclic(GraphState &state, EdgeCounts &edges) noexcept {
    Numbers &queue = edges.queue;
    queue.Clear();
    for (uint32_t i = 0; i < state.nodes.Count(); ++i) {
        edges.left[i] = edges.ordinary[i];
        if (edges.left[i] == 0) queue.Add(i);
    }
    for (uint32_t i = 0; i < queue.Count(); ++i) {
        const uint32_t node = queue[i];
        if (!edges.IsOrdinary(state, node)) continue;
        for (uint32_t j = edges.first[node]; j < edges.first[node + 1]; ++j) {
            if (--edges.left[edges.next[j]] == 0) queue.Add(edges.next[j]);
        }
    }
    if (queue.Count() == state.nodes.Count()) return true;
    ReportCycle(state, edges);
    return false;
}

// Returns false, after a report, if no path leads from the beginning of a run to some node.
bool AreReachable(GraphState &state, EdgeCounts &edges) noexcept {
    Numbers &queue = edges.queue;
    queue.Clear();
    for (uint32_t i = 0; i < state.nodes.Count(); ++i) {
        edges.left[i] = edges.all[i] != 0;  // 1: not reached
        if (edges.left[i] == 0) queue.Add(i);
    }
    for (uint32_t i = 0; i < queue.Count(); ++i) {
        for (uint32_t j = edges.first[queue[i]]; j < edges.first[queue[i] + 1]; ++j) {
            if (edges.left[edges.next[j]] == 0) continue;
            edges.left[edges.next[j]] = 0;
            queue.Add(edges.next[j]);
        }
    }
    if (queue.Count() == state.nodes.Count()) return true;
    NameList names;
    for (uint32_t i = 0; i < state.nodes.Count(); ++i) {
        if (edges.left[i] != 0) names.Add(", ", state.nodes[i].name);
    }
    state.Refuse(ReportCode::BadOption,
                 "A run begins with the nodes to which no edge leads. Add such a node before them.",
                 "graph '%s': no path leads to %s", state.name, names.Text());
    return false;
}

// Returns false, after a report, if an inner graph cannot run.
bool AreInnerGraphsChecked(GraphState &state) noexcept {
    for (const DeclaredNode &node : state.nodes) {
        const GraphState *inner = node.inner != nullptr ? GraphState::Of(*node.inner) : nullptr;
        if (node.inner == nullptr || (inner != nullptr && inner->isChecked)) continue;
        state.Refuse(ReportCode::BadOption, "Check inner graphs before the graphs around them.",
                     "graph '%s': the inner graph of node '%s' has not been checked", state.name,
                     node.name);
        return false;
    }
    return true;
}

enum class Planned : uint8_t { Ok, NoMemory, TooManyOptions };

Planned PlanNode(GraphState &state, const DeclaredNode &node) noexcept {
    PlannedNode planned{};
    planned.kind = node.kind;
    planned.name = node.name;
    planned.arg = node.kind == NodeKind::Task ? node.task.arg : node.arg;
    if (node.kind == NodeKind::Task) planned.task = node.task.function;
    if (node.kind == NodeKind::AsksRun) planned.function = node.function;
    if (node.kind == NodeKind::Condition) planned.condition = node.condition;
    planned.options = state.NumberOf(node.options);
    if (planned.options == kMaxOptions) {
        if (state.options.Count() == kMaxOptions) return Planned::TooManyOptions;
        planned.options = static_cast<uint8_t>(state.options.Count());
        if (!state.options.Add(node.options)) return Planned::NoMemory;
    }
    planned.mayFollow = node.options.worker == kAnyWorker && node.kind != NodeKind::End;
    state.hasConditions |= node.kind == NodeKind::Condition;
    state.needsScheduler |= node.options.worker != kAnyWorker || node.options.group != kAnyGroup;
    if (node.kind == NodeKind::Inner) {
        GraphState *inner = GraphState::Of(*node.inner);
        planned.inner = state.innerGraphs.Count();
        if (!state.innerGraphs.Add(inner)) return Planned::NoMemory;
        state.needsScheduler |= inner->needsScheduler;
    }
    return state.plan.Add(planned) ? Planned::Ok : Planned::NoMemory;
}

// Plans all nodes, without edges.
Planned PlanNodes(GraphState &state) noexcept {
    const uint32_t count = state.nodes.Count();
    if (!state.plan.Reserve(count + 2)) return Planned::NoMemory;
    for (const DeclaredNode &node : state.nodes) {
        if (const Planned result = PlanNode(state, node); result != Planned::Ok) return result;
    }
    state.begin = count;
    state.end = count + 1;
    for (const NodeKind kind : {NodeKind::Begin, NodeKind::End}) {
        DeclaredNode node{};
        node.kind = kind;
        node.name = state.name;
        if (const Planned result = PlanNode(state, node); result != Planned::Ok) return result;
    }
    return Planned::Ok;
}

bool AddSuccessor(GraphState &state, uint32_t next, uint32_t predecessors) noexcept {
    return state.successors.Add(next | (predecessors == 1 ? kOnlyPredecessor : 0));
}

// Ends the list of the node's successors, which begins at `first`.
void EndSuccessors(GraphState &state, PlannedNode &node, uint32_t first) noexcept {
    node.successors = state.successors.Count() - first;
    node.next = node.successors == 1 ? state.successors[first] : first;
}

// Fills in the edges. Returns false if there is no memory.
bool PlanEdges(GraphState &state, const EdgeCounts &edges) noexcept {
    const uint32_t count = state.nodes.Count();
    uint32_t last = 0;  // nodes before `end`
    for (uint32_t i = 0; i < count; ++i) {
        state.plan[i].predecessors = edges.ordinary[i];
        state.plan[i].isPlain = !state.hasConditions && state.nodes[i].kind != NodeKind::Inner;
        last += edges.first[i] == edges.first[i + 1];
    }
    if (state.hasConditions) last = 0;
    state.plan[state.end].predecessors = count == 0 ? 1 : last;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t first = state.successors.Count();
        for (uint32_t j = edges.first[i]; j < edges.first[i + 1]; ++j) {
            const uint32_t next = edges.next[j];
            const bool counts = edges.IsOrdinary(state, i);
            // from a condition: the plain number
            if (!AddSuccessor(state, next, counts ? edges.ordinary[next] : 0)) return false;
        }
        if (edges.first[i] == edges.first[i + 1] && !state.hasConditions &&
            !AddSuccessor(state, state.end, last))
            return false;
        EndSuccessors(state, state.plan[i], first);
    }
    PlannedNode &begin = state.plan[state.begin];
    const uint32_t first = state.successors.Count();
    for (uint32_t i = 0; i < count; ++i) {
        if (edges.all[i] != 0) continue;
        if (!AddSuccessor(state, i, 1)) return false;
        // The first task of a run has the options of the first node, which can then follow in it.
        if (state.successors.Count() == first + 1 && state.plan[i].mayFollow)
            begin.options = state.plan[i].options;
    }
    if (count == 0 && !AddSuccessor(state, state.end, 1)) return false;
    EndSuccessors(state, begin, first);
    return true;
}

}  // namespace

Status MakePlan(GraphState &state) noexcept {
    const auto noMemory = [&] {
        state.Refuse(ReportCode::OutOfMemory, "Give the process more memory.",
                     "Graph::Check: no memory for the plan of graph '%s'", state.name);
        return Status::OutOfMemory;
    };
    EdgeCounts edges(state.memory);
    if (!edges.Fill(state)) return noMemory();
    if (!AreInnerGraphsChecked(state) || !IsAcyclic(state, edges) || !AreReachable(state, edges))
        return Status::BadOption;
    const Planned planned = PlanNodes(state);
    if (planned == Planned::TooManyOptions) {
        state.Refuse(ReportCode::BadOption, "Give the nodes fewer different TaskOptions.",
                     "graph '%s': more than %u different TaskOptions", state.name, kMaxOptions);
        return Status::BadOption;
    }
    return planned == Planned::Ok && PlanEdges(state, edges) ? Status::Ok : noMemory();
}

namespace {

// Takes the memory of one run, also for inner graphs. Returns false if there is none.
bool FillRun(const Memory &memory, GraphRunState &run, GraphState &graph, GraphSlot *parent,
             uint32_t index) noexcept {
    const uint32_t count = graph.plan.Count();
    run.graph = &graph;
    run.plan = graph.plan.begin();
    run.parent = parent;
    run.run.index = index;
    run.slotCount = count;
    run.innerCount = graph.innerGraphs.Count();
    run.slots = memory.NewArray<GraphSlot>(count);
    if (run.slots == nullptr) return false;
    for (uint32_t i = 0; i < count; ++i) {
        GraphSlot &slot = run.slots[i];
        slot.node = i;
        slot.run = &run;
        slot.pending.store(graph.plan[i].predecessors, kRelaxed);  // relaxed: as in Prepare
    }
    if (graph.hasConditions) {
        run.begun = memory.NewArray<env::Atomic<bool>>(count);
        if (run.begun == nullptr) return false;
    }
    if (run.innerCount == 0) return true;
    run.inner = memory.NewArray<GraphRunState>(run.innerCount);
    if (run.inner == nullptr) return false;
    for (uint32_t i = 0; i < count; ++i) {
        const PlannedNode &node = graph.plan[i];
        if (node.kind == NodeKind::Inner &&
            !FillRun(memory, run.inner[node.inner], *graph.innerGraphs[node.inner], &run.slots[i],
                     index))
            return false;
    }
    return true;
}

void EmptyRun(const Memory &memory, GraphRunState &run) noexcept {
    memory.DeleteArray(run.slots, run.slotCount);
    memory.DeleteArray(run.begun, run.slotCount);
    for (uint32_t i = 0; run.inner != nullptr && i < run.innerCount; ++i)
        EmptyRun(memory, run.inner[i]);
    memory.DeleteArray(run.inner, run.innerCount);
}

}  // namespace

bool MakeRuns(GraphState &state) noexcept {
    const Memory memory(state.memory);
    state.runs = memory.NewArray<GraphRunState>(state.maxRuns);
    if (state.runs == nullptr) return false;
    for (uint32_t i = 0; i < state.maxRuns; ++i)
        if (!FillRun(memory, state.runs[i], state, nullptr, i)) return false;
    return true;
}

void DeleteRuns(GraphState &state) noexcept {
    if (state.runs == nullptr) return;
    const Memory memory(state.memory);
    for (uint32_t i = 0; i < state.maxRuns; ++i) EmptyRun(memory, state.runs[i]);
    memory.DeleteArray(state.runs, state.maxRuns);
    state.runs = nullptr;
}

}  // namespace weft::internal
