// Builds the graph, decides which waits can end, and finds the cycles.
#include "scheduler/diagnose/wait_graph.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/wait/deferred.h"

#include <algorithm>

namespace weft::internal {

WaitGraph::WaitGraph(Scheduler &scheduler, bool allIdle) noexcept
    : m_scheduler(scheduler), m_allIdle(allIdle) {
    if (!Allocate()) return;
    const SchedulerState &state = EntryGate::StateOf(*scheduler.taskScheduler);
    for (const std::atomic<const char *> &name : state.outsideNames) {
        if (m_work == nullptr) m_work = name.load(kRelaxed);
    }
    m_othersMayLower = CountDeferred(scheduler, true) != 0 || state.outside.load(kRelaxed) != 0 ||
                       AnyQueued(scheduler, true);
    ReadFibers();
    ReadThreads();
    FindEdges();
    MarkEnding();
    MarkCycles();
    std::sort(m_nodes, m_nodes + m_count, [](const Node &a, const Node &b) {
        return a.waiter.cause != b.waiter.cause ? a.waiter.cause < b.waiter.cause
                                                : a.waiter.fiber < b.waiter.fiber;
    });
}

WaitGraph::~WaitGraph() {
    const Memory &memory = m_scheduler.memory;
    memory.DeleteArray(m_nodes, m_maxNodes);
    memory.DeleteArray(m_lowerers, m_maxLowerers);
}

// Counts first. More fibers may begin to wait until they are read; the last ones may be left out.
bool WaitGraph::Allocate() noexcept {
    constexpr uint32_t kMore = 16;
    uint32_t used = 0, held = 0, waiting = 0, threads = 0;
    for (uint32_t i = 0; i < m_scheduler.AllFibers(); ++i) {
        const Fiber &fiber = m_scheduler.fibers[i];
        used += fiber.counter.load(kRelaxed) != nullptr ? 1u : 0u;
        waiting += fiber.wait.counter.load(kRelaxed) != nullptr ? 1u : 0u;
        fiber.locks.ForEach([&](const void *) { ++held; });
    }
    while (m_scheduler.threadWaiters.Has(threads)) ++threads;
    m_maxNodes = waiting + threads + kMore;
    m_maxLowerers = used + held + waiting * FiberWait::kInlined + kMore;
    const Memory &memory = m_scheduler.memory;
    m_lowerers = memory.NewArray<Lowerer>(m_maxLowerers);
    if (m_lowerers != nullptr) m_nodes = memory.NewArray<Node>(m_maxNodes);
    return m_nodes != nullptr;
}

void WaitGraph::ReadFibers() noexcept {
    for (uint32_t i = 0; i < m_scheduler.AllFibers() && m_count < m_maxNodes; ++i) {
        const Fiber &fiber = m_scheduler.fibers[i];
        const FiberWait &wait = fiber.wait;
        const Counter *const waitsFor = wait.counter.load(kRelaxed);
        // guestsLeft: a Stop without workers waits for external threads
        const bool waits = waitsFor != nullptr && waitsFor != &m_scheduler.guestsLeft;
        if (!waits) {
            // While nothing runs, a fiber that does not wait is free, or looks for work.
            if (!m_allIdle && !IsFree(m_scheduler, i)) AddLowerers(fiber, i, kNone);
            continue;
        }
        AddLowerers(fiber, i, m_count);
        Node &node = m_nodes[m_count++];
        node.waiter.fiber = i;
        node.waiter.task = fiber.name.load(kRelaxed);
        node.waiter.counter = waitsFor;
        node.waiter.lock = fiber.locks.awaited.load(kRelaxed);
        const WaitKind kind = wait.kind.load(kRelaxed);
        node.forIdle = kind == WaitKind::Idle;
        node.onTop = wait.inlined[0].load(kRelaxed) != nullptr;
        node.anyEnds = wait.target.load(kRelaxed) != 0;
        if (wait.deadline.load(kRelaxed) != Timers::kNever)
            NameCause(node, WaitCause::Working, kNone);
        else if (kind == WaitKind::Several)
            NameCause(node, WaitCause::Unknown, kNone);
    }
}

void WaitGraph::ReadThreads() noexcept {
    for (uint32_t i = 0; m_scheduler.threadWaiters.Has(i) && m_count < m_maxNodes; ++i) {
        const Counter *counter = m_scheduler.threadWaiters.At(i).waitsFor.load(kRelaxed);
        if (counter == nullptr) continue;
        Node &node = m_nodes[m_count++];
        node.waiter.isExternal = true;
        node.waiter.counter = counter;
    }
}

// The counters of inline tasks are known only of fibers that wait.
void WaitGraph::AddLowerers(const Fiber &fiber, uint32_t index, uint32_t node) noexcept {
    const char *task = fiber.name.load(kRelaxed);
    bool isInnermost = true;
    const auto add = [&](const void *awaited) {
        if (awaited == nullptr || m_lowererCount == m_maxLowerers) return;
        m_lowerers[m_lowererCount++] = {awaited, node, index, task, isInnermost};
    };
    for (uint32_t i = 0; i < FiberWait::kInlined && node != kNone; ++i) {
        const Counter *counter = fiber.wait.inlined[i].load(kRelaxed);
        if (counter == nullptr) break;
        add(counter);
        isInnermost = false;
    }
    add(fiber.counter.load(kRelaxed));
    fiber.locks.ForEach(add);
}

void WaitGraph::FindEdges() noexcept {
    const auto before = [](const Lowerer &a, const Lowerer &b) { return a.awaited < b.awaited; };
    Lowerer *const end = m_lowerers + m_lowererCount;
    std::sort(m_lowerers, end, before);
    for (uint32_t i = 0; i < m_count; ++i) {
        Node &node = m_nodes[i];
        const auto range = std::equal_range(
            m_lowerers, end, Lowerer{AwaitedBy(node.waiter), 0, 0, nullptr, false}, before);
        node.first = static_cast<uint32_t>(range.first - m_lowerers);
        node.end = static_cast<uint32_t>(range.second - m_lowerers);
    }
}

void WaitGraph::NameCause(Node &node, WaitCause cause, uint32_t by) noexcept {
    node.waiter.cause = cause;
    node.isKnown = true;
    if (by == kNone) return;
    node.waiter.byFiber = m_lowerers[by].fiber;
    node.waiter.byTask = m_lowerers[by].task;
}

// A wait that can end lets others end, so this is repeated until nothing changes.
void WaitGraph::MarkEnding() noexcept {
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t i = 0; i < m_count; ++i) {
            if (!m_nodes[i].isKnown && Decide(m_nodes[i])) changes = true;
        }
    }
}

// Returns true if the task itself is what lowers the counter, and it waits for a value above zero:
// its own unit may be a part of this value.
bool WaitGraph::IsOwn(const Node &node, const Lowerer &lowerer) const noexcept {
    return node.anyEnds && lowerer.isInnermost && lowerer.node != kNone &&
           &node == &m_nodes[lowerer.node];
}

// Returns true if the cause is known now.
bool WaitGraph::Decide(Node &node) noexcept {
    if (node.forIdle) {
        if (node.onTop) return false;  // the task below never ends
        for (uint32_t i = 0; i < m_count; ++i) {
            const Node &other = m_nodes[i];
            if (!other.forIdle && !other.waiter.isExternal &&
                !(other.isKnown && other.waiter.cause >= WaitCause::Unknown))
                return false;
        }
        NameCause(node, WaitCause::Working, kNone);
        return true;
    }
    bool all = true, none = true;
    WaitCause worst = WaitCause::Working;
    uint32_t by = kNone;
    for (uint32_t i = node.first; i < node.end; ++i) {
        const uint32_t other = m_lowerers[i].node;
        if (IsOwn(node, m_lowerers[i])) continue;
        none = false;
        const bool isKnown = other == kNone || m_nodes[other].isKnown;
        const WaitCause cause = other == kNone ? WaitCause::Working : m_nodes[other].waiter.cause;
        const bool ends = isKnown && cause >= WaitCause::Unknown;
        all = all && ends;
        if (!ends) continue;
        if (by == kNone || cause < worst) by = i;
        worst = std::min(worst, cause);
    }
    if (none) {
        NameCause(node, m_othersMayLower ? WaitCause::Unknown : WaitCause::Nobody, kNone);
        if (m_othersMayLower) node.waiter.byWork = m_work;
        return true;
    }
    if (by == kNone || !(all || node.anyEnds)) return false;
    NameCause(node, worst, by);
    return true;
}

uint32_t WaitGraph::EdgeCount(const Node &node) const noexcept {
    return node.forIdle ? m_count : node.end - node.first;
}

// Returns the node that an edge leads to; kNone if the edge does not count. A task in WaitIdle
// waits for all others that are not in WaitIdle, and for the task below itself.
uint32_t WaitGraph::EdgeAt(const Node &node, uint32_t i) const noexcept {
    const uint32_t other = node.forIdle ? i : m_lowerers[node.first + i].node;
    if (other == kNone) return kNone;
    const Node &next = m_nodes[other];
    if (next.isKnown && next.waiter.cause >= WaitCause::Unknown) return kNone;
    if (!node.forIdle) return IsOwn(node, m_lowerers[node.first + i]) ? kNone : other;
    if (&next == &node) return node.onTop ? other : kNone;
    return next.forIdle || next.waiter.isExternal ? kNone : other;
}

// What is not known yet cannot end: it is in a cycle, or waits for what cannot end.
void WaitGraph::MarkCycles() noexcept {
    for (uint32_t i = 0; i < m_count; ++i) {
        if (!m_nodes[i].isKnown && m_nodes[i].order == kNone) Search(i);
    }
    for (uint32_t i = 0; i < m_count; ++i) {
        Node &node = m_nodes[i];
        if (node.isKnown) continue;
        WaitCause cause = WaitCause::Stuck;
        uint32_t next = kNone;
        for (uint32_t edge = 0; edge < EdgeCount(node); ++edge) {
            const uint32_t other = EdgeAt(node, edge);
            if (other == kNone) continue;
            const bool isCycle = !m_nodes[other].isKnown && m_nodes[other].part == node.part;
            if (next == kNone || isCycle) next = other;
            if (isCycle) cause = WaitCause::Cycle;
            if (isCycle) break;
        }
        node.waiter.cause = cause;
        if (next == kNone) continue;
        node.waiter.byFiber = m_nodes[next].waiter.fiber;
        node.waiter.byTask = m_nodes[next].waiter.task;
    }
}

// Tarjan's search from one node, without recursion. Numbers the strongly connected parts by their
// first node.
void WaitGraph::Search(uint32_t root) noexcept {
    for (uint32_t at = root; at != kNone;) {
        Node &node = m_nodes[at];
        if (node.order == kNone) {
            node.order = node.low = m_searched++;
            node.onStack = true;
            node.part = m_stack;
            m_stack = at;
        }
        if (node.edge < EdgeCount(node)) {
            const uint32_t other = EdgeAt(node, node.edge++);
            if (other == kNone || m_nodes[other].isKnown) continue;
            if (m_nodes[other].order == kNone) {
                m_nodes[other].parent = at;
                at = other;
            } else if (m_nodes[other].onStack) {
                node.low = std::min(node.low, m_nodes[other].order);
            }
            continue;
        }
        if (node.low == node.order) ClosePart(at);
        if (node.parent != kNone)
            m_nodes[node.parent].low = std::min(m_nodes[node.parent].low, node.low);
        at = node.parent;
    }
}

// Takes a strongly connected part from the stack.
void WaitGraph::ClosePart(uint32_t first) noexcept {
    for (uint32_t at = m_stack;; at = m_stack) {
        m_stack = m_nodes[at].part;
        m_nodes[at].onStack = false;
        m_nodes[at].part = first;
        if (at == first) return;
    }
}

}  // namespace weft::internal
