// Graphs: work that is declared once, checked once, and then run many times without allocation.
//
//     #include <weft/graph/graph.h>
//
//     void Think(weft::TaskScheduler *, void *world);
//     void Move(weft::TaskScheduler *, void *world);
//     void Draw(weft::TaskScheduler *, void *world);
//
//     void Play(weft::TaskScheduler *scheduler, const weft::SchedulerOptions &options, void *world)
//     {
//         weft::Graph frame(options, {"frame"});
//         const weft::GraphNode think = frame.AddNode("think", {Think, world});
//         const weft::GraphNode move = frame.AddNode("move", {Move, world});
//         const weft::GraphNode draw = frame.AddNode("draw", {Draw, world});
//         frame.AddEdge(think, move);                          // move begins after think
//         frame.AddEdge(move, draw);
//         if (frame.Check() != weft::Status::Ok) return;       // reported, with the names
//         for (int i = 0; i < 600; ++i) frame.Run(*scheduler);
//     }
#pragma once

#include "weft/export.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace weft {

class Graph;

namespace internal {
struct GraphState;
}

/// A node of a graph, for edges. Only the graph that returned it accepts it.
struct GraphNode {
    const Graph *graph = nullptr;  ///< null: the node was refused
    uint32_t index = 0;            ///< nodes of a graph are numbered in the order of the calls
    explicit operator bool() const noexcept { return graph != nullptr; }
};

/// What a node can ask about the run that it belongs to.
struct GraphRun {
    uint32_t index;  ///< below GraphOptions::maxRuns; two runs in flight have different ones
    void *data;      ///< what Run or RunAsync was given
};

/// The function of a node that asks about its run. `arg`: what AddNode was given.
using NodeFunction = void (*)(TaskScheduler *scheduler, const GraphRun &run, void *arg);

/// The function of a condition. Returns the number of the edge to follow: 0 for the first edge that
/// was added from the condition. A number without an edge ends this way.
using ConditionFunction = uint32_t (*)(TaskScheduler *scheduler, const GraphRun &run, void *arg);

/// Options of a graph.
struct GraphOptions {
    /// Name of the graph in reports and traces. Must outlive the graph, as a string literal does.
    const char *name = "graph";
    /// The largest number of runs in flight, 1 to 64. More than one only if the nodes' data allow
    /// it. Check takes the memory of all.
    uint32_t maxRuns = 1;
};

/// Nodes with functions, and edges that order them.
///
/// Declare it once (AddNode, AddCondition, AddGraph, AddEdge), check it once (Check), run it often
/// (Run, RunAsync). After Check nothing can be added.
///
/// An ordinary node begins when all nodes with an edge to it have finished, and sees everything
/// that they wrote. A run begins with the nodes to which no edge leads.
///
/// An edge from a condition does not count among those. A condition follows one of its edges, and
/// the node there begins at once, whatever its other predecessors do. Each time a node begins, it
/// waits for all of its ordinary predecessors anew. So edges from conditions may form loops. A node
/// that was left out by a condition does not begin, and neither do nodes with an ordinary edge from
/// it. A node must not begin again before it has finished: such a beginning is reported (BadOption)
/// and left out.
///
/// A run has ended when no node runs and none can begin.
///
/// A node is a task: it may submit tasks, wait, and have TaskOptions, but no TaskGroup. With
/// kAnyGroup it is in the worker group of the task that runs the graph. Nodes with
/// the same options may run one after the other in one task, at most 16. Then the scheduler looks
/// after each node whether something more urgent has to run. If the scheduler is traced, or draws
/// its order (SchedulerOptions::order), each node is a task of its own, with its name. It was
/// submitted by the node that finished last before it, so traces show that edge.
///
/// An exception that leaves a node is reported (TaskThrew); the node counts as finished.
///
/// Declaring allocates memory as the graph grows; Check allocates the rest. Runs allocate nothing.
/// Dependency counts as in "Taskflow: A Lightweight Parallel and Heterogeneous Task Graph Computing
/// System", Huang, Lin, Lin, Lin, 2022, which also has conditions.
class WEFT_API Graph {
public:
    /// Makes an empty graph. `options` must be the scheduler's; `memory`, `onReport` and `user` are
    /// used. Errors are reported by Check.
    explicit Graph(const SchedulerOptions &options, const GraphOptions &graphOptions = {}) noexcept;
    /// No run may be in flight (DestroyedInUse).
    ~Graph();
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;

    /// Adds a node that runs `task`. `name` must outlive the graph, and replaces
    /// TaskOptions::name.
    ///
    /// Returns a null node, after a report, if nothing was added: NullTask (no function), BadOption
    /// (an option is out of range, `options` has a TaskGroup, or Check was called before),
    /// OutOfMemory. One thread at a time may declare; this holds for all calls up to Check.
    GraphNode AddNode(const char *name, Task task, const TaskOptions &options = {}) noexcept;
    /// The same for a function that asks about its run.
    GraphNode AddNode(const char *name, NodeFunction function, void *arg,
                      const TaskOptions &options = {}) noexcept;
    /// The same for a callable: `callable(TaskScheduler *)`, or
    /// `callable(TaskScheduler *, const GraphRun &)`. The graph refers to it and does not copy it,
    /// so it must outlive the graph.
    template <class F, class = std::enable_if_t<std::is_class_v<F> &&
                                                !std::is_same_v<std::remove_cv_t<F>, Task>>>
    GraphNode AddNode(const char *name, F &callable, const TaskOptions &options = {}) noexcept {
        if constexpr (std::is_invocable_v<F &, TaskScheduler *, const GraphRun &>) {
            return AddNode(
                name,
                [](TaskScheduler *scheduler, const GraphRun &run, void *arg) {
                    (*static_cast<F *>(arg))(scheduler, run);
                },
                const_cast<void *>(static_cast<const void *>(&callable)), options);
        } else {
            return AddNode(name, MakeTask(callable), options);
        }
    }

    /// Adds a condition. Errors are those of AddNode.
    GraphNode AddCondition(const char *name, ConditionFunction function, void *arg,
                           const TaskOptions &options = {}) noexcept;
    /// The same for a callable: `callable(TaskScheduler *)`, or
    /// `callable(TaskScheduler *, const GraphRun &)`. It returns an integer, and must outlive the
    /// graph.
    template <class F, class = std::enable_if_t<std::is_class_v<F>>>
    GraphNode AddCondition(const char *name, F &callable,
                           const TaskOptions &options = {}) noexcept {
        return AddCondition(
            name,
            [](TaskScheduler *scheduler, [[maybe_unused]] const GraphRun &run, void *arg) {
                F &self = *static_cast<F *>(arg);
                if constexpr (std::is_invocable_v<F &, TaskScheduler *, const GraphRun &>) {
                    return static_cast<uint32_t>(self(scheduler, run));
                } else {
                    return static_cast<uint32_t>(self(scheduler));
                }
            },
            const_cast<void *>(static_cast<const void *>(&callable)), options);
    }

    /// Adds a node that runs all of `inner` once. It finishes when that has ended. Its nodes get
    /// this graph's GraphRun.
    ///
    /// `inner` must be checked before this graph, and must outlive it. It may be added to several
    /// graphs, or more than once. Each place has its own state, which does not count for
    /// GraphOptions::maxRuns of `inner`. Errors are those of AddNode.
    GraphNode AddGraph(const char *name, const Graph &inner) noexcept;

    /// Adds an edge: `after` begins after `before` has finished. From a condition: `after` begins
    /// if the condition follows this edge.
    ///
    /// Returns false, after a report, if nothing was added: BadOption (a null node, one of another
    /// graph, or the graph has been checked), OutOfMemory.
    bool AddEdge(GraphNode before, GraphNode after) noexcept;
    /// Adds an edge to each of them, in this order. Returns false if one of them was refused.
    bool AddEdges(GraphNode before, std::initializer_list<GraphNode> after) noexcept {
        bool all = true;
        for (const GraphNode each : after) all = AddEdge(before, each) && all;
        return all;
    }

    /// Checks the graph and takes the memory for its runs. Call it once, after the last AddEdge.
    ///
    /// Returns Ok, also if it was checked before. Otherwise the graph cannot run, and the error is
    /// reported and kept (Error): BadOption (a call of AddNode or AddEdge was refused, maxRuns is
    /// out of range, edges form a cycle without a condition, no path leads to a node, or an inner
    /// graph is not checked) or OutOfMemory (here, or in a call of AddNode or AddEdge).
    Status Check() noexcept;

    /// Returns the text of the first error of the declaration or of Check, or "". It names the
    /// nodes, for example "graph 'frame' has a cycle: move -> draw -> move".
    const char *Error() const noexcept;

    /// Runs the graph and returns when the run has ended.
    ///
    /// Returns Ok, or after a report and without running a node: BadOption (the graph is not
    /// checked, or the scheduler refuses the options of a node), AlreadyRunning (maxRuns runs are
    /// in flight), or NotRunning (the scheduler does not run, or the caller must not wait).
    /// Thread-safe while the scheduler runs. An external thread blocks.
    Status Run(TaskScheduler &scheduler, void *data = nullptr) noexcept;

    /// Begins a run and returns at once. `counter`, if given, is raised now. When it is zero, the
    /// run has ended. Until then its value says nothing more.
    ///
    /// Errors are those of Run. Thread-safe while the scheduler runs. The graph must outlive the
    /// run.
    Status RunAsync(TaskScheduler &scheduler, Counter *counter, void *data = nullptr) noexcept;

    /// Returns how many runs are in flight. Thread-safe.
    uint32_t RunsInFlight() const noexcept;

    /// Receives a part of a text: `bytes` characters, without a terminating zero.
    using Write = void (*)(void *user, const char *text, size_t bytes);
    /// Writes the graph in the language of Graphviz: `dot -Tsvg`. Conditions are diamonds with
    /// numbered, dashed edges. Inner graphs are boxes with their nodes. Also before Check.
    void WriteDot(Write write, void *user) const noexcept;

private:
    friend struct internal::GraphState;
    internal::GraphState *m_state;  // null: no memory
    void (*m_onReport)(const Report &report, void *user);
    void *m_user;
};

}  // namespace weft
