// The state of a Graph: what was declared, the plan that Check makes of it, and the runs.
//
// PLAN    Nodes with their successors in one array. Two nodes are added: `begin`, whose successors
//         are the nodes without predecessors, and `end`, the successor of all nodes without
//         successors. Graphs with conditions have no `end`.
// SLOT    The state of one node in one run. The argument of the node's task points to it.
// ARRIVE  A finished predecessor lowers Slot::pending of each successor. The one that would lower
//         it to zero lets the node begin. A node with a single predecessor needs no count.
// END     The run has ended when `end` would begin: each node without successors has finished, and
//         each other node has finished before one of them. With conditions, nodes may be left out.
//         Then Run::alive counts the nodes that have been made ready and have not finished. A node
//         that makes n nodes ready when it finishes changes it by n - 1.
// RESET   A node restores its own count when it begins: all of its predecessors have arrived, and
//         none of them arrives again before the node has finished (in the next turn of a loop, or
//         in the next run). With conditions a run may end with counts that are half done, so it
//         begins with a reset of all counts.
#pragma once

#include "graph/growing_array.h"
#include "platform/compiler.h"
#include "platform/env.h"
#include "scheduler/api/internal_api.h"
#include "weft/graph/graph.h"

namespace weft::internal {

struct GraphState;
struct GraphRunState;

/// What Check returns if a declaration was refused with this report.
constexpr Status StatusOf(ReportCode code) noexcept {
    return code == ReportCode::OutOfMemory ? Status::OutOfMemory : Status::BadOption;
}

enum class NodeKind : uint8_t { Task, AsksRun, Condition, Inner, Begin, End };

/// A node as declared.
struct DeclaredNode {
    NodeKind kind;
    const char *name;
    Task task;
    NodeFunction function;
    ConditionFunction condition;
    void *arg;
    const Graph *inner;
    TaskOptions options;
};

struct DeclaredEdge {
    uint32_t before, after;
};

/// A node of the plan.
struct PlannedNode {
    union {
        TaskFunction task;
        NodeFunction function;
        ConditionFunction condition;
    };
    void *arg;
    const char *name;
    uint32_t successors;    // how many
    uint32_t next;          // the successor, if there is one, otherwise the place of the first one
    uint32_t predecessors;  // without edges from conditions
    uint32_t inner;         // of an inner graph: its number among them
    NodeKind kind;
    uint8_t options;  // index into GraphState::options
    bool mayFollow;   // in the task of a node with the same options: it is not pinned, nor `end`
    bool isPlain;     // a function to call, in a graph without conditions
};

/// In a list of successors: the node has no other predecessor, so there is nothing to count.
inline constexpr uint32_t kOnlyPredecessor = 1u << 31;
inline constexpr uint32_t kMaxNodes = (1u << 24);
inline constexpr uint32_t kMaxOptions = 255;  // different TaskOptions in a graph
inline constexpr uint32_t kMaxRuns = 64;

/// The state of one node in one run.
struct GraphSlot {
    env::Atomic<uint32_t> pending{0};  // predecessors that have not finished
    uint32_t node = 0;
    GraphRunState *run = nullptr;
};

/// One run that may be in flight, or one inner graph of it.
struct GraphRunState {
    GraphState *graph = nullptr;
    GraphSlot *parent = nullptr;        // of an inner graph: its node in the outer one
    const PlannedNode *plan = nullptr;  // that of the graph
    GraphSlot *slots = nullptr;
    GraphRunState *inner = nullptr;          // for each node with an inner graph
    env::Atomic<bool> *begun = nullptr;      // with conditions: the node has begun and not finished
    uint32_t slotCount = 0, innerCount = 0;  // an inner graph may be destroyed before this is
    GraphRun run{0, nullptr};
    uint8_t group = 0;  // of nodes that name none: the group of the task that has begun the run
    alignas(kLineBytes) env::Atomic<uint32_t> alive{0};  // only with conditions, see END
};

struct GraphState {
    explicit GraphState(const SchedulerOptions &schedulerOptions,
                        const GraphOptions &graphOptions) noexcept;
    ~GraphState();
    static GraphState *Of(const Graph &graph) noexcept { return graph.m_state; }

    /// Keeps the text and the status, if they are the first ones, and reports the text.
    void Refuse(ReportCode code, const char *hint, const char *what, ...) noexcept
        WEFT_PRINTF_LIKE(4, 5);
    /// Returns the number of these options among `options`, or kMaxOptions if they are not there.
    uint8_t NumberOf(const TaskOptions &of) const noexcept;

    const MemoryHooks memory;  // first: the arrays refer to it
    void (*const onReport)(const Report &report, void *user);
    void *const user;
    const char *const name;
    const uint32_t maxRuns;
    Status refusal = Status::Ok;  // why something was refused first: what Check returns
    bool isChecked = false;
    char error[512] = "";

    GrowingArray<DeclaredNode> nodes;
    GrowingArray<DeclaredEdge> edges;

    // The plan. Check writes it.
    bool hasConditions = false;
    // The scheduler may refuse options of a node: worker, group.
    bool needsScheduler = false;
    uint32_t begin = 0, end = 0;
    GrowingArray<PlannedNode> plan;
    GrowingArray<uint32_t> successors;  // with kOnlyPredecessor
    GrowingArray<TaskOptions> options;  // the different ones, without names
    GrowingArray<GraphState *> innerGraphs;
    GraphRunState *runs = nullptr;

    // A bit for each run that is not in flight.
    alignas(kLineBytes) env::Atomic<uint64_t> freeRuns{0};
};

/// Makes the plan. Returns an error after a report.
Status MakePlan(GraphState &state) noexcept;
/// Takes the memory of all runs. Returns false if there is none.
bool MakeRuns(GraphState &state) noexcept;
void DeleteRuns(GraphState &state) noexcept;

}  // namespace weft::internal
