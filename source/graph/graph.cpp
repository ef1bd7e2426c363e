// The declaration of a graph.
#include "graph/graph_state.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace weft {

using namespace internal;

namespace internal {

GraphState::GraphState(const SchedulerOptions &schedulerOptions,
                       const GraphOptions &graphOptions) noexcept
    : memory(schedulerOptions.memory),
      onReport(schedulerOptions.onReport),
      user(schedulerOptions.user),
      name(graphOptions.name != nullptr ? graphOptions.name : "graph"),
      maxRuns(graphOptions.maxRuns),
      nodes(memory),
      edges(memory),
      plan(memory),
      successors(memory),
      options(memory),
      innerGraphs(memory) {}

GraphState::~GraphState() { DeleteRuns(*this); }

void GraphState::Refuse(ReportCode code, const char *hint, const char *what, ...) noexcept {
    char text[sizeof error];
    va_list arguments;
    va_start(arguments, what);
    std::vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    if (refusal == Status::Ok) {
        std::snprintf(error, sizeof error, "%s", text);
        refusal = StatusOf(code);
    }
    ReportTo(onReport, user, code, hint, "%s", text);
}

uint8_t GraphState::NumberOf(const TaskOptions &of) const noexcept {
    for (uint32_t i = 0; i < options.Count(); ++i) {
        const TaskOptions &each = options[i];
        if (each.priority == of.priority && each.worker == of.worker && each.group == of.group)
            return static_cast<uint8_t>(i);
    }
    return kMaxOptions;
}

}  // namespace internal

namespace {

void ReportNoMemoryFor(GraphState &state, const char *call) noexcept {
    state.Refuse(ReportCode::OutOfMemory, "Give the process more memory.",
                 "%s: no memory for graph '%s'", call, state.name);
}

// Returns false, after a report, if nothing can be added.
bool MayAdd(GraphState *state, const char *call) noexcept {
    if (state == nullptr) return false;  // the constructor reported it
    if (!state->isChecked) return true;
    // The graph stays valid.
    ReportTo(state->onReport, state->user, ReportCode::BadOption,
             "Declare all nodes and edges before Check.", "%s: graph '%s' has been checked already",
             call, state->name);
    return false;
}

GraphNode Add(const Graph &graph, GraphState *state, const DeclaredNode &node,
              bool hasFunction) noexcept {
    const char *const call = node.kind == NodeKind::Condition ? "Graph::AddCondition"
                             : node.kind == NodeKind::Inner   ? "Graph::AddGraph"
                                                              : "Graph::AddNode";
    if (!MayAdd(state, call)) return {};
    DeclaredNode copy = node;
    if (copy.name == nullptr) copy.name = "node";
    if (!hasFunction) {
        state->Refuse(ReportCode::NullTask, "Give every node a function.",
                      "%s: node '%s' of graph '%s' has no function", call, copy.name, state->name);
        return {};
    }
    if (node.options.priority > Priority::Low) {
        state->Refuse(ReportCode::BadOption, "Give one of the values of Priority.",
                      "%s: TaskOptions::priority of node '%s' of graph '%s' is out of range", call,
                      copy.name, state->name);
        return {};
    }
    if (node.options.taskGroup != nullptr) {
        state->Refuse(ReportCode::BadOption,
                      "Give no taskGroup for a node. To leave out nodes, use a condition.",
                      "%s: node '%s' of graph '%s' cannot belong to a TaskGroup", call, copy.name,
                      state->name);
        return {};
    }
    copy.options.name = nullptr;
    const uint32_t index = state->nodes.Count();
    if (index >= kMaxNodes || !state->nodes.Add(copy)) {
        ReportNoMemoryFor(*state, call);
        return {};
    }
    return {&graph, index};
}

DeclaredNode NewNode(NodeKind kind, const char *name, const TaskOptions &options) noexcept {
    DeclaredNode node{};
    node.kind = kind;
    node.name = name;
    node.options = options;
    return node;
}

}  // namespace

Graph::Graph(const SchedulerOptions &options, const GraphOptions &graphOptions) noexcept
    : m_state(nullptr), m_onReport(options.onReport), m_user(options.user) {
    void *memory = AllocateWith(options.memory, sizeof(GraphState), alignof(GraphState));
    if (memory != nullptr) {
        m_state = new (memory) GraphState(options, graphOptions);
    } else {
        ReportTo(m_onReport, m_user, ReportCode::OutOfMemory, "Give the process more memory.",
                 "Graph: no memory for graph '%s'",
                 graphOptions.name != nullptr ? graphOptions.name : "graph");
    }
}

Graph::~Graph() {
    if (m_state == nullptr) return;
    if (const uint32_t runs = RunsInFlight(); runs != 0) {
        ReportTo(m_onReport, m_user, ReportCode::DestroyedInUse,
                 "Wait for the counters of its runs before you destroy a graph.",
                 "graph '%s' was destroyed while %u of its runs are in flight", m_state->name,
                 runs);
        return;  // the nodes still use the memory
    }
    const MemoryHooks memory = m_state->memory;
    m_state->~GraphState();
    ReleaseWith(memory, m_state, sizeof(GraphState), alignof(GraphState));
}

GraphNode Graph::AddNode(const char *name, Task task, const TaskOptions &options) noexcept {
    DeclaredNode node = NewNode(NodeKind::Task, name, options);
    node.task = task;
    return Add(*this, m_state, node, task.function != nullptr);
}

GraphNode Graph::AddNode(const char *name, NodeFunction function, void *arg,
                         const TaskOptions &options) noexcept {
    DeclaredNode node = NewNode(NodeKind::AsksRun, name, options);
    node.function = function;
    node.arg = arg;
    return Add(*this, m_state, node, function != nullptr);
}

GraphNode Graph::AddCondition(const char *name, ConditionFunction function, void *arg,
                              const TaskOptions &options) noexcept {
    DeclaredNode node = NewNode(NodeKind::Condition, name, options);
    node.condition = function;
    node.arg = arg;
    return Add(*this, m_state, node, function != nullptr);
}

GraphNode Graph::AddGraph(const char *name, const Graph &inner) noexcept {
    DeclaredNode node = NewNode(NodeKind::Inner, name, {});
    node.inner = &inner;
    return Add(*this, m_state, node, true);
}

bool Graph::AddEdge(GraphNode before, GraphNode after) noexcept {
    if (!MayAdd(m_state, "Graph::AddEdge")) return false;
    const auto isOwn = [&](const GraphNode &node) {
        return node.graph == this && node.index < m_state->nodes.Count();
    };
    if (!isOwn(before) || !isOwn(after)) {
        const GraphNode &wrong = isOwn(before) ? after : before;
        m_state->Refuse(ReportCode::BadOption, "Use nodes that this graph returned.",
                        "Graph::AddEdge: the node %s the edge %s, not of graph '%s'",
                        &wrong == &before ? "before" : "after",
                        wrong.graph == nullptr ? "was refused and is" : "is of another graph",
                        m_state->name);
        return false;
    }
    if (m_state->edges.Count() < kOnlyPredecessor / 2 &&
        m_state->edges.Add({before.index, after.index}))
        return true;
    ReportNoMemoryFor(*m_state, "Graph::AddEdge");
    return false;
}

Status Graph::Check() noexcept {
    if (m_state == nullptr) return Status::OutOfMemory;
    GraphState &state = *m_state;
    if (state.isChecked) return Status::Ok;
    if (state.refusal != Status::Ok) return state.refusal;  // reported
    if (state.maxRuns < 1 || state.maxRuns > kMaxRuns) {
        state.Refuse(ReportCode::BadOption, "Give 1 to 64 runs.",
                     "graph '%s': GraphOptions::maxRuns is %u", state.name, state.maxRuns);
        return Status::BadOption;
    }
    if (const Status status = MakePlan(state); status != Status::Ok) return status;
    if (!MakeRuns(state)) {
        ReportNoMemoryFor(state, "Graph::Check");
        return Status::OutOfMemory;
    }
    // relaxed: whoever runs the graph knows that it was checked
    state.freeRuns.store(~uint64_t{0} >> (64 - state.maxRuns), kRelaxed);
    state.isChecked = true;
    return Status::Ok;
}

const char *Graph::Error() const noexcept {
    return m_state != nullptr ? m_state->error : "no memory for the graph";
}

}  // namespace weft
