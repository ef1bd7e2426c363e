// The graph of waits: the waiting fibers and threads, and the tasks that lower their counters. And
// the text of reports about them.
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

#include "scheduler/state/reporting.h"
#include "weft/inspect.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

/// All waits, each with its cause. Its memory comes from the scheduler's hooks.
class WaitGraph {
    struct Node;

public:
    /// `allIdle`: no worker runs anything.
    WaitGraph(Scheduler &scheduler, bool allIdle) noexcept;
    ~WaitGraph();
    WaitGraph(const WaitGraph &) = delete;
    WaitGraph &operator=(const WaitGraph &) = delete;

    /// Returns false if there was no memory.
    bool IsComplete() const noexcept { return m_nodes != nullptr; }
    uint32_t Count() const noexcept { return m_count; }
    /// The waiters, in the order of their causes.
    const Node *begin() const noexcept { return m_nodes; }
    const Node *end() const noexcept { return m_nodes + m_count; }
    bool HasCycle() const noexcept { return m_count != 0 && m_nodes->cause == WaitCause::Cycle; }

private:
    static constexpr uint32_t kNone = ~0u;
    struct Node : WaiterInfo {
        Node() noexcept { cause = WaitCause::Stuck; }  // until it is decided
        bool forIdle = false;  // it waits until all other tasks have ended (WaitIdle)
        bool onTop = false;    // its task runs inline on the stack of another task
        bool anyEnds = false;  // a wait for a value above zero
        // These of m_lowerers lower the counter or hold the lock.
        uint32_t firstLowerer = 0, endOfLowerers = 0;
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

    void Read(bool allIdle) noexcept;
    void AddLowerers(const Fiber &fiber, uint32_t index, bool waits) noexcept;
    void FindEdges() noexcept;
    void MarkEnding() noexcept;
    bool Decide(Node &node) noexcept;
    bool IsOwn(const Node &node, const Lowerer &lowerer) const noexcept;
    void MarkCycles() noexcept;
    bool Reaches(uint32_t from, uint32_t to) noexcept;
    uint32_t EdgeCount(const Node &node) const noexcept {
        return node.forIdle ? m_count : node.endOfLowerers - node.firstLowerer;
    }
    uint32_t EdgeAt(const Node &node, uint32_t i) const noexcept;

    Scheduler &m_scheduler;
    bool m_othersMayLower = false;  // tasks that are no nodes may lower any counter
    const char *m_work = nullptr;   // the name of an ExternalWork, which may do that, too
    Node *m_nodes = nullptr;
    Lowerer *m_lowerers = nullptr;
    uint32_t m_maxNodes = 0, m_maxLowerers = 0;
    uint32_t m_count = 0, m_lowererCount = 0;
};

/// A text in memory of the scheduler, with room for so many waiters. What does not fit is cut off.
class ReportText {
public:
    explicit ReportText(const Memory &memory, uint32_t waiters = 0) noexcept;
    ~ReportText() { m_memory.DeleteArray(m_text, m_bytes); }
    ReportText(const ReportText &) = delete;
    ReportText &operator=(const ReportText &) = delete;

    void Add(const char *format, ...) noexcept WEFT_PRINTF_LIKE(2, 3);
    /// If there was no memory, the text says only that.
    const char *Get() const noexcept;

private:
    const Memory &m_memory;
    const size_t m_bytes;
    size_t m_used = 0;
    char *const m_text;
};

/// Returns how many fibers wait with another cause than Working.
uint32_t CountBlocked(const WaitGraph &graph) noexcept;

/// Adds these fibers to the text, those with the same cause together.
void AddWaiters(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept;

/// Adds the named tasks that run or are ready.
void AddRunning(ReportText &text, const Scheduler &scheduler) noexcept;

}  // namespace weft::internal
