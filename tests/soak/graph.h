// Random graphs of tasks that wait for each other, and the account of each task.
#pragma once

#include "soak/figures.h"
#include "weft/inspect.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace soak {

class Graph;
struct Node;

/// What a node does together with its siblings.
using NodeAct = void (*)(Graph &graph, weft::TaskScheduler &scheduler, Node &node);

/// A task of a graph. Its seed decides what it does.
struct Node {
    Graph *graph = nullptr;
    uint64_t seed = 0;
    uint32_t depth = 0;                         ///< 0 for a leaf
    uint32_t worker = weft::kAnyWorker;         ///< the worker to which it is pinned
    uint8_t group = weft::kAnyGroup;            ///< the group that it names
    std::atomic<uint32_t> *finished = nullptr;  ///< incremented last
    /// Plain: read it only after a wait for the task.
    uint32_t ran = 0;
    NodeAct act = nullptr;  ///< called instead of what the seed decides
    void *with = nullptr;
    uint32_t number = 0;  ///< its index among its siblings
};

/// Nodes that are submitted together.
class Nodes {
public:
    Nodes(Graph &graph, Random &random, uint32_t count, uint32_t depth);
    uint32_t Count() const { return static_cast<uint32_t>(m_tasks.size()); }
    const weft::Task *Tasks() const { return m_tasks.data(); }
    Node &operator[](uint32_t i) { return m_nodes[i]; }
    void Place(const weft::TaskOptions &options);  ///< notes where they may run
    /// Makes each node call `act` with `with`.
    void GiveParts(NodeAct act, void *with);
    uint32_t Finished() const { return m_finished.load(); }
    /// Call it after a wait for all of them. Each must have run once.
    void Check();

private:
    Graph &m_graph;
    std::atomic<uint32_t> m_finished{0};
    std::vector<Node> m_nodes;
    std::vector<weft::Task> m_tasks;
};

/// A permit to wait. So few tasks have one at a time that a fiber is left for other tasks. If all
/// fibers waited for tasks, the waits would never end. That would be a mistake of the user, which
/// the soak does not make.
class Permit {
public:
    /// For a wait on the caller's own fiber.
    Permit(Graph &graph, const weft::TaskScheduler &scheduler);
    /// For tasks of weft itself that wait.
    Permit(Graph &graph, uint32_t fibers);
    ~Permit();
    Permit(const Permit &) = delete;
    Permit &operator=(const Permit &) = delete;
    explicit operator bool() const { return m_granted; }

private:
    void Take();
    std::atomic<int32_t> *const m_permits;
    const int32_t m_count;
    bool m_granted = true;
};

/// The graphs of one run. Thread-safe.
class Graph {
public:
    Graph(Figures &figures, const weft::SchedulerOptions &options, weft::TaskScheduler &scheduler);

    /// Grows about `tasks` tasks from the caller, waits for them, and checks each. Thread-safe. If
    /// `worker` is given, the tasks that the caller itself submits are pinned to it.
    void Grow(weft::TaskScheduler &scheduler, uint64_t seed, uint32_t tasks,
              uint32_t worker = weft::kAnyWorker);

    /// Between StartLowering and StopLowering some tasks wait for gates. An external thread lowers
    /// these in LowerGates, which returns after StopLowering.
    void StartLowering() { m_lowering.store(true); }
    void LowerGates(weft::TaskScheduler &scheduler);
    void StopLowering() { m_lowering.store(false); }

    /// Called after the run. Tasks for which nothing waited must have run, too.
    void CheckForgotten();
    uint64_t Ran() const { return m_ran.load(); }
    uint64_t Submitted() const { return m_submitted.load(); }
    uint64_t Waits() const { return m_waits.load(); }
    uint64_t Thrown() const { return m_thrown.load(); }
    void CountSubmitted(uint32_t count) { m_submitted.fetch_add(count, std::memory_order_relaxed); }
    void CountWait() { m_waits.fetch_add(1, std::memory_order_relaxed); }
    Figures &TheFigures() { return m_figures; }

private:
    friend class Nodes;
    friend class Permit;
    static void RunNode(weft::TaskScheduler *scheduler, void *arg);
    using Kind = void (Graph::*)(weft::TaskScheduler &, Node &, Random &);
    void Act(weft::TaskScheduler &scheduler, Node &node);
    void Leaf(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Fork(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void ForkAndWait(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Step(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Any(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Poll(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Targets(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Gate(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Marks(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Forget(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Workers(weft::TaskScheduler &scheduler, Node &node, Random &random);
    // graph_time.cpp
    void InPieces(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Sleepers(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Deferred(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Cancelled(weft::TaskScheduler &scheduler, Node &node, Random &random);
    // graph_sync.cpp
    void OneByOne(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Readers(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Consumers(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Group(weft::TaskScheduler &scheduler, Node &node, Random &random);
    // graph_layers.cpp
    void Posted(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Blocking(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Loops(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Coroutines(weft::TaskScheduler &scheduler, Node &node, Random &random);
    // graph_flows.cpp
    void Groups(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Runs(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Pipes(weft::TaskScheduler &scheduler, Node &node, Random &random);
    void Files(weft::TaskScheduler &scheduler, Node &node, Random &random);

    weft::TaskOptions Options(Random &random) const;
    uint32_t Children(Random &random);
    void Submit(weft::TaskScheduler &scheduler, Nodes &nodes, Random &random,
                weft::Counter *counter);
    void Await(weft::TaskScheduler &scheduler, weft::Counter &counter, Random &random);
    /// Submits children that call `act` with `with`, calls `meanwhile`, waits for the children and
    /// checks them.
    template <class Meanwhile>
    void Meet(weft::TaskScheduler &scheduler, Random &random, uint32_t count, NodeAct act,
              void *with, Meanwhile meanwhile) {
        Nodes nodes(*this, random, count, 0);
        nodes.GiveParts(act, with);
        weft::Counter counter;
        Submit(scheduler, nodes, random, &counter);
        meanwhile();
        Await(scheduler, counter, random);
        nodes.Check();
    }
    void Meet(weft::TaskScheduler &scheduler, Random &random, uint32_t count, NodeAct act,
              void *with) {
        Meet(scheduler, random, count, act, with, [] {});
    }

    Figures &m_figures;
    const weft::SchedulerOptions m_options;
    const uint32_t m_pool, m_workers;   // m_pool: number of fibers
    std::vector<uint32_t> m_groupEnds;  // the workers of group i end below this index
    std::atomic<int32_t> m_permits;     // for tasks that wait
    std::atomic<int64_t> m_budget{0};
    std::atomic<uint64_t> m_ran{0}, m_submitted{0}, m_waits{0}, m_thrown{0};
    std::atomic<bool> m_lowering{false};
    std::mutex m_mutex;
    std::vector<weft::Counter *> m_gates;
    static constexpr uint32_t kForgotten = 4096;
    std::vector<Node> m_forgotten;
    std::atomic<uint32_t> m_forgottenCount{0};
};

}  // namespace soak
