// The graph of waits: the waiting fibers and threads, and the tasks that lower their counters.
//
// Each waiting fiber or thread is a node. Its edges lead to the fibers whose tasks lower the
// counter that it waits for, or hold the lock that it waits for (SchedulerOptions::lockHolders). A
// wait for zero can end if all these fibers can continue; a wait for a higher value, if one of them
// can. A fiber that runs or is ready can continue. The other waits cannot be ended by a task that
// runs. Among these, those from which edges lead back to themselves are in a deadlock.
//
// All loads are relaxed. If nothing runs, the caller sees what all have written before (AllIdle).
// While tasks run, the graph may mix several moments. It never reads a counter or a stack, because
// that memory may have been freed: it only compares addresses of counters.
#pragma once

#include "scheduler/state/scheduler.h"
#include "weft/inspect.h"

#include <cstdint>

namespace weft::internal {

/// Returns the address of what it waits for: the lock if that is known, else the counter.
inline const void *AwaitedBy(const WaiterInfo &waiter) noexcept {
    return waiter.lock != nullptr ? waiter.lock : waiter.counter;
}

/// All waits, each with its cause. Its memory comes from the scheduler's hooks.
class WaitGraph {
public:
    /// `allIdle`: no worker runs anything.
    WaitGraph(Scheduler &scheduler, bool allIdle) noexcept;
    ~WaitGraph();
    WaitGraph(const WaitGraph &) = delete;
    WaitGraph &operator=(const WaitGraph &) = delete;

    /// Returns false if there was no memory.
    bool IsComplete() const noexcept { return m_nodes != nullptr; }
    uint32_t Count() const noexcept { return m_count; }
    /// Returns the waiters in the order of their causes.
    const WaiterInfo &At(uint32_t i) const noexcept { return m_nodes[i].waiter; }
    bool HasCycle() const noexcept {
        return m_count != 0 && m_nodes[0].waiter.cause == WaitCause::Cycle;
    }

private:
    static constexpr uint32_t kNone = ~0u;
    struct Node {
        WaiterInfo waiter;
        bool isKnown = false;  // the cause is final
        bool forIdle = false;  // it waits until all other tasks have ended (WaitIdle)
        bool onTop = false;    // its task runs inline on the stack of another task
        bool anyEnds = false;  // a wait for a value above zero
        uint32_t first = 0;    // m_lowerers from here to `end` lower the counter or hold the lock
        uint32_t end = 0;
        uint32_t seenFor = kNone;  // the latest search that came here (Reaches)
        uint32_t below = kNone;    // on the stack of that search
    };
    // A fiber whose task lowers a counter, or holds a lock.
    struct Lowerer {
        const void *awaited;  // the counter or lock
        uint32_t node;        // kNone: the fiber can continue
        uint32_t fiber;
        const char *task;
        bool isInnermost;  // the counter counts the task that waits, not one below it on the stack
    };

    void Read() noexcept;
    void AddLowerers(const Fiber &fiber, uint32_t index, bool waits) noexcept;
    void FindEdges() noexcept;
    void MarkEnding() noexcept;
    bool Decide(Node &node) noexcept;
    bool IsOwn(const Node &node, const Lowerer &lowerer) const noexcept;
    void MarkCycles() noexcept;
    bool Reaches(uint32_t from, uint32_t to) noexcept;
    uint32_t EdgeCount(const Node &node) const noexcept;
    uint32_t EdgeAt(const Node &node, uint32_t i) const noexcept;
    void NameCause(Node &node, WaitCause cause, uint32_t by) noexcept;

    Scheduler &m_scheduler;
    const bool m_allIdle;
    bool m_othersMayLower = false;  // tasks that are no nodes may lower any counter
    const char *m_work = nullptr;   // the name of an ExternalWork, which may do that, too
    Node *m_nodes = nullptr;
    Lowerer *m_lowerers = nullptr;
    uint32_t m_maxNodes = 0, m_maxLowerers = 0;
    uint32_t m_count = 0, m_lowererCount = 0;
};

}  // namespace weft::internal
