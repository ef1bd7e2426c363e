// Who waits for whom: the waiting fibers and threads, and the tasks that lower their counters.
//
// A waiting fiber is a node. It waits for the fibers whose tasks lower its counter. A node can end
// if these fibers can: a fiber that runs or is ready can. What is left cannot end. Among it, the
// strongly connected parts are circles of waits (R. Tarjan, Depth-first search and linear graph
// algorithms, 1972).
//
// All loads are relaxed. If all workers sleep, the caller has read their announcements (AllAsleep),
// and sees what they wrote before. While tasks run, the graph may mix several moments. Counters and
// frames are never read, only the addresses of counters: they lie in memory that may be gone.
#pragma once

#include "scheduler/state/scheduler.h"
#include "weft/inspect.h"

#include <cstdint>

namespace weft::internal {

/// The waits of a moment, each with its cause. Takes memory for the time of its life.
class WaitGraph {
public:
    /// `allAsleep`: no worker runs anything.
    WaitGraph(Scheduler &scheduler, bool allAsleep) noexcept;
    ~WaitGraph();
    WaitGraph(const WaitGraph &) = delete;
    WaitGraph &operator=(const WaitGraph &) = delete;

    /// Returns false if there was no memory.
    bool IsComplete() const noexcept { return m_nodes != nullptr; }
    uint32_t Count() const noexcept { return m_count; }
    /// Returns the waiters in the order of their causes.
    const Waiter &At(uint32_t i) const noexcept { return m_nodes[i].waiter; }

private:
    static constexpr uint32_t kNone = ~0u;
    struct Node {
        Waiter waiter;
        bool isKnown = false;    // the cause is final
        bool forIdle = false;    // it waits until the others have ended (WaitIdle)
        bool onTop = false;      // its task runs on top of another one
        bool anyEnds = false;    // the end of one lowering task is enough
        bool onStack = false;    // Tarjan's stack, like the members below
        uint32_t order = kNone;  // in which the search came here
        uint32_t low = kNone;
        uint32_t part = kNone;    // strongly connected part; also: the node below on the stack
        uint32_t parent = kNone;  // from which the search came
        uint32_t edge = 0;        // the next edge of the search
        uint32_t first = 0;       // m_lowerers from here on lower the counter
        uint32_t end = 0;
    };
    // A fiber whose task lowers a counter.
    struct Lowerer {
        const Counter *counter;
        uint32_t node;  // kNone: the fiber can continue
        uint32_t fiber;
        const char *task;
        bool isInnermost;  // it counts the task that waits, not one below it on the same stack
    };

    bool Allocate() noexcept;
    void ReadFibers() noexcept;
    void ReadThreads() noexcept;
    // `node`: kNone if the fiber does not wait.
    void AddLowerers(const Fiber &fiber, uint32_t index, uint32_t node) noexcept;
    void FindEdges() noexcept;
    void MarkEnding() noexcept;
    bool Decide(Node &node) noexcept;
    bool IsOwn(const Node &node, const Lowerer &lowerer) const noexcept;
    void MarkCircles() noexcept;
    void Search(uint32_t root) noexcept;
    void ClosePart(uint32_t node) noexcept;
    uint32_t EdgeCount(const Node &node) const noexcept;
    uint32_t EdgeAt(const Node &node, uint32_t i) const noexcept;
    void NameCause(Node &node, WaitCause cause, uint32_t by) noexcept;

    Scheduler &m_scheduler;
    const bool m_allAsleep;
    bool m_othersMayLower = false;
    uint8_t *m_isFree = nullptr;  // for each fiber of the pool
    Node *m_nodes = nullptr;
    Lowerer *m_lowerers = nullptr;
    uint32_t m_maxNodes = 0, m_maxLowerers = 0;
    uint32_t m_count = 0, m_lowererCount = 0;
    uint32_t m_searched = 0;
    uint32_t m_stack = kNone;
};

}  // namespace weft::internal
